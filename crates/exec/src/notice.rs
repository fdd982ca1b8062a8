//! Notices for the person who runs a host: written to stderr, each once in the life of the process.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A notice.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    /// Commands run without anything that confines files, because of this.
    FilesAreOpen(&'a str),
    /// What commands may write holds this home directory.
    WritesHome(&'a Path),
}

static WRITTEN: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

impl Notice<'_> {
    /// Writes it, unless one of its kind has been written.
    pub fn say_once(self) {
        let is_written = match self {
            Self::FilesAreOpen(_) => &WRITTEN[0],
            Self::WritesHome(_) => &WRITTEN[1],
        };
        // Looked at first: it is asked for before every command, and written once.
        if is_written.load(Ordering::Relaxed) || is_written.swap(true, Ordering::Relaxed) {
            return;
        }
        let text = match self {
            Self::FilesAreOpen(reason) => format!(
                "commands run, and nothing confines their files: {reason}. sandbox.required refuses them; \
                 `npx toolwright doctor` tells what would help."
            ),
            Self::WritesHome(home) => format!(
                "commands may write the home directory {}, and so what its \
                 programs run and obey. A root directory for the project is safer.",
                home.display()
            ),
        };
        // One line, so that it arrives whole. A host that has closed stderr does not want it.
        let _ = io::stderr().write_all(format!("[toolwright] {text}\n").as_bytes());
    }
}
