//! What an agent may do: capabilities, permission rules, and what a command line would run.
//!
//! - [`RequirementSet`] is what a manifest or a tool declares. [`Union`] and [`Effective`] are what
//!   it comes to: patterns with their variables expanded, asked about real paths, hosts and
//!   commands. What is not allowed by every set is refused.
//! - [`Rules`] decide between allow, ask and deny for a call that the capabilities let through.
//! - [`shell`] takes a command line apart, so that neither looks at raw text.
//! - [`tls_opening`] reads which name a connection asks for.
//!
//! Nothing here touches a file, but to follow links in the directories that the host configured.

mod capability;
mod error;
mod glob;
mod grants;
mod host;
mod host_list;
mod host_pattern;
mod path_pattern;
mod requirements;
mod rules;
pub mod shell;
pub mod tls_opening;
mod variables;
mod wildcards;

pub use capability::{Access, Declared, Effective, Union};
pub use error::CompileError;
pub use grants::Grants;
pub use host::{Host, is_public};
pub use host_list::HostList;
pub use requirements::{
    ArgPattern, FsRequirements, NetRequirements, RequirementSet, ShellRequirement,
};
pub use rules::{Action, Decided, Resource, Rule, Rules, Ruling, Source, Subject};
pub use variables::Variables;
