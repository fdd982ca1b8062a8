//! The report of the sandbox, for the person who runs the host.

use serde_json::{Map, Value, json};
use toolwright_sandbox::report::{Advice, Choice, Gap, Level, Mechanism, Report, Row};

use super::commands::RUN_PROGRAMS;

/// The rows by the names that `sandboxReport` has for them: `{ level, mechanism, advice }`.
#[must_use]
pub fn rows(report: &Report) -> Map<String, Value> {
    let row = |Row { level, mechanism, advice }: &Row| {
        json!({
            "level": self::level(*level),
            "mechanism": self::mechanism(mechanism),
            "advice": self::advice(*advice),
        })
    };
    let rows = [
        ("files", &report.files),
        ("fileMetadata", &report.file_metadata),
        ("git", &report.git),
        ("network", &report.network),
        ("loopback", &report.loopback),
        ("unixSockets", &report.unix_sockets),
        ("ipc", &report.ipc),
        ("processKill", &report.process_kill),
        ("limits", &report.limits),
        ("env", &report.environment),
    ];
    rows.into_iter().map(|(name, held)| (name.to_owned(), row(held))).collect()
}

/// The level of a row, as programs read it.
#[must_use]
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Kernel => "kernel",
        Level::BestEffort => "best-effort",
        Level::None => "none",
    }
}

/// The mechanism of a row, or why there is none.
#[must_use]
pub fn mechanism(mechanism: &Mechanism) -> String {
    match mechanism {
        Mechanism::Means(means) => means.clone(),
        Mechanism::Gaps(means, gaps) => gaps.iter().fold(means.clone(), |text, gap| match gap {
            Gap::ProtectedPaths => text + "; sandbox.denyWrite does not hold for commands",
            gap => format!("{text}; {gap}"),
        }),
        Mechanism::Opened(choice) => opened(*choice).to_owned(),
    }
}

fn opened(choice: Choice) -> &'static str {
    match choice {
        Choice::Files => "sandbox.files is \"full\"",
        Choice::Network => "allowNetwork is set",
        Choice::NetworkAndFiles => "allowNetwork is set and sandbox.files is \"full\"",
        Choice::Loopback => "sandbox.loopback is \"host\"",
        Choice::Limits => "sandbox.limits sets none",
        Choice::Environment => "env is \"inherit\"",
        Choice::Git => "sandbox.denyWrite is set without \"@git\"",
    }
}

/// How to improve a row; empty when nothing would.
#[must_use]
pub fn advice(advice: Option<Advice>) -> &'static str {
    match advice {
        None => "",
        Some(Advice::Namespaces) => {
            "Allow user namespaces: kernel.unprivileged_userns_clone and user.max_user_namespaces, AppArmor's restriction of them, or the container's seccomp profile."
        }
        Some(Advice::Mounts) => {
            "Use Linux 5.8 or later, and a container profile that knows open_tree, move_mount, mount_setattr and openat2."
        }
        Some(Advice::Processes) => {
            "Have the container hide nothing of /proc: --security-opt systempaths=unconfined of Docker and Podman, procMount: Unmasked of Kubernetes. Outside of one, allow process namespaces: user.max_pid_namespaces."
        }
        Some(Advice::Overlays) => {
            "Use Linux 6.6 or later, and a container profile that allows fsopen, fsconfig and fsmount."
        }
        Some(Advice::Landlock) => {
            "Use Linux 5.13 or later with Landlock among its security modules (lsm=), and a container profile that allows its system calls."
        }
        Some(Advice::Broker) => {
            "Allow seccomp's notifications, pidfd_open and pidfd_getfd, and set kernel.yama.ptrace_scope to 0 or 1; or leave sandbox.loopback out."
        }
        Some(Advice::Seccomp) => "Allow the seccomp system call in the container's profile.",
        Some(Advice::ControlGroups) => {
            "Run where control groups are delegated, or as a user other than root where user namespaces are allowed."
        }
        Some(Advice::Program) => RUN_PROGRAMS,
        Some(Advice::Choice(choice)) => match choice {
            Choice::Files => "Leave sandbox.files out.",
            Choice::Network => "Leave allowNetwork out.",
            Choice::NetworkAndFiles => "Leave one of them out.",
            Choice::Loopback => "Leave sandbox.loopback out.",
            Choice::Limits => "Set sandbox.limits.",
            Choice::Environment => "Leave env out, and name what is needed.",
            Choice::Git => "Add \"@git\" to sandbox.denyWrite.",
        },
    }
}
