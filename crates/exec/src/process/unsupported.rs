//! Where no worker keeps processes.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use toolwright_sandbox::background::{InputState, TerminalSize, WatchedFacts};
use toolwright_sandbox::step::FailedStep;

use super::{InputError, InputProgress, Piece, ProcessEnd, ProcessRequest};
use crate::error::ExecError;
use crate::missing::Missing;
use crate::sink::Stream;

/// A background process, which this system does not support.
#[derive(Debug)]
pub struct Process(Infallible);

/// Something that is watched: there is nothing on this system.
#[derive(Debug)]
pub struct Watching(Infallible);

/// A port of a process at an address of the host, which this system does not support.
#[derive(Debug)]
pub struct Preview(Infallible);

/// Methods of values that exist on Linux alone.
macro_rules! uninhabited {
    ($($(#[$attribute:meta])? fn $name:ident(&self $(, $of:ty)*) $(-> $result:ty)?;)+) => {$(
        /// See the Linux version.
        $(#[$attribute])?
        pub fn $name(&self $(, _: $of)*) $(-> $result)? {
            match self.0 {}
        }
    )+};
}

impl Preview {
    uninhabited! {
        #[must_use] fn address(&self) -> SocketAddr;
    }
}

impl Process {
    /// Always fails here.
    pub fn start(
        request: ProcessRequest<'_>,
        _changed: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, ExecError> {
        let reason = "processes are kept on Linux only".to_owned();
        Err(ExecError::unconfined(&request.exec, Missing::step(FailedStep::Other, reason)))
    }

    uninhabited! {
        fn write(&self, &[u8]) -> Result<u64, InputError>;
        #[must_use] fn input(&self) -> InputProgress;
        fn close_input(&self);
        #[must_use] fn read(&self, Stream, u64, usize) -> Piece;
        fn close_files(&self);
        fn signal(&self, i32);
        fn kill(&self);
        fn resize(&self, TerminalSize) -> io::Result<()>;
        #[must_use] fn watch(&self, WatchedFacts) -> Watching;
        #[must_use] fn ports(&self) -> Option<Vec<u16>>;
        #[must_use] fn input_state(&self) -> Option<InputState>;
        fn preview(&self, u16) -> io::Result<Preview>;
        #[must_use] fn end(&self) -> Option<ProcessEnd>;
    }
}
