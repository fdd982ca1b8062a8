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
        let _ = cancel;
        elsewhere(plan, inherits)
    }
}

/// What is asked of `sandbox-exec`. It is not tried out, so it is not called more than best effort.
#[cfg(not(target_os = "linux"))]
fn elsewhere(plan: &Plan, inherits: bool) -> Report {
    use toolwright_sandbox::{
        plan::{Files, Network},
        seatbelt,
    };
    if !std::path::Path::new(seatbelt::PROGRAM).exists() {
        return nothing("sandbox-exec is not there");
    }
    let held = |mechanism: &str| Row {
        level: Level::BestEffort,
        mechanism: mechanism.to_owned(),
        advice: "",
    };
    let open = |option: &str| Row {
        level: Level::None,
        mechanism: format!("{option} opens it"),
        advice: "Leave that option out.",
    };
    let network = || match plan.network {
        Network::Open => open("allowNetwork"),
        _ => held("a profile of sandbox-exec"),
    };
    let files = || match plan.files {
        Files::Full => open("sandbox.files"),
        Files::Confined => held("a profile of sandbox-exec"),
    };
    Report {
        files: files(),
        file_metadata: files(),
        network: network(),
        loopback: if plan.network == Network::HostLoopback {
            open("sandbox.loopback")
        } else {
            network()
        },
        unix_sockets: network(),
        ipc: match plan.files {
            Files::Full => open("sandbox.files"),
            Files::Confined => held("a profile of sandbox-exec; semaphores are open"),
        },
        process_kill: held("process group; what leaves it is not found"),
        limits: Row {
            level: Level::None,
            mechanism: "nothing limits what a command uses".to_owned(),
            advice: "",
        },
        environment: if inherits {
            open("env")
        } else {
            held("filter; a command may read the environment of processes of its user")
        },
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
        ipc: row(),
        process_kill: row(),
        limits: row(),
        environment: row(),
    }
}
