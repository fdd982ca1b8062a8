//! The sandbox program as a file that can be executed and not be changed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};
use toolwright_sandbox::layers::is_shortage;

static PROGRAM: &[u8] = include_bytes!(env!("TOOLWRIGHT_SANDBOX_PROGRAM"));

/// Kept open as long as the host lives.
static FILE: OnceLock<Program> = OnceLock::new();

enum Program {
    /// In memory, sealed; or on disk, where it has no name any more.
    Open(File),
    /// On disk, in a directory that only this user can enter.
    Named(PathBuf),
}

/// A path that executes the program.
pub(crate) fn path() -> io::Result<PathBuf> {
    let program = if let Some(program) = FILE.get() {
        program
    } else {
        let made = match in_memory() {
            Ok(file) => Program::Open(file),
            // The disk would be out of the same, or would be used for the rest of the host's life.
            Err(error) if error.raw_os_error().is_some_and(is_shortage) => {
                return Err(error);
            }
            Err(_) => on_disk()?,
        };
        FILE.get_or_init(|| made)
    };
    Ok(match program {
        Program::Open(file) => format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        Program::Named(path) => path.clone(),
    })
}

/// Starts the program under a name, with a socket as its input and nothing else of this process.
pub(crate) fn start(name: &str, socket: OwnedFd) -> io::Result<Child> {
    Command::new(path()?)
        .arg0(name)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Refused where files in memory may not be executed.
fn in_memory() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Before Linux 6.3 there is no such flag, and every file in memory may be executed.
    let file = memfd_create("toolwright-sandbox", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("toolwright-sandbox", flags))?;
    let mut file = File::from(file);
    file.write_all(PROGRAM)?;
    fcntl_add_seals(
        &file,
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE,
    )?;
    if !can_be_executed() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(file)
}

/// Whether a file that is open has a path.
fn can_be_executed() -> bool {
    rustix::fs::stat("/proc/self/fd").is_ok()
}

fn on_disk() -> io::Result<Program> {
    let directory = std::env::temp_dir();
    if let Ok(file) = without_a_name(&directory)
        && can_be_executed()
    {
        return Ok(Program::Open(file));
    }
    with_a_name(&directory)
}

/// As soon as this process ends, however it does, nothing of it is left.
#[expect(clippy::disallowed_methods, reason = "the program is a file of this process alone")]
fn without_a_name(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mut written = File::from(open(directory, flags, Mode::RUSR | Mode::XUSR)?);
    written.write_all(PROGRAM)?;
    // A file that is open for writing cannot be executed.
    File::open(format!("/proc/self/fd/{}", written.as_raw_fd()))
}

/// For file systems that know no files without a name.
#[expect(clippy::disallowed_methods, reason = "the program is a file of this process alone")]
fn with_a_name(directory: &Path) -> io::Result<Program> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let directory = directory.join(format!(
        "toolwright-sandbox-{}-{:x}",
        std::process::id(),
        std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos()
    ));
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let path = directory.join("program");
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o500)
        .open(&path)
        .and_then(|mut file| file.write_all(PROGRAM));
    if written.is_ok() && !can_be_executed() {
        return Ok(Program::Named(path));
    }
    let opened = written.and_then(|()| File::open(&path));
    // The open file needs no name, and nothing would remove it later. This takes no descriptors.
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_dir(&directory);
    opened.map(Program::Open)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Of a host that is killed nothing is left there.
    #[test]
    fn what_is_on_disk_has_no_name() {
        let directory = tempfile::tempdir().expect("dir");
        let file = without_a_name(directory.path()).expect("this file system can");
        assert_eq!(std::fs::read_dir(directory.path()).expect("dir").count(), 0);
        assert_eq!(file.metadata().expect("attributes").nlink(), 0);
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert!(std::fs::read(&path).expect("read") == PROGRAM);
        // It runs: with nothing to read it ends at once.
        let status = std::process::Command::new(path).stdin(std::process::Stdio::null()).status();
        assert!(status.expect("it starts").code().is_some());
    }

    /// Or it loses its name before it is used.
    #[test]
    fn what_has_a_name_on_disk_loses_it() {
        let directory = tempfile::tempdir().expect("dir");
        let Program::Open(file) = with_a_name(directory.path()).expect("it can be made") else {
            panic!("it has a name where none is needed");
        };
        assert_eq!(std::fs::read_dir(directory.path()).expect("dir").count(), 0);
        let mut content = Vec::new();
        io::Read::read_to_end(&mut { file }, &mut content).expect("read");
        assert!(content == PROGRAM);
    }
}
