//! Files opened by their number in the file system, past every path.

use crate::arguments::Arguments;
use crate::descriptors::{self, read, write};
use crate::outcome::{Outcome, Refused, attacks, system_call};

attacks! { handle_of, handle_write, handle_read }

const SPACE: usize = 128;

/// `struct file_handle`.
#[repr(C)]
struct Handle {
    length: u32,
    kind: i32,
    bytes: [u8; SPACE],
}

/// The handle of a file, as text, for an attack that cannot reach the path.
fn handle_of(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let mut handle = Handle { length: SPACE as u32, kind: 0, bytes: [0; SPACE] };
    let mut mount = 0_i32;
    system_call!(SYS_name_to_handle_at, libc::AT_FDCWD, &path, &raw mut handle, &raw mut mount, 0,)?;
    let bytes = handle.bytes[..handle.length as usize].iter().map(|byte| format!("{byte:02x}"));
    Ok(format!("{} {}", handle.kind, bytes.collect::<String>()))
}

/// Opens the file of a number, in the file system of the working directory.
fn open(arguments: &Arguments, flags: i32) -> Result<usize, Refused> {
    let kind = arguments.number(0)?;
    let text = arguments.text(1)?;
    let mut handle = Handle { length: (text.len() / 2) as u32, kind, bytes: [0; SPACE] };
    for (at, byte) in handle.bytes.iter_mut().enumerate().take(text.len() / 2) {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap_or_default();
    }
    let mount = descriptors::open(c".", libc::O_RDONLY)?;
    system_call!(SYS_open_by_handle_at, mount, &raw mut handle, flags)
}

fn handle_write(arguments: &Arguments) -> Outcome {
    write(open(arguments, libc::O_WRONLY | libc::O_APPEND)?, arguments.text(2)?)
}

fn handle_read(arguments: &Arguments) -> Outcome {
    read(open(arguments, libc::O_RDONLY)?)
}
