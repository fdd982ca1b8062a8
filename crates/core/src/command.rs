//! Commands: what they may do, what they see of the environment, and how they ended.
//!
//! - [`environment`]: the variables of a command.
//! - [`plan`]: what the host allows, as a plan for the sandbox.
//! - [`session`]: the same from the capabilities of a session.
//! - [`program`]: a program with arguments, for the tools.
//! - [`capture`]: the same, where every end is a result.
//! - [`end`]: what a command printed, and how it ended.
//! - [`shell`]: a command line, for a session.
//! - [`process`]: either of them as a background process.
//! - [`kept`]: such a process, and what can be waited for.
//! - [`running`]: what an environment has running, and ends with it.
//! - [`output_stream`]: the output of a program while it runs.
//! - [`patches`]: what the patches of a command report about themselves.
//! - [`masks`]: which secrets are masked in what a command prints.
//! - [`network_need`]: whether a command can do nothing without a network.
//! - [`live_output`]: what a command line has printed so far.

pub mod capture;
pub mod credentials;
pub mod end;
pub mod environment;
mod follow;
pub mod grant;
mod hosts;
pub mod kept;
pub(crate) mod launch;
pub mod live_output;
pub mod masks;
pub mod network_need;
pub mod output;
pub mod output_stream;
pub mod patches;
pub mod plan;
pub mod process;
pub mod program;
pub mod running;
pub mod session;
pub mod shell;
mod tls_names;
