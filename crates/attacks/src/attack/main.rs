//! The executable of the attacks; see the library.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    toolwright_attacks::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
