//! Notices for the person who runs a host: written to stderr, each once in the life of the process.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Commands run without anything that confines files, for this reason.
pub(crate) fn files_are_open(reason: &str) {
    static WRITTEN: AtomicBool = AtomicBool::new(false);
    say_once(&WRITTEN, || {
        format!(
            "commands run, and nothing confines their files: {reason}. sandbox.required refuses them; \
             `npx toolwright doctor` tells what would help."
        )
    });
}

/// What commands may write holds this home directory.
pub(crate) fn writes_home(home: &Path) {
    static WRITTEN: AtomicBool = AtomicBool::new(false);
    say_once(&WRITTEN, || {
        format!(
            "commands may write the home directory {}, and so what its \
             programs run and obey. A root directory for the project is safer.",
            home.display()
        )
    });
}

fn say_once(written: &AtomicBool, text: impl FnOnce() -> String) {
    // Looked at first: it is asked for before every command, and written once.
    if written.load(Ordering::Relaxed) || written.swap(true, Ordering::Relaxed) {
        return;
    }
    // One line, so that it arrives whole. A host that has closed stderr does not want it.
    let _ = io::stderr().write_all(format!("[toolwright] {}\n", text()).as_bytes());
}
