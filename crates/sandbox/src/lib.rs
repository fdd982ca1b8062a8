//! Confines commands with the kernel's means.

#[cfg(target_os = "linux")]
pub mod broker;
pub mod explain;
#[cfg(target_os = "linux")]
pub mod filter;
pub mod layers;
#[cfg(target_os = "linux")]
pub mod limits;
#[cfg(target_os = "linux")]
pub mod mounts;
#[cfg(target_os = "linux")]
pub mod namespaces;
pub mod plan;
pub mod policy;
pub mod remedy;
pub mod report;
#[cfg(target_os = "linux")]
pub mod rules;
pub mod seatbelt;
pub mod step;
#[cfg(target_os = "linux")]
pub mod wire;
