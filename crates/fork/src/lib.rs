//! Private overlays of directories.
//!
//! A fork shows a directory as it is, and keeps what is written to it apart. [`Fork`] keeps that in memory of its own:
//! a file system that nothing else reaches, and that goes with its last descriptor. The directory itself is never written.
//! A fork is a mount that is attached nowhere, so its maker decides who sees it, and where.
//!
//! [`kept_fork`] makes one whose changes lie in a directory and stay there.
//!
//! A process makes forks in a user and mount namespace of its own. The kernel has to know overlays there
//! (Linux 5.11), with a file system in memory that has extended attributes of users (Linux 6.6).

#[cfg(target_os = "linux")]
mod fork;
#[cfg(target_os = "linux")]
mod overlay;

#[cfg(target_os = "linux")]
pub use fork::{Fork, Hidden, kept_fork};
