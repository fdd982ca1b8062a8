//! Ends what a killed host has begun in a git directory: its transactions are finished or taken back, so that none of
//! its locks is in the person's way.
//!
//! Whoever ends them can be killed too. The next one goes on from there, another supervisor or another host.

use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getppid};
use toolwright_git::directory::Directory;
use toolwright_git::transaction::recover;

/// How long a host may take to go. Its socket closes some time before its locks and its process do.
const GOING: Duration = Duration::from_millis(50);
/// How long the locks of a host that is gone are waited for. Another supervisor may have them.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first pause, and the longest.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Ends the transactions of dead processes in these directories. Those of a living host are its own.
pub(crate) fn finish(directories: Vec<OwnedFd>, host: Option<Pid>) {
    let mut left: Vec<Directory> = directories.into_iter().map(Directory::from).collect();
    let (began, mut pause) = (Instant::now(), PAUSE);
    loop {
        // What cannot be read or written, the next host finds.
        left.retain(|git| recover(git).is_ok_and(|recovered| recovered.alive > 0));
        let patience = if getppid() == host { GOING } else { PATIENCE };
        if left.is_empty() || began.elapsed() > patience {
            return;
        }
        sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
