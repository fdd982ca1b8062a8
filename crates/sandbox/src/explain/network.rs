//! Commands that say nothing of the network they lack: they wait for it, or end with a number.

use super::sentence;
use crate::{
    plan::{Network, Plan},
    remedy::{Reader, Remedy},
};

/// Programs that wait for a server, often for longer than a call may take.
const WAITING: [&str; 26] = [
    "apk", "apt", "apt-get", "brew", "bun", "bunx", "cargo", "composer", "curl", "dnf", "docker",
    "gem", "git", "go", "gradle", "mvn", "npm", "npx", "pip", "pip3", "pnpm", "poetry", "uv",
    "uvx", "wget", "yarn",
];

/// What `curl` and `wget` exit with when they reach nobody: names that do not resolve, and no connection.
const UNREACHED: [(&str, &[i32]); 2] = [("curl", &[5, 6, 7, 28]), ("wget", &[4])];

/// For a command that was stopped at its timeout, by the words of its program and arguments.
#[must_use]
pub fn explain_timeout<'a>(
    words: impl IntoIterator<Item = &'a str>,
    plan: &Plan,
    reader: Reader,
) -> Option<String> {
    let program = words.into_iter().flat_map(programs).find(|name| WAITING.contains(name))?;
    (plan.network != Network::Open).then(|| {
        let what = format!(
            "the network is blocked, and `{program}` may have been waiting for it; work without it, or"
        );
        sentence(&what, Remedy::NETWORK, reader)
    })
}

/// For a command that ended with this code and did not say why, by the words of its program and arguments.
#[must_use]
pub fn explain_exit<'a>(
    words: impl IntoIterator<Item = &'a str>,
    code: i32,
    plan: &Plan,
    reader: Reader,
) -> Option<String> {
    let is_unreached =
        |name: &&str| UNREACHED.iter().any(|(known, codes)| known == name && codes.contains(&code));
    let program = words.into_iter().flat_map(programs).find(is_unreached)?;
    (plan.network != Network::Open).then(|| {
        let what =
            format!("`{program}` reached nobody, and the network is blocked; work without it, or");
        sentence(&what, Remedy::NETWORK, reader)
    })
}

/// The names in a text that may be programs: it may be a program, or a script that a shell runs.
fn programs(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|char: char| char.is_whitespace() || ";&|()`'\"".contains(char));
    words.map(|word| word.rsplit('/').next().unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Files, Limits};

    fn plan(network: Network) -> Plan {
        Plan {
            root: "/srv/root".into(),
            network,
            files: Files::Confined,
            writable: Vec::new(),
            closed: Vec::new(),
            readable: Vec::new(),
            protected: Vec::new(),
            granted: Vec::new(),
            limits: Limits::default(),
        }
    }

    #[test]
    fn a_program_that_waits_for_the_network_is_named() {
        let blocked = plan(Network::PrivateLoopback);
        for words in
            [&["npx", "tsc"][..], &["/usr/bin/pip3", "download"], &["sh", "-c", "cd x && npx y"]]
        {
            let said =
                explain_timeout(words.iter().copied(), &blocked, Reader::Tools).expect("said");
            assert!(said.contains("the network is blocked"), "{said}");
        }
        assert_eq!(explain_timeout(["sleep", "9"], &blocked, Reader::Tools), None);
        assert_eq!(explain_timeout(["npx", "tsc"], &plan(Network::Open), Reader::Tools), None);
    }

    #[test]
    fn an_exit_code_that_means_no_connection_is_explained() {
        let blocked = plan(Network::PrivateLoopback);
        let of = |words: &[&str], code| {
            explain_exit(words.iter().copied(), code, &blocked, Reader::Tools)
        };
        assert!(of(&["curl", "-s", "https://x"], 6).is_some_and(|said| said.contains("`curl`")));
        assert!(of(&["sh", "-c", "curl -s https://x"], 7).is_some());
        assert_eq!(of(&["curl", "-s", "https://x"], 22), None);
        assert_eq!(of(&["make"], 6), None);
    }
}
