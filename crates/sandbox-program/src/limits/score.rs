//! The processes that the kernel kills when memory runs out. It takes the one with the highest
//! score, which is its share of memory plus an adjustment.
//!
//! A process inherits the adjustment. The child that becomes a command cannot set its own: a worker
//! is not dumpable, so root owns the files in `/proc` of the worker and of every process that
//! shares its memory. So the worker takes the higher score until the command has started. It may
//! always return to the former score. A command could too, if it could write to `/proc`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The adjustment of a command, of 1000, which stands for all memory.
const MORE: i32 = 500;

const FILE: &str = "/proc/self/oom_score_adj";

#[derive(Debug)]
pub(super) struct Score {
    file: File,
    own: String,
    raised: String,
}

impl Score {
    /// The score of this process. `None` if it cannot be read or changed; then host and command
    /// remain equally likely victims.
    pub(super) fn read() -> Option<Self> {
        let own: i32 = fs::read_to_string(FILE).ok()?.trim().parse().ok()?;
        let file = File::options().write(true).open(FILE).ok()?;
        let raised = own.saturating_add(MORE).min(1000);
        Some(Self { file, own: own.to_string(), raised: raised.to_string() })
    }
}

/// While there is one, the process has the higher score.
///
/// To be dropped when no other process shares its memory: the kernel gives all of them one score.
#[derive(Debug)]
pub struct Expendable<'s>(Option<&'s Score>);

impl<'s> Expendable<'s> {
    // Errors are of no use: a command that is not more likely to be killed is still a command.
    pub(super) fn new(score: Option<&'s Score>) -> Self {
        if let Some(score) = score {
            let _ = score.file.write_at(score.raised.as_bytes(), 0);
        }
        Self(score)
    }
}

impl Drop for Expendable<'_> {
    fn drop(&mut self) {
        if let Some(score) = self.0 {
            let _ = score.file.write_at(score.own.as_bytes(), 0);
        }
    }
}
