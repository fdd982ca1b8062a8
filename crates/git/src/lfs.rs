//! Large files, which Git LFS keeps beside the objects under the SHA-256 of their content.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::bounds::{Bound, Bounds, Budget, Problem};
use crate::directory::Directory;
use crate::incoming::{Entries, Fault, LeftOut, Reason};
use crate::loose::subdirectory;
use crate::temporary::Temporary;

const OBJECTS: &str = "lfs/objects";
/// What Git LFS keeps beside the objects, and makes anew where it is not there.
const PASSING: [&str; 9] =
    ["bad", "cache", "incomplete", "lockcache.db", "locks", "logs", "objects", "repo", "tmp"];

/// The accepted large files of a command. They wait in `lfs/tmp`, which Git LFS itself cleans.
#[derive(Debug, Default)]
pub struct LargeFiles {
    files: BTreeMap<String, Temporary>,
    left_out: Vec<LeftOut>,
    reached: Option<Bound>,
}

impl LargeFiles {
    /// Reads the large files of a git directory that has only what a command added. Those that the
    /// repository's own git directory has are skipped.
    ///
    /// Of the bounds, those of entries, loose objects, packs as they are and time hold for these files. None
    /// of them refers to another, so those that were read before a bound was reached are accepted.
    pub fn read(added: &Directory, own: &Directory, bounds: &Bounds) -> io::Result<Self> {
        let files = Self::default();
        let mut reader =
            Reader { files, added, own, bounds, budget: Budget::new(bounds), staging: None };
        match reader.read() {
            Ok(()) => {}
            Err(Problem::Bound(bound)) => reader.files.reached = Some(bound),
            Err(Problem::Io(error)) => return Err(error),
        }
        Ok(reader.files)
    }

    /// Whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Files that were not accepted. They are named up to a number.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The bound because of which files were not read.
    #[must_use]
    pub fn reached(&self) -> Option<Bound> {
        self.reached
    }

    /// Moves them to their places in a git directory. What is there already stays.
    pub fn store(&self, own: &Directory) -> io::Result<()> {
        for (name, file) in &self.files {
            let mut directory = subdirectory(&subdirectory(own, "lfs")?, "objects")?;
            for part in [&name[..2], &name[2..4]] {
                directory = subdirectory(&directory, part)?;
            }
            file.publish(&directory, name)?;
        }
        Ok(())
    }
}

struct Reader<'a> {
    files: LargeFiles,
    added: &'a Directory,
    own: &'a Directory,
    bounds: &'a Bounds,
    budget: Budget,
    /// Made when it is needed.
    staging: Option<Arc<Directory>>,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Problem> {
        let mut entries = self.list("lfs");
        while let Some((name, kind)) = self.next(&mut entries, "lfs")? {
            let is_passing = PASSING.iter().any(|passing| name == *passing);
            if !is_passing && kind != FileType::CharacterDevice {
                self.leave_out(&Path::new("lfs").join(&name), Reason::Unknown);
            }
        }
        for first in self.directories(OBJECTS)? {
            let path = format!("{OBJECTS}/{first}");
            for second in self.directories(&path)? {
                let prefix = format!("{first}{second}");
                let directory = format!("{path}/{second}");
                let mut entries = self.list(&directory);
                while let Some((name, kind)) = self.next(&mut entries, &directory)? {
                    self.read_file(&prefix, &directory, &name, kind)?;
                }
            }
        }
        Ok(())
    }

    /// The directories that are named by two digits.
    fn directories(&mut self, path: &str) -> Result<Vec<String>, Problem> {
        let mut names = Vec::new();
        let mut entries = self.list(path);
        while let Some((name, kind)) = self.next(&mut entries, path)? {
            match name.to_str().filter(|name| is_hex(name, 2)) {
                Some(name) if kind == FileType::Directory => names.push(name.to_owned()),
                // Git LFS before 2.0 has its logs here.
                _ if kind == FileType::CharacterDevice || name == "logs" => {}
                _ => self.leave_out(Path::new(path).join(&name).as_path(), Reason::Unknown),
            }
        }
        Ok(names)
    }

    fn read_file(
        &mut self,
        prefix: &str,
        directory: &str,
        name: &OsStr,
        kind: FileType,
    ) -> Result<(), Problem> {
        let path = Path::new(directory).join(name);
        let name = name.to_str().filter(|name| is_hex(name, 64) && name.starts_with(prefix));
        let reason = match (name, kind) {
            (_, FileType::CharacterDevice) => return Ok(()),
            (None, _) => Reason::Unknown,
            (Some(name), FileType::RegularFile | FileType::Unknown) => {
                match statat(self.own, &path, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => return Ok(()),
                    Err(Errno::NOENT | Errno::NOTDIR) => {}
                    Err(errno) => return Err(io::Error::from(errno).into()),
                }
                self.budget.take(Bound::LooseObjects, 1)?;
                match self.stage(&path, name) {
                    Ok(file) => {
                        self.files.files.insert(name.to_owned(), file);
                        return Ok(());
                    }
                    Err(Fault::Refused(reason)) => reason,
                    Err(Fault::Stop(problem)) => return Err(problem),
                }
            }
            (Some(_), _) => Reason::WrongKind,
        };
        self.leave_out(&path, reason);
        Ok(())
    }

    /// Copies a file while its hash is computed.
    fn stage(&mut self, path: &Path, name: &str) -> Result<Temporary, Fault> {
        let stop = |error: io::Error| Fault::Stop(error.into());
        let opened = self.added.file(path).map_err(Reason::from)?;
        let (mut file, stat) = opened.ok_or(Reason::Unreadable(io::ErrorKind::NotFound.into()))?;
        if u64::try_from(stat.st_size).unwrap_or(0) > self.budget.left().pack_bytes {
            return Err(Problem::Bound(Bound::PackBytes).into());
        }
        let staging = match &mut self.staging {
            Some(staging) => staging,
            none => {
                let made = subdirectory(self.own, "lfs").and_then(|lfs| subdirectory(&lfs, "tmp"));
                none.insert(Arc::new(made.map_err(stop)?))
            }
        };
        let (staged, mut copy) = Temporary::create(staging, name, 0o666).map_err(stop)?;
        let mut hash = Sha256::new();
        let mut part = vec![0; 256 << 10];
        loop {
            let length = file.read(&mut part).map_err(Reason::Unreadable)?;
            if length == 0 {
                break;
            }
            self.budget.take(Bound::PackBytes, length as u64)?;
            hash.update(&part[..length]);
            copy.write_all(&part[..length]).map_err(stop)?;
        }
        if is_name(&hash.finalize(), name) { Ok(staged) } else { Err(Reason::Forged.into()) }
    }

    fn list(&mut self, path: &str) -> Option<Entries> {
        Entries::open(self.added, path)
            .map_err(|reason| self.leave_out(Path::new(path), reason))
            .ok()
    }

    fn next(
        &mut self,
        entries: &mut Option<Entries>,
        path: &str,
    ) -> Result<Option<(OsString, FileType)>, Problem> {
        let Some(listed) = entries else { return Ok(None) };
        match listed.next(&mut self.budget) {
            Ok(entry) => Ok(entry),
            Err(Fault::Stop(problem)) => Err(problem),
            Err(Fault::Refused(reason)) => {
                *entries = None;
                self.leave_out(Path::new(path), reason);
                Ok(None)
            }
        }
    }

    fn leave_out(&mut self, name: &Path, reason: Reason) {
        if self.files.left_out.len() < self.bounds.named {
            self.files.left_out.push(LeftOut { name: name.to_owned(), reason });
        }
    }
}

/// Whether a text is these bytes in digits.
fn is_name(hash: &[u8], name: &str) -> bool {
    let mut pairs = name.as_bytes().chunks_exact(2);
    hash.iter().all(|byte| {
        let pair = pairs.next().and_then(|pair| std::str::from_utf8(pair).ok());
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) == Some(*byte)
    }) && pairs.next().is_none()
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
