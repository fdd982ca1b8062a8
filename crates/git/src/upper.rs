//! The upper directory of an overlay: what a command has written, and what it has deleted.
//!
//! The overlay keeps what a command changed in a plain directory. A file there replaces the one below it, a
//! *whiteout* (a character device with the number 0) deletes it, and an *opaque* directory hides everything
//! that was in the directory of its name. Everything else that can lie there is [`Node::Odd`]: it is named
//! and never opened.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat, fgetxattr, statat};
use rustix::io::Errno;

use crate::directory::{Directory, ReadError};

/// The attribute of an opaque directory, in an overlay that was mounted with `userxattr`.
const OPAQUE: &str = "user.overlay.opaque";

/// How much of a directory is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most entries, of all directories together.
    pub entries: usize,
    /// The deepest level of directories.
    pub depth: usize,
    /// The most bytes of all files together.
    pub bytes: u64,
}

impl Default for Bounds {
    /// 100,000 entries, 40 levels, 64 MiB.
    fn default() -> Self {
        Self { entries: 100_000, depth: 40, bytes: 64 << 20 }
    }
}

/// What a path is in an upper directory.
#[derive(Debug, Clone, Copy)]
pub enum Node {
    /// The command did not touch it: what lies below the overlay shows.
    Absent,
    /// The command's view has nothing here, whatever lies below the overlay.
    Whiteout,
    /// A regular file.
    File(Stat),
    /// A directory.
    Directory {
        /// Nothing of the directory below the overlay shows.
        is_opaque: bool,
    },
    /// A link, a pipe, a socket, a device, or what cannot be opened.
    Odd,
}

/// What [`Upper::walk`] finds at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A deleted name.
    Whiteout,
    /// A directory, which hides a file of its name.
    Directory {
        /// Nothing of the directory below the overlay shows.
        is_opaque: bool,
    },
    /// A link, a pipe, a socket, a device, or a directory that cannot be opened or is too deep.
    Odd,
}

/// Something that a command has touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Its path in the upper directory.
    pub path: PathBuf,
    /// What is there.
    pub kind: Kind,
}

/// An upper directory.
#[derive(Debug)]
pub struct Upper {
    directory: Directory,
    /// Nothing of the directory below the overlay shows.
    is_opaque: bool,
}

impl From<Directory> for Upper {
    fn from(directory: Directory) -> Self {
        Self { directory, is_opaque: false }
    }
}

impl Upper {
    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The part of it below a path. `None`: the command did not touch it, or has deleted it.
    pub fn below(&self, path: impl AsRef<Path>) -> Result<Option<Self>, ReadError> {
        let path = path.as_ref();
        let Node::Directory { is_opaque } = self.entry(path)? else { return Ok(None) };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(self.directory.below(path)?.map(|directory| Self { directory, is_opaque }))
    }

    /// What a path is. A path below a whiteout, a file or an opaque directory is a whiteout where it is not
    /// in the upper directory.
    pub fn entry(&self, path: impl AsRef<Path>) -> Result<Node, ReadError> {
        let path = path.as_ref();
        let mut is_hidden = self.is_opaque;
        let mut so_far = PathBuf::new();
        for component in path.components() {
            if !matches!(component, Component::Normal(_)) {
                return Ok(Node::Odd);
            }
            so_far.push(component);
            match self.node(&so_far)? {
                Node::Absent if is_hidden => return Ok(Node::Whiteout),
                Node::Directory { is_opaque } if so_far != path => is_hidden |= is_opaque,
                Node::File(_) | Node::Whiteout if so_far != path => return Ok(Node::Whiteout),
                Node::Directory { is_opaque } => {
                    return Ok(Node::Directory { is_opaque: is_opaque || is_hidden });
                }
                node => return Ok(node),
            }
        }
        Ok(Node::Directory { is_opaque: is_hidden })
    }

    /// Reads a regular file of at most `limit` bytes. `None`: there is none.
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        self.directory.read(path, limit)
    }

    /// Everything that was touched at and below a path, sorted. More entries than the bound are an error.
    pub fn walk(&self, path: impl AsRef<Path>, bounds: Bounds) -> Result<Vec<Touched>, ReadError> {
        let path = path.as_ref();
        let kind = match self.entry(path)? {
            Node::Absent => return Ok(Vec::new()),
            Node::Whiteout => Kind::Whiteout,
            Node::File(_) => Kind::File,
            Node::Directory { is_opaque } => Kind::Directory { is_opaque },
            Node::Odd => Kind::Odd,
        };
        let mut touched = vec![Touched { path: path.to_owned(), kind }];
        let mut next = 0;
        // Directories are appended while the list is gone through: each is read in its turn.
        while next < touched.len() {
            if matches!(touched[next].kind, Kind::Directory { .. }) {
                self.read_directory(next, path, bounds, &mut touched)?;
            }
            next += 1;
        }
        touched.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(touched)
    }

    fn read_directory(
        &self,
        index: usize,
        top: &Path,
        bounds: Bounds,
        touched: &mut Vec<Touched>,
    ) -> Result<(), ReadError> {
        let path = touched[index].path.clone();
        let depth = path.components().count() - top.components().count();
        let listing = if depth >= bounds.depth {
            Err(ReadError::WrongKind)
        } else {
            let opened = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
            self.directory.below(opened).transpose().unwrap_or(Err(ReadError::WrongKind))
        };
        let Ok(directory) = listing else {
            touched[index].kind = Kind::Odd;
            return Ok(());
        };
        let left = bounds.entries.saturating_sub(touched.len());
        for entry in directory.entries(".", left)?.unwrap_or_default() {
            let kind = match entry.kind {
                FileType::RegularFile => Kind::File,
                FileType::Directory => match directory.below(&entry.name) {
                    Ok(Some(below)) => Kind::Directory { is_opaque: is_opaque(&below) },
                    _ => Kind::Odd,
                },
                _ => match lookup(&directory, &entry.name)? {
                    Node::File(_) => Kind::File,
                    Node::Whiteout => Kind::Whiteout,
                    _ => Kind::Odd,
                },
            };
            touched.push(Touched { path: path.join(&entry.name), kind });
        }
        Ok(())
    }

    /// What lies at a path, whatever its parents say of what is not there.
    fn node(&self, path: &Path) -> Result<Node, ReadError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Node::Odd);
        };
        let opened;
        let parent = if parent.as_os_str().is_empty() {
            &self.directory
        } else {
            match self.directory.below(parent) {
                Ok(Some(directory)) => {
                    opened = directory;
                    &opened
                }
                Ok(None) => return Ok(Node::Absent),
                Err(ReadError::WrongKind) => return Ok(Node::Odd),
                Err(error) => return Err(error),
            }
        };
        lookup(parent, name)
    }
}

/// What has a name in a directory.
fn lookup(directory: &Directory, name: &OsStr) -> Result<Node, ReadError> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(Node::Absent),
        Err(errno) => return Err(errno.into()),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Node::File(stat),
        FileType::CharacterDevice if stat.st_rdev == 0 => Node::Whiteout,
        FileType::Directory => match directory.below(Path::new(OsStr::from_bytes(name.as_bytes())))
        {
            Ok(Some(below)) => Node::Directory { is_opaque: is_opaque(&below) },
            _ => Node::Odd,
        },
        _ => Node::Odd,
    })
}

fn is_opaque(directory: &Directory) -> bool {
    let mut value = [0; 8];
    fgetxattr(directory, OPAQUE, &mut value[..])
        .is_ok_and(|length| value.get(..length) == Some(b"y"))
}
