//! Whom the kernel kills when memory runs out: the process with the highest score, which is its share
//! of memory and what is added to it.
//!
//! A process inherits what is added. A command cannot be given its own by the child that becomes it,
//! because the files in `/proc` of a worker that is not dumpable, and of whom shares its memory, are
//! root's. So the worker takes the higher score until its command has been started. It may always go
//! back to what it had, and so could the command, if it could write to `/proc`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// What is added for a command, of 1000, which is all memory there is.
const MORE: i32 = 500;

const FILE: &str = "/proc/self/oom_score_adj";

#[derive(Debug)]
pub(super) struct Score {
    file: File,
    own: String,
    raised: String,
}

impl Score {
    /// The score of this process; `None` where it cannot be had or changed, and host and command
    /// stay as likely to be killed as they are.
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
