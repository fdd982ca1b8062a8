//! Finishes, or takes back, what dead processes have begun.

use std::io;

use rustix::fs::{AtFlags, FileType};

use super::execute::execute;
use super::staging::{ALL, Claim, Staging};
use super::{Unfinished, failpoint, files};
use crate::directory::Directory;

/// The most directories of transactions that are looked at.
const DIRECTORIES: usize = 10_000;

/// What [`recover`] did.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Transactions that were finished.
    pub finished: u32,
    /// Transactions that were taken back.
    pub taken_back: u32,
    /// Transactions whose owners live.
    pub alive: u32,
    /// What could not be written of those that were finished.
    pub unfinished: Vec<Unfinished>,
}

/// Finishes the transactions of dead processes that were decided, and takes the others back.
///
/// A process is dead when its lock of its file `owner` is gone. The kernel releases that lock when it has
/// torn the process down, a moment after the process was killed: whoever waits for a killed process calls
/// this after the wait.
pub fn recover(git: &Directory) -> io::Result<Recovered> {
    let mut recovered = Recovered::default();
    let Some(all) = git.below(ALL).map_err(files::io_error)? else { return Ok(recovered) };
    for entry in all.entries(".", DIRECTORIES).map_err(files::io_error)?.unwrap_or_default() {
        if entry.kind != FileType::Directory {
            continue;
        }
        let Some(all) = git.below(ALL).map_err(files::io_error)? else { break };
        match Staging::claim(all, entry.name)? {
            Claim::Ours(staging) => {
                if let Some(steps) = staging.plan()? {
                    recovered.unfinished.extend(execute(git, &staging, &steps, true));
                    recovered.finished += 1;
                } else {
                    recovered.taken_back += 1;
                }
                staging.remove(git)?;
            }
            Claim::Owned => recovered.alive += 1,
            Claim::Gone => {}
        }
    }
    failpoint::pass();
    // If it is empty.
    let _ = rustix::fs::unlinkat(git, ALL, AtFlags::REMOVEDIR);
    Ok(recovered)
}
