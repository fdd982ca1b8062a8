//! The executable of this package; see the library.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if std::path::Path::new(&name).ends_with(toolwright_sandbox::plan::APPLY_PATCH) {
        let arguments: Vec<_> = arguments.collect();
        return toolwright_sandbox_program::apply_patch(&arguments);
    }
    match toolwright_sandbox_program::supervise() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        // The host sees its sockets closed, which is all that it needs to know.
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
