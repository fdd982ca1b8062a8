//! The index: beside git itself, merged by a law, and made by an enemy.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    reason = "a failed unwrap is a failed test"
)]

mod file;
mod format;
mod hostile;
mod law;
mod repository;
mod speed;

/// How often random tests run: `TOOLWRIGHT_SOAK_FACTOR` multiplies the usual number.
fn times(usual: u32) -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    usual * factor.unwrap_or(1)
}
