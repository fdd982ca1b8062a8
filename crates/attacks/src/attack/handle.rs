//! Files opened by their number in the file system, past every path.

use crate::arguments::Arguments;
use crate::outcome::{Attack, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] =
    &[("handle-of", handle_of), ("handle-write", handle_write), ("handle-read", handle_read)];

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
    let here = libc::AT_FDCWD;
    system_call!(
        "name_to_handle_at",
        libc::SYS_name_to_handle_at,
        here,
        path.as_ptr(),
        &raw mut handle,
        &raw mut mount,
        0,
    )?;
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
    let dot = c".";
    let here = libc::AT_FDCWD;
    let mount = system_call!("open", libc::SYS_openat, here, dot.as_ptr(), libc::O_RDONLY, 0)?;
    system_call!("open_by_handle_at", libc::SYS_open_by_handle_at, mount, &raw mut handle, flags)
}

fn handle_write(arguments: &Arguments) -> Outcome {
    let token = arguments.text(2)?;
    let fd = open(arguments, libc::O_WRONLY | libc::O_APPEND)?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    Ok(String::new())
}

fn handle_read(arguments: &Arguments) -> Outcome {
    let fd = open(arguments, libc::O_RDONLY)?;
    let mut buffer = [0_u8; 4096];
    let got = system_call!("read", libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len())?;
    Ok(String::from_utf8_lossy(&buffer[..got]).into_owned())
}
