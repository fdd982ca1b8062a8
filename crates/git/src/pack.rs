//! Packs: many objects in one file, some as differences to others.

mod bytes;
mod delta;
mod entry;
mod index;
mod read;
mod receive;
mod references;
mod region;
mod resolve;
mod scan;
mod write_index;

pub(crate) use index::Index;
pub(crate) use read::Pack;
pub(crate) use receive::{Received, receive};

/// Why a pack or its index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    /// Its data is not what the format asks for.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// It could not be read.
    #[error(transparent)]
    Io(std::io::Error),
}

impl From<std::io::Error> for PackError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::InvalidData => Self::Damaged("compressed data"),
            std::io::ErrorKind::UnexpectedEof => Self::Damaged("cut off"),
            _ => Self::Io(error),
        }
    }
}

impl From<crate::inflate::InflateError> for PackError {
    fn from(error: crate::inflate::InflateError) -> Self {
        use crate::inflate::InflateError;
        match error {
            InflateError::Damaged => Self::Damaged("compressed data"),
            InflateError::Cut => Self::Damaged("cut off"),
            InflateError::Longer | InflateError::Shorter => Self::Damaged("size of an object"),
            InflateError::Io(error) => Self::Io(error),
        }
    }
}
