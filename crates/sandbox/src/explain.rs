//! What a refusal looks like from inside a command, and what it means.
//!
//! A command only sees an error number, and prints it in words of its own. Where those words are
//! known, and the layer that gives that number stands, the reason is added. It may be wrong, so it
//! says "may": a name that does not resolve may be one that nobody has.

use crate::plan::{Files, Network, Plan};

/// Words of libc, of Node, Python, Go and of common programs, for a network that is not there.
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

const PROCESSES: [&str; 3] =
    ["resource temporarily unavailable", "cannot fork", "unable to create new native thread"];

/// A sentence for a model that explains what a failed command printed, if it was refused something.
#[must_use]
pub fn explain(printed: &str, plan: &Plan) -> Option<String> {
    // What matters stands at the end, and a megabyte need not be searched.
    let start = printed.len().saturating_sub(16 << 10);
    let printed = String::from_utf8_lossy(&printed.as_bytes()[start..]).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| printed.contains(word));
    if plan.network != Network::Open && says(&NETWORK) {
        return Some(
            "This may be the sandbox: the network is blocked; work without it, or have the host set allowNetwork."
                .to_owned(),
        );
    }
    if plan.files == Files::Confined && says(&FILES) {
        let protected = plan
            .protected
            .iter()
            .filter_map(|path| path.strip_prefix(&plan.root).ok())
            // Where it is absent, what it would lie in is protected with it.
            .find(|path| {
                let first = path.components().next().map(std::path::Component::as_os_str);
                let first = first.unwrap_or_default().to_string_lossy().to_lowercase();
                !first.is_empty() && printed.contains(&format!("{first}/"))
            });
        return Some(match protected {
            Some(path) => format!(
                "This may be the sandbox: `{}` is protected; leave it as it is, or have the host change sandbox.denyWrite.",
                path.display()
            ),
            None => "This may be the sandbox: only the root directory and the temporary directory can be written; work there, or have the host add sandbox.writableRoots.".to_owned(),
        });
    }
    if plan.limits.processes.is_some() && says(&PROCESSES) {
        return Some(
            "This may be the sandbox: the number of processes is limited; start fewer, or have the host raise sandbox.limits.processes."
                .to_owned(),
        );
    }
    if says(&REFUSED) {
        let closed = plan
            .closed
            .iter()
            .find(|path| printed.contains(&path.to_string_lossy().to_lowercase()));
        return closed.map(|path| {
            format!(
                "This may be the sandbox: `{}` is closed; do without it, or have the host add it to sandbox.readable.",
                path.display()
            )
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Limits;

    fn plan(network: Network, files: Files) -> Plan {
        Plan {
            root: "/srv/root".into(),
            network,
            files,
            writable: vec!["/srv/root".into()],
            closed: vec!["/home/u/.ssh".into()],
            readable: Vec::new(),
            protected: vec!["/srv/root/.git/hooks".into()],
            limits: Limits { processes: Some(64), ..Limits::default() },
        }
    }

    #[test]
    fn known_words_are_explained_by_the_layer_that_stands() {
        let confined = plan(Network::PrivateLoopback, Files::Confined);
        let open = plan(Network::Open, Files::Full);
        for (printed, word) in [
            ("curl: (6) Could not resolve host: example.org", "allowNetwork"),
            ("Error: connect ENETUNREACH 192.0.2.1:80", "allowNetwork"),
            ("touch: cannot touch '/etc/x': Read-only file system", "sandbox.writableRoots"),
            ("error: cannot open .git/hooks/x: Read-only file system", "sandbox.denyWrite"),
            ("cannot copy 'a' to '/srv/root/.git/description': Read-only file system", "denyWrite"),
            ("sh: fork: Resource temporarily unavailable", "sandbox.limits.processes"),
            ("cat: /home/u/.ssh/id: Permission denied", "sandbox.readable"),
        ] {
            let explained = explain(printed, &confined).expect(printed);
            assert!(explained.contains(word), "{printed}: {explained}");
        }
        assert_eq!(explain("Could not resolve host", &open), None);
        assert_eq!(explain("Read-only file system", &open), None);
        for printed in ["", "3 tests failed", "make: permission denied", &"é".repeat(20_000)] {
            assert_eq!(explain(printed, &confined), None);
        }
    }
}
