//! The sandbox program: a supervisor for one plan, and its workers.
//!
//! It is started by the host with an empty environment and a socket as standard input, over which it
//! gets its order. When the socket is closed, because the host is done or dead, everything ends.

#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod scheduling;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod temporary;
#[cfg(target_os = "linux")]
mod waiting;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match supervisor::supervise() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE, // The host sees its sockets closed.
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
