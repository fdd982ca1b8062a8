//! System errors as text.

use std::io;

use rustix::io::Errno;

/// The name and the text of a system error, such as `ENOSPC: no space left on device`.
pub(crate) fn reason_of(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(errno) => match errno_name(errno) {
            Some(name) => format!("{name}: {}", words_of(errno)),
            None => words_of(errno),
        },
        None => error.to_string(),
    }
}

/// The system's text without the `(os error N)` that `io::Error` appends.
fn words_of(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// The symbolic name of a system error.
pub(crate) fn errno_name(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::ACCESS => "EACCES",
        Errno::PERM => "EPERM",
        Errno::ROFS => "EROFS",
        Errno::NOSPC => "ENOSPC",
        Errno::DQUOT => "EDQUOT",
        Errno::FBIG => "EFBIG",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        Errno::NOMEM => "ENOMEM",
        Errno::IO => "EIO",
        Errno::BUSY => "EBUSY",
        Errno::NOENT => "ENOENT",
        Errno::NOTDIR => "ENOTDIR",
        Errno::STALE => "ESTALE",
        Errno::AGAIN => "EAGAIN",
        Errno::TXTBSY => "ETXTBSY",
        Errno::NOTSUP => "ENOTSUP",
        _ => return None,
    })
}
