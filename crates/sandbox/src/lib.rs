//! Confines commands with the kernel's means.

pub mod layers;
pub mod plan;
pub mod policy;
pub mod report;
pub mod seatbelt;
pub mod step;
#[cfg(target_os = "linux")]
pub mod wire;
