//! Commands: what they may do, what they see of the environment, and how they ended.
//!
//! - [`environment`]: the variables of a command.
//! - [`plan`]: what the host allows, as a plan for the sandbox.
//! - [`session`]: the same from the capabilities of a session.
//! - [`program`]: a program with arguments, for the tools.
//! - [`shell`]: a command line, for a session.

pub mod environment;
pub(crate) mod launch;
pub mod plan;
pub mod program;
pub mod session;
pub mod shell;
