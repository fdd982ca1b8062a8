//! Explains refusals by the sandbox from the output of a command, and a tool called as a program.
//!
//! A command sees an error number alone, and prints it in its own words. An explanation is added when
//! these words are known and the layer that returns the number is in force. It says "may", because it
//! can be wrong: a name that does not resolve may not exist.

mod network;

use std::path::{Component, Path, PathBuf};

pub use network::{CommandEnd, explain_line, explain_program};

use crate::voice::Door;
use crate::voice::remedy::Remedy;
use toolwright_names::printable_path;
use toolwright_sandbox::layers::refuses_without_mounts;
use toolwright_sandbox::plan::{Files, Network, Plan};

/// How libc, Node, Python, Go and common programs report a missing network.
const NETWORK: [&str; 14] = [
    "network is unreachable",
    "enetunreach",
    "temporary failure in name resolution",
    "could not resolve host",
    "could not resolve hostname",
    "eai_again",
    "name or service not known",
    "no address associated with hostname",
    "address family not supported by protocol",
    "eafnosupport",
    "getaddrinfo",
    "failed to lookup address information",
    "network unreachable",
    "unable to resolve host",
];

const FILES: [&str; 4] = ["read-only file system", "erofs", "os error 30", "errno 30"];

const REFUSED: [&str; 4] = ["permission denied", "eacces", "operation not permitted", "eperm"];

/// How programs name a unix socket that they cannot reach.
const SOCKETS: [&str; 5] = ["unix://", "dial unix", ".sock", "unix socket", "unix domain socket"];

const PROCESSES: [&str; 3] =
    ["resource temporarily unavailable", "cannot fork", "unable to create new native thread"];

/// The error for replacing a mount point: every protected file is one.
const BUSY: [&str; 4] =
    ["device or resource busy", "resource busy or locked", "ebusy", "os error 16"];

/// How shells say that a tool is no program.
const NO_PROGRAM: [&str; 3] =
    ["apply_patch: command not found", "apply_patch: not found", "command not found: apply_patch"];

/// The next move after a patch that was sent to a shell. Not every reader has a tool of this name.
pub(crate) const APPLY_PATCH: &str = "There is no program `apply_patch`: call the tool of that name with the patch if you have it, and the edit tool once for each file if not.";

const ONLY_WRITABLE: &str =
    "only the root directory and the temporary directory can be written; work there, or";

/// Explains to a model why a command failed, if its output shows a refusal by the sandbox.
#[must_use]
pub fn explain(printed: &str, plan: &Plan, door: Door) -> Option<String> {
    // The error is at the end of the output; a search of a megabyte would be a waste.
    let start = printed.len().saturating_sub(16 << 10);
    let printed = String::from_utf8_lossy(&printed.as_bytes()[start..]).to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| printed.contains(word));
    if has_any(&NO_PROGRAM) {
        return Some(APPLY_PATCH.to_owned());
    }
    let hint = |what: &str, move_of_host: Remedy| Some(sentence(what, move_of_host, door));
    // Which hosts a command did not reach is known where some are named.
    if !matches!(plan.network, Network::Open | Network::Names) && has_any(&NETWORK) {
        return hint("the network is blocked; work without it, or", Remedy::NETWORK);
    }
    if has_any(&REFUSED) || has_any(&FILES) {
        // A command in the root prints the name alone.
        let names = toolwright_reserved::paths();
        let reserved = names.iter().filter(|path| plan.closed.contains(path)).find_map(|path| {
            let name = path.file_name()?.to_string_lossy();
            printed.contains(&name.to_lowercase()).then(|| name.into_owned())
        });
        if let Some(name) = reserved {
            return Some(format!(
                "This is the sandbox: `{name}` belongs to an open journal or thread store, and is closed to commands; do without it."
            ));
        }
    }
    let (read_only, busy) = (has_any(&FILES), has_any(&BUSY));
    if plan.files == Files::Confined && (read_only || busy) {
        match protected(&printed, plan) {
            Some(path) => {
                let what =
                    format!("`{}` is protected; leave it as it is, or", printable_path(path));
                return hint(&what, Remedy::PROTECTED);
            }
            None if read_only => {
                return hint(ONLY_WRITABLE, Remedy::WRITABLE);
            }
            // Many other resources can be busy.
            None => {}
        }
    }
    if plan.limits.processes.is_some() && has_any(&PROCESSES) {
        return hint("the number of processes is limited; start fewer,", Remedy::PROCESSES);
    }
    let has_sockets = plan.network == Network::Open && plan.files == Files::Full;
    if !has_sockets && has_any(&REFUSED) && has_any(&SOCKETS) {
        let what = "commands cannot use unix sockets (Docker, ssh-agent, D-Bus, databases)";
        return Some(format!("This may be the sandbox: {what}; do without them."));
    }
    if has_any(&REFUSED) {
        let is_printed = |path: &&PathBuf| printed.contains(&path.to_string_lossy().to_lowercase());
        if let Some(path) = plan.closed.iter().find(is_printed) {
            let what = format!("`{}` is closed; do without it, or", printable_path(path));
            return hint(&what, Remedy::READABLE);
        }
    }
    if plan.files == Files::Confined && refuses_without_mounts() && outside(&printed, plan) {
        return hint(ONLY_WRITABLE, Remedy::WRITABLE);
    }
    None
}

/// Joins what may have been refused with what the host can do about it.
fn sentence(what: &str, move_of_host: Remedy, door: Door) -> String {
    format!("This may be the sandbox: {what} {}.", move_of_host.words(door))
}

/// Whether a line about a refusal names a path that commands cannot write.
fn outside(printed: &str, plan: &Plan) -> bool {
    let is_refusal = |line: &&str| REFUSED.iter().any(|word| line.contains(word));
    let is_outside = |word: &str| {
        let path =
            word.trim_matches(|char: char| !char.is_alphanumeric() && !"/._-".contains(char));
        let writable = |path: &Path| {
            let is_below =
                |writable: &PathBuf| path.starts_with(writable.to_string_lossy().to_lowercase());
            plan.writable.iter().any(is_below) || path.starts_with(std::env::temp_dir())
        };
        let is_up = path == ".." || path.starts_with("../");
        is_up || (path.starts_with('/') && path.len() > 1 && !writable(Path::new(path)))
    };
    printed.lines().filter(is_refusal).any(|line| line.split_whitespace().any(is_outside))
}

/// The protected path that the output names, as a whole or by its first component: the directory of
/// an absent path is protected with it.
fn protected<'a>(printed: &str, plan: &'a Plan) -> Option<&'a Path> {
    let below = || plan.protected.iter().filter_map(|path| path.strip_prefix(&plan.root).ok());
    let is_printed = |path: &&Path| {
        let path = path.to_string_lossy().to_lowercase();
        !path.is_empty() && printed.contains(&path)
    };
    let is_near = |path: &&Path| {
        let first = path.components().next().map(Component::as_os_str);
        let first = first.unwrap_or_default().to_string_lossy().to_lowercase();
        !first.is_empty() && printed.contains(&format!("{first}/"))
    };
    below().find(is_printed).or_else(|| below().find(is_near))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use toolwright_sandbox::layers::{Layer, Layers};
    use toolwright_sandbox::plan::Limits;

    pub(crate) fn plan(network: Network, files: Files) -> Plan {
        Plan {
            root: "/srv/root".into(),
            network,
            names: None,
            files,
            writable: vec!["/srv/root".into()],
            closed: vec!["/home/u/.ssh".into()],
            protected: vec!["/srv/root/.git/hooks".into(), "/srv/root/.git/config".into()],
            limits: Limits { processes: Some(64), ..Limits::default() },
            ..Plan::default()
        }
    }

    #[test]
    fn known_words_are_explained_by_the_layer_in_force() {
        let confined = plan(Network::PrivateLoopback, Files::Confined);
        let open = plan(Network::Open, Files::Full);
        for (printed, word) in [
            ("curl: (6) Could not resolve host: example.org", "allowNetwork"),
            ("Error: connect ENETUNREACH 192.0.2.1:80", "allowNetwork"),
            ("touch: cannot touch '/etc/x': Read-only file system", "sandbox.writableRoots"),
            ("error: cannot open .git/hooks/x: Read-only file system", "sandbox.denyWrite"),
            (
                "error: could not write config file .git/config: Device or resource busy",
                "`.git/config` is protected",
            ),
            (
                "mv: EBUSY: resource busy or locked, rename 'c' -> '.git/config'",
                "sandbox.denyWrite",
            ),
            ("cannot copy 'a' to '/srv/root/.git/description': Read-only file system", "denyWrite"),
            ("sh: fork: Resource temporarily unavailable", "sandbox.limits.processes"),
            ("cat: /home/u/.ssh/id: Permission denied", "sandbox.readable"),
        ] {
            let explained = explain(printed, &confined, Door::Tools).expect(printed);
            assert!(explained.contains(word), "{printed}: {explained}");
        }
        assert_eq!(explain("Could not resolve host", &open, Door::Tools), None);
        assert_eq!(explain("Read-only file system", &open, Door::Tools), None);
        for printed in [
            "",
            "3 tests failed",
            "make: permission denied",
            "umount: /mnt: target is busy, EBUSY",
            &"é".repeat(20_000),
        ] {
            assert_eq!(explain(printed, &confined, Door::Tools), None);
        }
    }

    /// Models send patches to a shell, where the program of another agent would be.
    #[test]
    fn a_patch_sent_to_a_shell_is_for_a_tool() {
        let open = plan(Network::Open, Files::Full);
        for printed in [
            "bash: line 1: apply_patch: command not found\n",
            "sh: 1: apply_patch: not found\n",
            "zsh:1: command not found: apply_patch\n",
        ] {
            for door in [Door::Tools, Door::Session] {
                assert_eq!(explain(printed, &open, door).as_deref(), Some(APPLY_PATCH));
            }
        }
    }

    #[test]
    fn a_refused_socket_is_not_taken_for_a_closed_file() {
        let docker = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock";
        let confined = plan(Network::PrivateLoopback, Files::Confined);
        let explained = explain(docker, &confined, Door::Tools).expect("explained");
        assert!(explained.contains("unix sockets"), "{explained}");
        assert_eq!(explain(docker, &plan(Network::Open, Files::Full), Door::Tools), None);
    }

    #[test]
    fn landlock_alone_refuses_as_a_missing_permission_does() {
        let confined = plan(Network::PrivateLoopback, Files::Confined);
        let landlock =
            Layers { landlock: Layer::Holds, mount: Layer::Refused(1), ..Layers::default() };
        landlock.note();
        for printed in
            ["touch: cannot touch '/etc/x': Permission denied", "sh: ../x: Permission denied"]
        {
            let explained = explain(printed, &confined, Door::Tools).expect(printed);
            assert!(explained.contains("sandbox.writableRoots"), "{printed}: {explained}");
        }
        for printed in ["sh: ./script: Permission denied", "cat: /srv/root/x: Permission denied"] {
            assert_eq!(explain(printed, &confined, Door::Tools), None, "{printed}");
        }
        let mounts = Layers { mount: Layer::Holds, ..landlock };
        mounts.note();
        assert_eq!(explain("cat: /etc/x: Permission denied", &confined, Door::Tools), None);
    }

    /// A session has capabilities where tools have options, and no limits.
    #[test]
    fn a_hint_names_what_the_host_of_its_reader_has() {
        let confined = plan(Network::PrivateLoopback, Files::Confined);
        for (printed, words) in [
            ("Could not resolve host: example.org", "net.hosts"),
            ("touch: cannot touch '/etc/x': Read-only file system", "fs.write"),
            ("sh: fork: Resource temporarily unavailable", "start fewer"),
            ("cat: /home/u/.ssh/id: Permission denied", "fs.read"),
        ] {
            let explained = explain(printed, &confined, Door::Session).expect(printed);
            assert!(explained.contains(words), "{explained}");
            for option in ["allowNetwork", "writableRoots", "sandbox.readable", "sandbox.limits"] {
                assert!(!explained.contains(option), "{explained}");
            }
        }
    }
}
