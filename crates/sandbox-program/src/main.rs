//! The executable of this package; see the library.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match toolwright_sandbox_program::supervise() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        // The host sees its sockets closed, which is all that it needs to know.
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
