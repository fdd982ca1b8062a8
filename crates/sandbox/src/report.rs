//! The enforcement around commands. Nothing here claims more than a probe has shown.

mod row;

use std::io;

pub use self::row::{Advice, Choice, Gap, Level, Mechanism, Row};
use crate::layers::{Bound, Layer, Layers};
use crate::plan::{Files, Network, Plan};

/// All rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Contents and names of files that the plan does not open.
    pub files: Row,
    /// Modes, owners, times and attributes of those files.
    pub file_metadata: Row,
    /// Git directories: commands write none of a person's, and leave none on the host.
    pub git: Row,
    /// Hosts other than this one.
    pub network: Row,
    /// Services on this one's loopback interface.
    pub loopback: Row,
    /// Services behind unix sockets.
    pub unix_sockets: Row,
    /// Shared memory, semaphores and message queues of others.
    pub ipc: Row,
    /// That nothing of a command is left when it has ended.
    pub process_kill: Row,
    /// Bounds on processes, memory, time and file size.
    pub limits: Row,
    /// Secrets in the environment of the host.
    pub environment: Row,
}

/// The version of Landlock that knows of cutting files.
const TRUNCATES: u32 = 3;

/// The meaning of the layers for the plan. `inherits`: commands get the whole environment.
#[must_use]
pub fn report(plan: &Plan, layers: &Layers, inherits: bool) -> Report {
    Report {
        files: files(plan, layers),
        file_metadata: file_metadata(plan, layers),
        git: git(plan, layers),
        network: network(plan, layers),
        loopback: loopback(plan, layers),
        unix_sockets: unix_sockets(plan, layers),
        ipc: ipc(plan, layers),
        process_kill: process_kill(layers),
        limits: limits(plan, layers),
        environment: environment(layers, inherits),
    }
}

/// The first promise that a caller who requires the layers would miss, because the kernel does not
/// keep it. What the plan leaves open is no part of the promise, and neither are limits.
#[must_use]
pub fn shortfall(plan: &Plan, layers: &Layers) -> Option<(&'static str, Row)> {
    let confined = plan.files == Files::Confined;
    let promised = [
        ("confining files", confined.then(|| files(plan, layers))),
        (
            "keeping modes, owners and times of other files",
            confined.then(|| file_metadata(plan, layers)),
        ),
        ("keeping shared memory apart", Some(ipc(plan, layers))),
        ("killing everything a command leaves", Some(process_kill(layers))),
    ];
    let promised = promised.into_iter().filter_map(|(purpose, row)| Some((purpose, row?)));
    promised.into_iter().find(|(_, row)| row.level != Level::Kernel)
}

fn row(level: Level, mechanism: impl Into<String>, advice: Advice) -> Row {
    Row { level, mechanism: Mechanism::Means(mechanism.into()), advice: Some(advice) }
}

fn kernel(mechanism: impl Into<String>) -> Row {
    let mechanism = Mechanism::Means(mechanism.into());
    Row { level: Level::Kernel, mechanism, advice: None }
}

fn opened(choice: Choice) -> Row {
    Row {
        level: Level::None,
        mechanism: Mechanism::Opened(choice),
        advice: Some(Advice::Choice(choice)),
    }
}

fn why(name: &str, layer: Layer) -> String {
    match layer {
        Layer::Refused(errno) => {
            format!("{name} is refused: {}", io::Error::from_raw_os_error(errno))
        }
        Layer::Unused | Layer::Holds => format!("{name} is not in use"),
    }
}

fn files(plan: &Plan, layers: &Layers) -> Row {
    if plan.files == Files::Full {
        return opened(Choice::Files);
    }
    let landlock = format!("Landlock (ABI {})", layers.landlock_abi);
    match (layers.mount.holds(), layers.landlock.holds()) {
        (true, true) => kernel(format!("read-only mounts, {landlock}")),
        // A read-only mount protects files alone, and not the objects that some of them lead to.
        (true, false) => {
            let reason = why("Landlock", layers.landlock);
            let mechanism = format!("read-only mounts; named pipes can be written: {reason}");
            row(Level::BestEffort, mechanism, Advice::Landlock)
        }
        (false, true) => {
            let mut gaps = Vec::new();
            if !plan.closed.is_empty() && !layers.closed.holds() {
                gaps.push(Gap::ClosedPaths);
                if toolwright_reserved::paths().iter().any(|path| plan.closed.contains(path)) {
                    gaps.push(Gap::OpenStores);
                }
            }
            let is_protected = !plan.protected.is_empty() || !plan.forks.is_empty();
            if is_protected && !layers.protected.holds() {
                gaps.push(Gap::ProtectedPaths);
            }
            if layers.landlock_abi < TRUNCATES {
                gaps.push(Gap::Truncation);
            }
            let level = if gaps.is_empty() { Level::Kernel } else { Level::BestEffort };
            let mechanism = Mechanism::Gaps(landlock, gaps);
            Row { level, mechanism, advice: Some(for_mounts(layers)) }
        }
        (false, false) => row(Level::None, why("Landlock", layers.landlock), Advice::Landlock),
    }
}

/// What would give commands their own mounts. Where the calls are missing, namespaces may well be allowed.
fn for_mounts(layers: &Layers) -> Advice {
    if layers.mount == Layer::Refused(libc::ENOSYS) { Advice::Mounts } else { Advice::Namespaces }
}

/// What would give commands their own processes. A container that hides parts of `/proc` lets nobody mount another one.
fn for_processes(layers: &Layers) -> Advice {
    if layers.mount.holds() { Advice::Processes } else { Advice::Namespaces }
}

fn file_metadata(plan: &Plan, layers: &Layers) -> Row {
    if plan.files == Files::Full {
        return opened(Choice::Files);
    }
    if layers.mount.holds() {
        kernel("read-only mounts")
    } else {
        row(Level::None, why("a mount namespace", layers.mount), for_mounts(layers))
    }
}

fn git(plan: &Plan, layers: &Layers) -> Row {
    if !plan.hides_git_directories {
        return opened(Choice::Git);
    }
    if !layers.mount.holds() {
        let reason = why("a mount namespace", layers.mount);
        return row(Level::None, format!("commands write them: {reason}"), for_mounts(layers));
    }
    if !layers.hidden_git.holds() {
        // A broker makes them, which lives where no command can reach it.
        let (reason, advice) = if layers.pid.holds() {
            (why("what makes new ones private", layers.hidden_git), Advice::Broker)
        } else {
            (why("a process namespace", layers.pid), for_processes(layers))
        };
        let mechanism = format!(
            "read-only mounts; those that commands make are judged when these have ended: {reason}"
        );
        return row(Level::BestEffort, mechanism, advice);
    }
    if let Layer::Refused(_) = layers.forks {
        let reason = why("an overlay in memory", layers.forks);
        let mechanism = format!("read-only mounts; commands cannot commit: {reason}");
        return row(Level::Kernel, mechanism, Advice::Overlays);
    }
    if plan.is_git_strict && !layers.strict_git.holds() {
        let reason = why("what opens files for commands", layers.strict_git);
        let mechanism = format!("no command runs, since sandbox.git cannot be held: {reason}");
        return row(Level::Kernel, mechanism, Advice::Broker);
    }
    if plan.is_git_strict {
        return kernel(
            "forks in memory, private directories for new ones, and a broker that opens files",
        );
    }
    kernel("forks in memory, and private directories for new ones")
}

fn network(plan: &Plan, layers: &Layers) -> Row {
    if plan.network == Network::Open {
        return opened(Choice::Network);
    }
    if !layers.seccomp.holds() {
        return row(Level::None, why("seccomp", layers.seccomp), Advice::Seccomp);
    }
    kernel(match (plan.network, layers.net.holds()) {
        (Network::HostLoopback, _) if layers.broker.holds() => {
            "seccomp, and a broker for connections to the host's loopback"
        }
        (Network::Names, true) => {
            "network namespace, seccomp, and a broker for connections to hosts that are named"
        }
        (Network::HostLoopback, _) => "seccomp: no connection is made, since there is no broker",
        (_, true) => "network namespace, seccomp",
        (_, false) => "seccomp: there are no internet sockets",
    })
}

fn loopback(plan: &Plan, layers: &Layers) -> Row {
    if plan.network == Network::Open {
        return opened(Choice::Network);
    }
    if !layers.seccomp.holds() {
        return row(Level::None, why("seccomp", layers.seccomp), Advice::Seccomp);
    }
    match plan.network {
        Network::HostLoopback if layers.broker.holds() => opened(Choice::Loopback),
        Network::HostLoopback => {
            let reason = why("the broker of connections", layers.broker);
            row(Level::Kernel, format!("commands make no connections: {reason}"), Advice::Broker)
        }
        Network::PrivateLoopback | Network::Names
            if layers.net.holds() && layers.loopback.holds() =>
        {
            kernel("network namespace with a loopback of its own")
        }
        Network::PrivateLoopback | Network::Names => {
            let reason = why("a network namespace", layers.net);
            row(
                Level::Kernel,
                format!("commands have no loopback at all: {reason}"),
                Advice::Namespaces,
            )
        }
        Network::Open | Network::Nothing => kernel("there are no internet sockets"),
    }
}

fn unix_sockets(plan: &Plan, layers: &Layers) -> Row {
    if plan.network == Network::Open && plan.files == Files::Full {
        return opened(Choice::NetworkAndFiles);
    }
    if layers.seccomp.holds() && layers.own_sockets.holds() {
        kernel("seccomp, and a broker: commands reach those of their own alone")
    } else if layers.seccomp.holds() {
        kernel("seccomp: none can be made, but for pairs")
    } else {
        row(Level::None, why("seccomp", layers.seccomp), Advice::Seccomp)
    }
}

/// System V objects and message queues have a namespace, POSIX shared memory is files in `/dev/shm`.
fn ipc(plan: &Plan, layers: &Layers) -> Row {
    let objects = match (layers.ipc.holds(), layers.seccomp.holds()) {
        (true, _) => "IPC namespace",
        (false, true) => "seccomp: there are no System V objects and message queues",
        (false, false) => {
            return row(Level::None, why("an IPC namespace", layers.ipc), Advice::Namespaces);
        }
    };
    if layers.mount.holds() {
        return kernel(format!("{objects}; a /dev/shm of its own"));
    }
    if plan.files == Files::Confined && layers.landlock.holds() {
        let mechanism = format!("{objects}; /dev/shm can be read, and terminals be written to");
        return row(Level::BestEffort, mechanism, Advice::Namespaces);
    }
    let mechanism = format!("{objects}; /dev/shm and the terminals of others are open");
    row(Level::BestEffort, mechanism, Advice::Namespaces)
}

fn process_kill(layers: &Layers) -> Row {
    if layers.pid.holds() {
        return kernel("process namespace");
    }
    if !layers.seccomp.holds() {
        let reason = why("a process namespace", layers.pid);
        return row(Level::BestEffort, format!("process group; {reason}"), for_processes(layers));
    }
    // A command must not reach the process that kills it.
    let level = if layers.scope.holds() { Level::Kernel } else { Level::BestEffort };
    let mechanism = "process group that seccomp lets nothing leave; other processes of the user can \
         be seen, and given other processors";
    row(level, mechanism, for_processes(layers))
}

fn limits(plan: &Plan, layers: &Layers) -> Row {
    let limits = &plan.limits;
    let (mut exact, mut roughly, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    match layers.processes {
        Bound::Unused => {}
        Bound::ControlGroup => exact.push("processes of each command by a control group"),
        Bound::Namespace => exact.push("processes of each command by its process namespace"),
        Bound::ResourceLimit if layers.user.holds() => exact.push("processes by a resource limit"),
        // All processes of the user count, and their number is unknown.
        Bound::ResourceLimit => {
            roughly.push("processes by a resource limit that counts every process of this user");
        }
        Bound::Nothing => missing.push("nothing limits processes"),
    }
    match layers.memory {
        Bound::Unused => {}
        Bound::ControlGroup => exact.push("memory by a control group"),
        Bound::ResourceLimit => exact.push("memory of each process by a resource limit"),
        Bound::Namespace | Bound::Nothing => missing.push("nothing limits memory"),
    }
    if limits.cpu_seconds.is_some() {
        exact.push("processor time by a resource limit");
    }
    if limits.file_size_bytes.is_some() {
        exact.push("file size by a resource limit");
    }
    let level = match (exact.is_empty(), roughly.is_empty(), missing.is_empty()) {
        (true, true, true) => {
            return opened(Choice::Limits);
        }
        (false, true, true) => return kernel(exact.join(", ")),
        (true, true, false) => Level::None,
        _ => Level::BestEffort,
    };
    row(level, [exact, roughly, missing].concat().join(", "), Advice::ControlGroups)
}

fn environment(layers: &Layers, inherits: bool) -> Row {
    if inherits {
        return opened(Choice::Environment);
    }
    if layers.pid.holds() {
        kernel("filter; the host's processes are invisible")
    } else if layers.landlock.holds() {
        kernel("filter; Landlock closes the environment of other processes, not their arguments")
    } else {
        let mechanism = "filter; a command may read /proc of its host";
        row(Level::BestEffort, mechanism, for_processes(layers))
    }
}

#[cfg(test)]
mod tests;
