//! What an agent may do: capabilities, permission rules, and what a command line would run.
//!
//! - [`RequirementSet`] is what a manifest or a tool declares. [`Union`] and [`Effective`] are what
//!   it comes to: patterns with their variables expanded, asked about real paths, hosts and
//!   commands. What is not allowed by every set is refused.
//! - [`Rules`] decide between allow, ask and deny for a call that the capabilities let through.
//! - [`shell`] takes a command line apart, so that neither looks at raw text.
//!
//! Nothing here touches a file, but to follow links in the directories that the host configured.

mod capability;
mod error;
mod glob;
mod grants;
mod host;
mod host_pattern;
mod path_pattern;
mod requirements;
mod rules;
pub mod shell;
mod variables;
mod wildcards;

pub use capability::Access;
pub use capability::Declared;
pub use capability::Effective;
pub use capability::Union;
pub use error::CompileError;
pub use grants::Grants;
pub use host::Host;
pub use host::is_private_address;
pub use requirements::ArgPattern;
pub use requirements::FsRequirements;
pub use requirements::NetRequirements;
pub use requirements::Prefix;
pub use requirements::RequirementSet;
pub use requirements::ShellRequirement;
pub use requirements::Wildcard;
pub use rules::Action;
pub use rules::Decided;
pub use rules::Resource;
pub use rules::Rule;
pub use rules::Rules;
pub use rules::Source;
pub use rules::Subject;
pub use rules::Verdict;
pub use variables::Variables;
