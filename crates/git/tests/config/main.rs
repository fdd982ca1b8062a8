//! Configurations: beside git itself, and what a command's changes make of a person's one.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    clippy::print_stdout,
    reason = "a failed unwrap is a failed test"
)]

mod by_git;
mod law;
mod list;
mod masked;
mod new;
mod refused;
mod spellings;
mod syntax;

/// How often random tests run: `TOOLWRIGHT_SOAK_FACTOR` multiplies the usual number.
fn times(usual: u32) -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    usual * factor.unwrap_or(1)
}
