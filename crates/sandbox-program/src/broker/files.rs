//! Calls on names, made for commands: no git directory that a command makes comes to lie on the host.
//!
//! `mkdir`, `mknod`, `rename`, `link`, `symlink` and `rmdir` of a command wait for a thread of the worker, which makes
//! the call itself. It reads each path once and looks it up by descriptors, so rewriting memory, moving directories or
//! exchanging descriptors meanwhile decides nothing. It has the rules of Landlock that the command has, and takes on the
//! caller's user, groups, capabilities and mask.
//!
//! | Call | Answer |
//! | --- | --- |
//! | on names that git takes for no git directory | the kernel's |
//! | `mkdir` of a git directory | an empty directory for the host, a private one in its place for commands |
//! | `rmdir` of a private one | removes both, or `ENOTEMPTY` |
//! | `rename` of a directory to such a name, or of a private one | `EXDEV`: programs copy |
//! | `rename` of a file to such a name | the kernel's |
//! | `symlink`, `link`, `mknod`, `rename` of anything else to such a name | `EPERM` |
//!
//! Under a strict plan, and where paths have to stay [`absent`], opening for writing waits too ([`open`]), and so does
//! cutting off:
//!
//! | Call under a strict plan | Answer |
//! | --- | --- |
//! | that would make a file, link, pipe or socket of such a name, write to one, or give it another name | `EPERM` |
//! | that would make the last entry of a bare repository ([`strict`]) | `EPERM` |
//! | on what the host does not see | the kernel's |
//! | that opens for writing what another process has to open first | the kernel's, when that has |
//! | that opens for writing a file of another process in `/proc` | `EACCES` |
//!
//! Otherwise opening is not waited for. So a command can make a plain *file* of such a name, which is found when the command has
//! ended. Another thread of the command can open the empty directory of the host in the moment between its making and
//! its covering, and keep it open.
//!
//! In a fork of the root every `rename` waits, and a directory of the base is renamed by steps ([`moving`]), where the kernel
//! would say `EXDEV`.
//!
//! A caught signal that comes before the broker has taken a call interrupts it, where its handler does not restart
//! calls (`EINTR`, which the kernel itself does not return here). The call has not been made then.
//!
//! A command that confines a part of itself further by Landlock is answered by the rules of the whole command.

mod absent;
mod call;
mod caller;
mod git;
mod identity;
mod modes;
mod moving;
mod open;
mod own_sockets;
mod perform;
mod performer;
mod program;
mod resolve;
mod session;
mod strict;
mod supervisor_socket;
mod thread;
mod unix_list;
mod walk;

pub(crate) use git::NameRules;
pub(crate) use own_sockets::SocketGround;
pub use program::{FileRules, WaitingNames};
pub(crate) use session::{GitCalls, Session};
pub(crate) use supervisor_socket::{SupervisorSocket, WorkerSocket, pair};
pub(crate) use thread::{Confinement, FileThread, Probed};
