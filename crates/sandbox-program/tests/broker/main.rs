//! The broker with real servers outside of the command.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod attacks;
mod calls;
mod connections;
mod costs;
mod file_calls;
mod git_directories;
mod lacking;
mod programs;
mod refusals;
mod removed;
mod sandbox;
mod settled;
mod strict_calls;
mod strict_law;
mod transactions;
mod waiting;
mod worker;
