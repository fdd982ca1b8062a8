//! Finds the reason of a failed start. `posix_spawn` reports one number for the change of
//! directory, the program and its interpreter, so this module checks them afterwards, in the order
//! in which the child would have met them. The result is an explanation, never a permission.
//!
//! What a confined command does not see is explained without looking at it: this process has other rights,
//! and another reason for a file that exists would tell the command that it does.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use toolwright_git::directory::open_followed;

use crate::error::SpawnReason;

/// How much of a script the kernel reads for its `#!` line.
const FIRST_LINE: u64 = 256;

/// Why `program`, meant from `cwd`, could not be started.
pub(crate) fn classify(error: &io::Error, program: &Path, cwd: &Path) -> SpawnReason {
    let errno = Errno::from_io_error(error);
    if let Some(reason) = without_looking(errno, cwd) {
        return reason;
    }
    let file = cwd.join(program);
    match errno {
        errno if is_absent(errno) => match open_followed(&file) {
            Ok(Some((file, _))) => {
                SpawnReason::MissingInterpreter { interpreter: interpreter(file) }
            }
            // It may be executed without being read.
            _ if file.is_file() => SpawnReason::MissingInterpreter { interpreter: None },
            _ => SpawnReason::NotFound,
        },
        Some(Errno::ACCESS) => denied(&file),
        _ => SpawnReason::Other,
    }
}

/// The reasons that the number of the error tells, and the directory.
fn without_looking(errno: Option<Errno>, cwd: &Path) -> Option<SpawnReason> {
    // Met before there is a child.
    if matches!(errno, Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE)) {
        return Some(SpawnReason::Resources);
    }
    if is_bad_cwd(cwd) {
        return Some(SpawnReason::BadCwd);
    }
    Some(match errno {
        Some(Errno::TOOBIG) => SpawnReason::TooLong,
        Some(Errno::TXTBSY) => SpawnReason::Busy,
        Some(Errno::NOEXEC) => SpawnReason::UnknownFormat,
        Some(Errno::PERM) => SpawnReason::PermissionDenied,
        _ => return None,
    })
}

fn is_absent(errno: Option<Errno>) -> bool {
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG))
}

/// Why a file may not be executed.
fn denied(file: &Path) -> SpawnReason {
    match file.metadata() {
        Ok(metadata) if !metadata.is_file() => SpawnReason::NotExecutable,
        Ok(_) if access(file, Access::EXEC_OK).is_err() => SpawnReason::NotExecutable,
        _ => SpawnReason::PermissionDenied,
    }
}

/// Whether the child could not have gone to `cwd`.
pub(crate) fn is_bad_cwd(cwd: &Path) -> bool {
    !cwd.is_dir() || access(cwd, Access::EXEC_OK).is_err()
}

/// What follows `#!` in a script.
fn interpreter(script: File) -> Option<String> {
    let mut start = Vec::new();
    script.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // Not `trim`: a carriage return belongs to the name, and is often the whole trouble.
    let name = line.trim_start_matches([' ', '\t']).split([' ', '\t']).next()?;
    Some(name.to_owned())
}

pub(crate) use confined::classify_confined;

mod confined {
    use std::path::{Component, PathBuf};

    use rustix::fs::FileType;
    use toolwright_git::directory::{Directory, ReadError};
    use toolwright_sandbox::plan::Plan;

    use super::{
        Access, Errno, File, Path, SpawnReason, access, denied, fs, interpreter, io, is_absent,
        without_looking,
    };

    /// Paths that commands see a private version of.
    const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev", "/proc"];

    /// As [`classify`](super::classify), for a command behind a plan. `is_seen`: the command found the file, and not
    /// its interpreter.
    pub(crate) fn classify_confined(
        error: &io::Error,
        program: &Path,
        cwd: &Path,
        plan: &Plan,
        is_seen: bool,
    ) -> SpawnReason {
        let errno = Errno::from_io_error(error);
        if let Some(reason) = without_looking(errno, cwd) {
            return reason;
        }
        let file = cwd.join(program);
        match errno {
            errno if is_absent(errno) && is_seen => {
                let script = shared(plan, &file).and_then(|real| opened(&real));
                let interpreter = script.and_then(interpreter);
                let is_there =
                    |name: &String| shared(plan, Path::new(name)).is_some_and(|real| real.exists());
                match interpreter {
                    // This process sees no problem, because it does not see what the command sees.
                    Some(name) if is_there(&name) => SpawnReason::Hidden,
                    interpreter => SpawnReason::MissingInterpreter { interpreter },
                }
            }
            errno if is_absent(errno) => match way(plan, program, cwd) {
                Way::Absent => SpawnReason::NotFound,
                Way::Shut | Way::Unknown => SpawnReason::Hidden,
            },
            // The command has its own file at this path. The directory may be named by its descriptor.
            Some(Errno::ACCESS)
                if is_private(plan, &fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) =>
            {
                SpawnReason::PermissionDenied
            }
            Some(Errno::ACCESS) => match shared(plan, &file) {
                Some(real) if access(&real, Access::EXEC_OK).is_ok() && real.is_file() => {
                    SpawnReason::Hidden
                }
                Some(real) => denied(&real),
                None => match way(plan, program, cwd) {
                    Way::Shut => SpawnReason::PermissionDenied,
                    Way::Absent | Way::Unknown => SpawnReason::Hidden,
                },
            },
            _ => SpawnReason::Other,
        }
    }

    /// The real path of what the command sees as this process does.
    fn shared(plan: &Plan, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path).ok()?;
        (!is_private(plan, &real) && !plan.closes(&real)).then_some(real)
    }

    /// Whether a command has something else there than this process, by the path alone.
    fn is_private(plan: &Plan, path: &Path) -> bool {
        let is_in = |all: &[PathBuf]| all.iter().any(|one| path.starts_with(one));
        let is_private = PRIVATE.iter().any(|private| path.starts_with(private));
        is_private && !is_in(&plan.writable) && !is_in(&plan.readable)
    }

    /// What the way to a program shows.
    enum Way {
        /// It lies in the root, and there is nothing.
        Absent,
        /// It lies in the root, and this user may not go there.
        Shut,
        /// It leads out of the root, may do so by a link, or there is something.
        Unknown,
    }

    impl Way {
        fn of(error: &ReadError) -> Self {
            let ReadError::Io(error) = error else { return Self::Unknown };
            match Errno::from_io_error(error) {
                Some(Errno::ACCESS) => Self::Shut,
                Some(Errno::NAMETOOLONG) => Self::Absent,
                _ => Self::Unknown,
            }
        }
    }

    /// Goes to a program in the root, name by name. Nothing else is looked at.
    fn way(plan: &Plan, program: &Path, cwd: &Path) -> Way {
        let cwd = shared(plan, cwd).filter(|cwd| cwd.starts_with(&plan.root));
        let Some(mut here) = cwd.and_then(|cwd| Directory::open(&cwd).ok()) else {
            return Way::Unknown;
        };
        for part in program.components() {
            let name = match part {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                _ => return Way::Unknown,
            };
            let kind = match here.entry(name) {
                Ok(Some(stat)) => FileType::from_raw_mode(stat.st_mode),
                Ok(None) => return Way::Absent,
                Err(error) => return Way::of(&error),
            };
            if kind.is_symlink() {
                return Way::Unknown;
            }
            here = match here.below(name) {
                Ok(Some(next)) => next,
                Ok(None) => return Way::Absent,
                // Nothing lies below a file.
                Err(ReadError::WrongKind) if program.file_name() != Some(name) => {
                    return Way::Absent;
                }
                Err(error) => return Way::of(&error),
            };
        }
        Way::Unknown
    }

    /// A command may have exchanged it meanwhile.
    fn opened(real: &Path) -> Option<File> {
        let above = Directory::open(real.parent()?).ok()?;
        above.file(real.file_name()?).ok()?.map(|(file, _)| file)
    }
}
