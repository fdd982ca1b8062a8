//! Next moves after failures of forks.

#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "elsewhere there are none"))]

#[cfg(target_os = "linux")]
use toolwright_fork_store::LeftOutReason;

pub(crate) const ROOT: &str = "Check that the directory exists and can be read.";
pub(crate) const REPLACED: &str =
    "Put the directory of then back, or discard the fork: `toolwright forks list` names it.";
pub(crate) const NOT_FOUND: &str = "List the forks: `toolwright forks list`.";
pub(crate) const BUSY: &str =
    "Close it in the program that has it open, or wait until the command in it has ended.";
pub(crate) const DAMAGED: &str = "Discard it: its changes cannot be trusted.";
pub(crate) const NO_CHANGE: &str =
    "Look at `status()` for the paths that have changed; they are relative to the base.";

/// Why something of a fork is never applied, and what to do.
#[cfg(target_os = "linux")]
pub(crate) const fn never_applied(reason: LeftOutReason) -> (&'static str, &'static str) {
    match reason {
        LeftOutReason::Git => (
            "it belongs to a git directory",
            "Apply without `paths`, which brings the commits of the fork as a ref.",
        ),
        LeftOutReason::Special => (
            "it is or holds a pipe, a socket or a device",
            "Apply other paths, and let the program that needs it make it.",
        ),
        LeftOutReason::Unreadable => (
            "it cannot be read",
            "Run a command in the fork that makes it readable, then apply again.",
        ),
        LeftOutReason::Protected => {
            ("programs obey what lies there", "Name the path itself, if that is meant.")
        }
    }
}

pub(crate) const NOT_APPLIED: &str = "Undo what was applied within the last 30 days and not undone before; after that, git or a checkpoint has what the directory was.";
pub(crate) const FAILED: &str = "Remove the cause and try again; the base is as it was.";
pub(crate) const OTHER_DIRECTORY: &str = "Fork a directory of a project.";
pub(crate) const STORE_INSIDE: &str = "Give `store` a directory outside of the one that is forked.";
pub(crate) const MOUNT_INSIDE: &str = "Fork a directory without another file system in it.";
pub(crate) const NO_OVERLAY: &str = "A fork takes an overlay in a user namespace (Linux 5.11) and a store on ext4, xfs, btrfs or tmpfs; `toolwright doctor --forks` says what is missing. Work in the directory itself, or copy it.";
pub(crate) const NO_PLACE: &str = "Give `store`, or set HOME or XDG_STATE_HOME.";
pub(crate) const CLOSED: &str = "Open it again by its id, unless it was discarded.";
