//! Why a file of a command is left out.

use std::io;
use std::path::PathBuf;

use crate::bounds::{Budget, Problem};
use crate::directory::ReadError;
use crate::inflate::InflateError;
use crate::loose::LooseError;
use crate::object::Kind;
use crate::object::content::Malformed;
use crate::pack::PackError;

/// A file that was not accepted.
#[derive(Debug)]
pub struct LeftOut {
    /// Its path below `objects`. A command chose it: it may have control characters.
    pub name: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why a file was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// No objects are in a file of this name.
    #[error("no file of this name holds objects")]
    Unknown,
    /// A link, a pipe, a device or a directory is in its place.
    #[error("not a regular file")]
    WrongKind,
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is not what its format asks for.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// Its content has another name than the file.
    #[error("its name is not the hash of its content")]
    Forged,
    /// The content of an object is not what git writes.
    #[error("an object is malformed: {0}")]
    Malformed(Malformed),
    /// An object is larger than this number of bytes.
    #[error("an object is larger than {0} bytes")]
    TooLarge(u64),
    /// It refers to an object that is not there, or is of another kind.
    #[error("it refers to an object that is not there")]
    Missing,
}

/// What ends the reading of a file.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file is left out.
    Refused(Reason),
    /// Everything is.
    Stop(Problem),
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self::Refused(reason)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Stop(problem)
    }
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Refused(Reason::Malformed(malformed))
    }
}

impl From<ReadError> for Reason {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Unreadable(error),
            ReadError::TooLarge(limit) => Self::TooLarge(limit),
            ReadError::WrongKind => Self::WrongKind,
        }
    }
}

impl From<LooseError> for Reason {
    fn from(error: LooseError) -> Self {
        match error {
            LooseError::Damaged => Self::Damaged("compressed data"),
            LooseError::Header => Self::Damaged("header of an object"),
            LooseError::Size => Self::Damaged("size of an object"),
            LooseError::Io(error) => Self::Unreadable(error),
        }
    }
}

impl From<PackError> for Reason {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Damaged(what) => Self::Damaged(what),
            PackError::Io(error) => Self::Unreadable(error),
        }
    }
}

impl From<InflateError> for Reason {
    fn from(error: InflateError) -> Self {
        Self::from(PackError::from(error))
    }
}

/// Refuses an object that is larger than the limit of its kind.
pub(crate) fn check_size(kind: Kind, size: u64, budget: &Budget) -> Result<(), Fault> {
    let bounds = budget.left();
    let limit = if kind == Kind::Blob { bounds.blob_bytes } else { bounds.text_bytes };
    if size > limit { Err(Reason::TooLarge(limit).into()) } else { Ok(()) }
}
