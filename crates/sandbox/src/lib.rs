//! What commands may do, and how the host has it enforced.
//!
//! A caller's options become a [`plan::Plan`]: absolute paths without links, the credential stores that
//! exist, the reach of the network, limits. The plan is the only thing that enforcement sees. On Linux
//! the host sends it to a supervisor of the sandbox program (the package `toolwright-sandbox-program`,
//! which depends on this one); on macOS it becomes a profile for `sandbox-exec`. This crate is the part
//! that the host links. It starts no process and changes nothing.
//!
//! ```
//! use toolwright_sandbox::plan::{Files, Limits, Network};
//! use toolwright_sandbox::policy::{Options, ReadScope, Resolved, plan};
//!
//! let root = std::env::temp_dir().canonicalize()?;
//! let resolved =
//!     Resolved { root: root.clone(), named_root: root.clone(), ..Resolved::default() };
//! let plan = plan(&Options {
//!     root: &root,
//!     resolved: &resolved,
//!     network: Network::PrivateLoopback,
//!     names: None,
//!     files: Files::Confined,
//!     read_scope: ReadScope::All,
//!     writable_roots: &[],
//!     readable: &[],
//!     deny_write: &["notes".into()],
//!     is_git_strict: false,
//!     limits: Limits::DEFAULT,
//!     home: None,
//!     other_home: None,
//!     variables: &[],
//!     sessions: None,
//!     state: None,
//!     path: None,
//! });
//! assert!(plan.protected.contains(&root.join("notes")));
//! assert_eq!(plan.writable, [root]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a plan promises
//!
//! * **Writes** reach the root, other writable directories, a private temporary directory and harmless
//!   devices. Protected paths below them are read-only, whether or not they exist yet.
//! * **Reads** reach everything but closed paths: credential stores, what the caller closes, and with a
//!   narrow scope all that is neither the system's nor the root's.
//! * **The network** is the host's, a loopback interface of the plan's own, hosts by name beside that, the
//!   host's loopback by a broker, or nothing.
//! * **Processes** of a command end with it, and reach no process outside.
//! * **Limits** bound processes, memory, processor time and the size of files.
//!
//! # Layers
//!
//! Several layers of the kernel keep these promises, and most promises are kept twice.
//!
//! | layer | what it enforces |
//! | --- | --- |
//! | user and mount namespaces | writes, closed and protected paths, private temporary files, a small `/dev` |
//! | process namespace | no other processes are visible, and killing is exact |
//! | network namespace | the private loopback, and no abstract sockets of the host |
//! | IPC namespace | shared memory and message queues of the plan's own |
//! | Landlock | writes and closed paths once more, signals and abstract sockets |
//! | filter of system calls | families of sockets, calls that a command has no use for |
//! | control groups and resource limits | limits |
//!
//! A system may refuse any of them. [`layers`] says which hold, as found by trying, and [`report`] says
//! what that means for each promise. A caller that requires a promise gets an error instead of a
//! command without it.
//!
//! # What is not enforced
//!
//! * A command reads whatever its user may read and no path closes.
//! * Without a mount namespace, a protected path that does not exist cannot be protected, and Landlock
//!   cannot close a path below a readable one that comes into being later.
//! * A filter sees numbers, not memory: it cannot distinguish the addresses of an allowed family.
//! * Nothing bounds how much of the disk or of the network a command uses.
//! * A fault of the kernel is a way out.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod background;
pub mod layers;
pub mod plan;
pub mod policy;
pub mod refused_git;
pub mod report;
pub mod seatbelt;
pub mod step;
pub mod wire;
