//! The sandbox program as a file that can be executed and not be changed.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsRawFd,
    path::PathBuf,
    sync::OnceLock,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::Errno,
};

use super::worker::is_shortage;

static PROGRAM: &[u8] = include_bytes!(env!("TOOLWRIGHT_SANDBOX_PROGRAM"));

/// Kept open as long as the host lives.
static FILE: OnceLock<Program> = OnceLock::new();

enum Program {
    /// In memory, sealed.
    Memory(File),
    /// On disk, in a directory that only this user can enter.
    Disk(PathBuf),
}

/// A path that executes the program.
pub(crate) fn path() -> io::Result<PathBuf> {
    let program = if let Some(program) = FILE.get() {
        program
    } else {
        let made = match in_memory() {
            Ok(file) => Program::Memory(file),
            // The disk would be out of the same, or would be used for the rest of the host's life.
            Err(error) if Errno::from_io_error(&error).is_some_and(is_shortage) => {
                return Err(error);
            }
            Err(_) => Program::Disk(on_disk()?),
        };
        FILE.get_or_init(|| made)
    };
    Ok(match program {
        Program::Memory(file) => format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        Program::Disk(path) => path.clone(),
    })
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
    if rustix::fs::stat("/proc/self/fd").is_err() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(file)
}

fn on_disk() -> io::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let directory = std::env::temp_dir().join(format!(
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
    if let Err(error) = written {
        let _ = std::fs::remove_dir_all(&directory);
        return Err(error);
    }
    Ok(path)
}
