//! The kinds of file that a path can name.

/// The kind of a file that is not a regular one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// A symbolic link that could not be followed.
    Symlink,
    /// Any other kind.
    Other,
}

impl FileKind {
    /// The words for messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Directory => "a directory",
            Self::Fifo => "a named pipe (FIFO)",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Symlink => "a symbolic link",
            Self::Other => "a special file",
        }
    }

    pub(crate) fn of(stat: &rustix::fs::Stat) -> Option<Self> {
        use rustix::fs::FileType;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => None,
            FileType::Directory => Some(Self::Directory),
            FileType::Fifo => Some(Self::Fifo),
            FileType::Socket => Some(Self::Socket),
            FileType::CharacterDevice | FileType::BlockDevice => Some(Self::Device),
            FileType::Symlink => Some(Self::Symlink),
            FileType::Unknown => Some(Self::Other),
        }
    }
}
