//! How an attack ends.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io::{self, Write};

use crate::arguments::Arguments;

/// The gain, in a few words or as the data that was read.
pub(crate) type Outcome = Result<String, Refused>;

/// An attack and the name of its function.
pub(crate) type Attack = (&'static str, fn(&Arguments) -> Outcome);

/// The attacks of a module, each by its function. One that is called otherwise is `name = function`.
macro_rules! attacks {
    ($($name:ident $(= $attack:expr)?),* $(,)?) => {
        pub(crate) const ATTACKS: &[$crate::outcome::Attack] =
            &[$((stringify!($name), $crate::outcome::attacks!(@ $name $(= $attack)?))),*];
    };
    (@ $name:ident) => { $name };
    (@ $name:ident = $attack:expr) => { $attack };
}
pub(crate) use attacks;

/// The call that failed.
pub(crate) struct Refused {
    call: String,
    error: io::Error,
}

impl Refused {
    pub(crate) fn new(call: &str, error: io::Error) -> Self {
        Self { call: call.to_owned(), error }
    }

    /// Nothing failed, but nothing was gained either.
    pub(crate) fn without_effect(call: &str) -> Self {
        Self::new(call, io::Error::other("no effect"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.error)
    }
}

/// Names the call behind an error.
pub(crate) trait Named<T> {
    fn named(self, call: &str) -> Result<T, Refused>;
}

impl<T> Named<T> for io::Result<T> {
    fn named(self, call: &str) -> Result<T, Refused> {
        self.map_err(|error| Refused::new(call, error))
    }
}

/// For attacks whose gain is that the call succeeded.
pub(crate) trait Done {
    fn done(self) -> Outcome;
}

impl<T> Done for Result<T, Refused> {
    fn done(self) -> Outcome {
        self.map(|_| String::new())
    }
}

/// The result of a system call, or its error.
pub(crate) fn check(call: &str, result: libc::c_long) -> Result<usize, Refused> {
    usize::try_from(result).map_err(|_| Refused::new(call, io::Error::last_os_error()))
}

/// Makes a system call by its number, so that no library changes what reaches the kernel.
macro_rules! system_call {
    ($number:ident $(, $argument:expr)* $(,)?) => {
        $crate::outcome::system_call!(
            stringify!($number).trim_start_matches("SYS_"), libc::$number $(, $argument)*
        )
    };
    ($call:expr, $number:expr $(, $argument:expr)* $(,)?) => {{
        // SAFETY: every pointer is to a buffer of the caller that outlives the call and has the
        // length that is passed beside it; the kernel checks everything else.
        let result = unsafe { libc::syscall($number $(, $crate::outcome::Word::word($argument))*) };
        $crate::outcome::check($call, result)
    }};
}
pub(crate) use system_call;

/// What a system call takes: a number, or a pointer.
pub(crate) trait Word {
    fn word(self) -> libc::c_long;
}

macro_rules! words {
    ($($number:ty),*; $($buffer:ty),*) => {
        $(impl Word for $number {
            fn word(self) -> libc::c_long {
                self as libc::c_long
            }
        })*
        $(impl Word for &$buffer {
            fn word(self) -> libc::c_long {
                self.as_ptr() as libc::c_long
            }
        })*
    };
}
words!(i32, u32, i64, u64, usize; CStr, CString, str, [u8], Vec<u8>);

impl<T, const N: usize> Word for &[T; N] {
    fn word(self) -> libc::c_long {
        self.as_ptr() as libc::c_long
    }
}

impl<T> Word for *const T {
    fn word(self) -> libc::c_long {
        self as libc::c_long
    }
}

impl<T> Word for *mut T {
    fn word(self) -> libc::c_long {
        self as libc::c_long
    }
}

/// Writes a line to standard output at once, so that a killed process has written it.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}
