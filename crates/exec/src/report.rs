//! What holds around commands on this system.

use toolwright_sandbox::{
    plan::Plan,
    report::{Level, Report, Row},
};

use crate::cancel::CancelSource;

/// Finds out by trying. `inherits`: the whole environment is passed to commands.
#[must_use]
pub fn report(plan: &Plan, inherits: bool, cancel: &dyn CancelSource) -> Report {
    #[cfg(target_os = "linux")]
    {
        match crate::confined::standing(plan, cancel) {
            crate::confined::Standing::Layers(layers) => {
                toolwright_sandbox::report::report(plan, &layers, inherits)
            }
            crate::confined::Standing::Nothing(reason) => nothing(&reason),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (plan, inherits, cancel);
        nothing("this system has none of it")
    }
}

fn nothing(reason: &str) -> Report {
    let row = || Row {
        level: Level::None,
        mechanism: format!("the sandbox program does not run: {reason}"),
        advice: "Let the process run programs of its own: files in memory (memfd), or a temporary \
                 directory that is not mounted noexec.",
    };
    Report {
        files: row(),
        file_metadata: row(),
        network: row(),
        loopback: row(),
        unix_sockets: row(),
        process_kill: row(),
        limits: row(),
        environment: row(),
    }
}
