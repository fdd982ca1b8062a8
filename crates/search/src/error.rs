//! What can go wrong with a search as a whole. What goes wrong with one file met on the way is
//! named at the end of the text and stops nothing.

use std::io;
use std::path::PathBuf;

use toolwright_names::printable_path;

/// A search that could not be made, or did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum GrepError {
    /// The pattern is not a regular expression this search can run; `message` is ripgrep's.
    #[error("{message}")]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// ripgrep's explanation, several lines.
        message: String,
    },
    /// One of the patterns for names is invalid; `message` is ripgrep's.
    #[error("{message}")]
    Glob {
        /// The pattern as given.
        pattern: String,
        /// ripgrep's explanation.
        message: String,
    },
    /// There is nothing at the start path.
    #[error("{}: No such file or directory (os error 2)", printable_path(path))]
    Missing {
        /// The start path as displayed.
        path: PathBuf,
    },
    /// The start path exists and could not be opened or read.
    #[error("{}: {source}", printable_path(path))]
    Unreadable {
        /// The start path as displayed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The start path is a FIFO, a socket or a device.
    #[error("{}: not a regular file or a directory", printable_path(path))]
    NotSearchable {
        /// The start path as displayed.
        path: PathBuf,
    },
    /// The deadline passed before the search was complete.
    #[error(
        "The search ran out of time in `{}` after {matches} matching lines",
        printable_path(path)
    )]
    TimedOut {
        /// Where the search was.
        path: PathBuf,
        /// The lines found until then, whole lines only.
        partial: Vec<u8>,
        /// How many matching lines `partial` holds.
        matches: u64,
    },
    /// The cancel flag was set.
    #[error("The search was cancelled in `{}`", printable_path(path))]
    Cancelled {
        /// Where the search was.
        path: PathBuf,
    },
}
