//! What holds around commands on this system.

use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::report::{Advice, Level, Mechanism, Report, Row};

use crate::cancel::CancelSource;

/// Finds out by trying. `inherits`: the whole environment is passed to commands.
#[must_use]
pub fn report(plan: &Plan, inherits: bool, cancel: &dyn CancelSource) -> Report {
    #[cfg(target_os = "linux")]
    {
        match crate::confined::probe(plan, cancel) {
            crate::confined::Enforcement::Layers(layers) => {
                let mut report = toolwright_sandbox::report::report(plan, &layers, inherits);
                if let (Mechanism::Means(means), Some(obstacle)) =
                    (&mut report.git.mechanism, crate::confined::obstacle(plan))
                {
                    const GAP: &str =
                        "what commands leave when this process is killed is taken for the user's";
                    *means = format!("{means}; {GAP} ({obstacle})");
                }
                report
            }
            crate::confined::Enforcement::Unavailable(reason) => nothing(&reason),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cancel;
        elsewhere(plan, inherits)
    }
}

#[cfg(not(target_os = "linux"))]
fn elsewhere(plan: &Plan, inherits: bool) -> Report {
    if std::path::Path::new(toolwright_sandbox::seatbelt::PROGRAM).exists() {
        by_profile(plan, inherits)
    } else {
        nothing("sandbox-exec is not there")
    }
}

/// The enforcement by `sandbox-exec`. It is not tried out, so the report calls it best effort at
/// most.
#[cfg(any(not(target_os = "linux"), test))]
fn by_profile(plan: &Plan, inherits: bool) -> Report {
    use toolwright_sandbox::plan::{Files, Network};
    use toolwright_sandbox::report::Choice;
    let enforced = |mechanism: &str| Row {
        level: Level::BestEffort,
        mechanism: Mechanism::Means(mechanism.to_owned()),
        advice: None,
    };
    let open = |choice| Row {
        level: Level::None,
        mechanism: Mechanism::Opened(choice),
        advice: Some(Advice::Choice(choice)),
    };
    let network = || match plan.network {
        Network::Open => open(Choice::Network),
        _ => enforced("a profile of sandbox-exec"),
    };
    let files = || match plan.files {
        Files::Full => open(Choice::Files),
        Files::Confined => enforced("a profile of sandbox-exec"),
    };
    Report {
        files: files(),
        file_metadata: files(),
        git: if plan.is_git_strict {
            enforced("no command runs, since sandbox.git cannot be held")
        } else if plan.hides_git_directories {
            enforced("a profile of sandbox-exec; those that commands make are not held")
        } else {
            open(Choice::Git)
        },
        network: network(),
        loopback: if plan.network == Network::HostLoopback {
            open(Choice::Loopback)
        } else {
            network()
        },
        unix_sockets: network(),
        ipc: match plan.files {
            Files::Full => open(Choice::Files),
            Files::Confined => enforced("a profile of sandbox-exec; semaphores are open"),
        },
        process_kill: enforced(
            "process group and descendants; one whose parents ended unseen is missed",
        ),
        limits: Row {
            level: Level::None,
            mechanism: Mechanism::Means("nothing limits what a command uses".to_owned()),
            advice: None,
        },
        environment: if inherits {
            open(Choice::Environment)
        } else {
            enforced("filter; a command may read the environment of processes of its user")
        },
    }
}

fn nothing(reason: &str) -> Report {
    let row = || Row {
        level: Level::None,
        mechanism: Mechanism::Means(format!("the sandbox program does not run: {reason}")),
        advice: Some(Advice::Program),
    };
    Report {
        files: row(),
        file_metadata: row(),
        git: row(),
        network: row(),
        loopback: row(),
        unix_sockets: row(),
        ipc: row(),
        process_kill: row(),
        limits: row(),
        environment: row(),
    }
}

#[cfg(test)]
mod tests {
    use toolwright_sandbox::plan::{Files, Network};

    use super::*;

    fn plan(network: Network, files: Files) -> Plan {
        Plan { root: "/root".into(), network, files, ..Plan::default() }
    }

    #[test]
    fn nothing_of_a_profile_is_called_more_than_best_effort() {
        for network in [Network::Open, Network::HostLoopback, Network::Nothing] {
            for files in [Files::Confined, Files::Full] {
                let report = by_profile(&plan(network, files), false);
                let Report { files, file_metadata, git, network, loopback, unix_sockets, .. } =
                    &report;
                let Report { ipc, process_kill, limits, environment, .. } = &report;
                let rows = [files, file_metadata, git, network, loopback, unix_sockets, ipc];
                for row in rows.into_iter().chain([process_kill, limits, environment]) {
                    assert_ne!(row.level, Level::Kernel, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn processes_are_killed_as_a_group_and_by_descent_whatever_is_opened() {
        for files in [Files::Confined, Files::Full] {
            let row = by_profile(&plan(Network::Open, files), true).process_kill;
            assert_eq!(row.level, Level::BestEffort);
            assert!(row.mechanism.to_string().contains("process group and descendants"), "{row:?}");
            assert!(
                row.mechanism.to_string().contains("missed"),
                "what it misses is named: {row:?}"
            );
        }
    }
}
