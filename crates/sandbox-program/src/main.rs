//! The executable of this package; see the library.

#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if Path::new(&name).ends_with(toolwright_sandbox::plan::APPLY_PATCH) {
        let arguments: Vec<_> = arguments.collect();
        return toolwright_sandbox_program::apply_patch(&arguments);
    }
    let is_holder = Path::new(&name).ends_with(toolwright_sandbox::wire::FORK_HOLDER);
    let run = if is_holder {
        toolwright_sandbox_program::hold_fork
    } else {
        toolwright_sandbox_program::supervise
    };
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        // The host sees its sockets closed, which is all that it needs to know.
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
