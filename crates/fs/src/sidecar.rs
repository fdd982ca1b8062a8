//! A new file in a private directory, for an output that is too long to return.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use crate::range::whole_characters;

/// A file that is filled up to a limit. It belongs to the owner of the directory.
#[derive(Debug)]
pub struct Sidecar {
    file: File,
    path: PathBuf,
    bytes: u64,
    limit: u64,
    full: bool,
}

impl Sidecar {
    /// Creates the file `name` in `directory`, readable by this user only. The directory must not
    /// be a link and must be private to this user, and the name must be free.
    pub fn create(directory: &Path, name: &str, limit: u64) -> io::Result<Self> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return refused("the name of a sidecar file is one plain name");
        }
        if !directory.is_absolute() {
            return refused("the directory of a sidecar file is an absolute path");
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, directory, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&opened)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let others = Mode::RWXG | Mode::RWXO;
        if stat.st_uid != rustix::process::geteuid().as_raw() || mode.intersects(others) {
            return refused("the directory of a sidecar file is open to others");
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&opened, name, flags, mode)?);
        Ok(Self { file, path: directory.join(name), bytes: 0, limit, full: false })
    }

    /// Appends bytes. Returns false if the limit is reached: then a last line says so, and nothing
    /// more is accepted.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if self.full {
            return Ok(false);
        }
        let room = usize::try_from(self.limit - self.bytes).unwrap_or(usize::MAX);
        if bytes.len() <= room {
            self.put(bytes)?;
            return Ok(true);
        }
        self.full = true;
        self.put(&bytes[..whole_characters(&bytes[..room])])?;
        let limit = self.limit;
        self.put(format!("\n[stopped here: the limit of {limit} bytes is reached]\n").as_bytes())?;
        Ok(false)
    }

    /// Appends what fits of these bytes, in whole characters, and returns how many these are.
    pub fn write_within(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(self.limit.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fitting =
            if bytes.len() <= room { bytes } else { &bytes[..whole_characters(&bytes[..room])] };
        self.put(fitting)?;
        Ok(fitting.len())
    }

    /// Appends the end of an output of which `left_out` bytes are missing before it.
    pub fn write_end(&mut self, left_out: u64, end: &[u8]) -> io::Result<()> {
        if left_out > 0 {
            self.put(format!("\n[output cut: {left_out} bytes left out here]\n").as_bytes())?;
        }
        self.put(end)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the output was longer than the limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }
}
