//! Finds the reason of a failed start. `posix_spawn` reports one number for the change of
//! directory, the program and its interpreter, so this module checks them afterwards, in the order
//! in which the child would have met them. The result is an explanation, never a permission.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::error::SpawnReason;

/// How much of a script the kernel reads for its `#!` line.
const FIRST_LINE: u64 = 256;

/// Why `program`, meant from `cwd`, could not be started.
pub(crate) fn classify(error: &io::Error, program: &Path, cwd: &Path) -> SpawnReason {
    let errno = Errno::from_io_error(error);
    // Met before there is a child.
    if matches!(errno, Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE)) {
        return SpawnReason::Resources;
    }
    if is_bad_cwd(cwd) {
        return SpawnReason::BadCwd;
    }
    let file = cwd.join(program);
    match errno {
        Some(Errno::TOOBIG) => SpawnReason::TooLong,
        Some(Errno::TXTBSY) => SpawnReason::Busy,
        Some(Errno::NOEXEC) => SpawnReason::UnknownFormat,
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => {
            if file.is_file() {
                SpawnReason::MissingInterpreter { interpreter: interpreter(&file) }
            } else {
                SpawnReason::NotFound
            }
        }
        Some(Errno::ACCESS) => match file.metadata() {
            Ok(metadata) if !metadata.is_file() => SpawnReason::NotExecutable,
            Ok(_) if access(&file, Access::EXEC_OK).is_err() => SpawnReason::NotExecutable,
            _ => SpawnReason::PermissionDenied,
        },
        Some(Errno::PERM) => SpawnReason::PermissionDenied,
        _ => SpawnReason::Other,
    }
}

/// Whether the child could not have gone to `cwd`.
pub(crate) fn is_bad_cwd(cwd: &Path) -> bool {
    !cwd.is_dir() || access(cwd, Access::EXEC_OK).is_err()
}

fn interpreter(script: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // Not `trim`: a carriage return belongs to the name, and is often the whole trouble.
    let name = line.trim_start_matches([' ', '\t']).split([' ', '\t']).next()?;
    Some(name.to_owned())
}
