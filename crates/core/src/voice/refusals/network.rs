//! Explains commands that fail without the network and print no reason: they hang, or exit with a code.

use super::sentence;
use crate::voice::Door;
use crate::voice::remedy::Remedy;
use toolwright_sandbox::plan::{Network, Plan};

/// How a command ended that printed no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// The timeout stopped it.
    TimedOut,
    /// It exited with this code.
    Code(i32),
}

/// Explains the end of a program by the blocked network. For a shell, explains its script instead.
#[must_use]
pub fn explain_program(
    program: &str,
    arguments: &[String],
    end: CommandEnd,
    plan: &Plan,
    door: Door,
) -> Option<String> {
    if !SHELLS.contains(&name_of(program)) {
        return explain_line(&format!("{program} {}", arguments.join(" ")), end, plan, door);
    }
    arguments.iter().find_map(|argument| explain_line(argument, end, plan, door))
}

const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// The same for a command line.
#[must_use]
pub fn explain_line(line: &str, end: CommandEnd, plan: &Plan, door: Door) -> Option<String> {
    // Which hosts a command did not reach is known where some are named.
    if matches!(plan.network, Network::Open | Network::Names) {
        return None;
    }
    commands(line).find_map(|command| {
        let (name, arguments) = command.split_first()?;
        let failure = match end {
            CommandEnd::TimedOut if waits(name, arguments) => {
                let what = format!(
                    "`{name}` may be waiting for the network, which is blocked; work with what is installed, or"
                );
                return Some(sentence(&what, Remedy::NETWORK, door));
            }
            CommandEnd::TimedOut => return None,
            CommandEnd::Code(code) => failure(name, code)?,
        };
        if !arguments.iter().any(|argument| is_this_machine(argument)) {
            let what = format!("`{name}` {failure}, and the network is blocked; do without it, or");
            return Some(sentence(&what, Remedy::NETWORK, door));
        }
        (plan.network != Network::HostLoopback).then(|| {
            let what = format!(
                "`{name}` {failure}, and commands do not reach services of this machine; start the service in the same command line, or"
            );
            sentence(&what, Remedy::LOOPBACK, door)
        })
    })
}

/// The meaning of an exit code that comes without output.
fn failure(name: &str, code: i32) -> Option<&'static str> {
    match (name, code) {
        ("curl", 6) => Some("could not find the host (exit code 6)"),
        ("curl", 7) => Some("could not connect (exit code 7)"),
        ("wget", 4) => Some("could not connect (exit code 4)"),
        _ => None,
    }
}

/// Programs that always use the network.
const ALWAYS: [&str; 34] = [
    "apk", "apt", "apt-get", "brew", "bundle", "bunx", "cargo", "composer", "curl", "dnf",
    "docker", "gem", "gh", "go", "gradle", "mvn", "nc", "npx", "pacman", "ping", "pip", "pip3",
    "pipx", "pnpx", "podman", "poetry", "rsync", "scp", "sftp", "ssh", "uv", "uvx", "wget", "yum",
];

/// Package managers, which also run scripts.
const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

const OF_MANAGERS: [&str; 19] = [
    "add", "audit", "ci", "create", "dlx", "exec", "global", "i", "info", "init", "install",
    "link", "outdated", "publish", "search", "up", "update", "upgrade", "x",
];

const OF_GIT: [&str; 8] =
    ["clone", "fetch", "lfs", "ls-remote", "pull", "push", "remote", "submodule"];

const OF_DENO: [&str; 4] = ["add", "cache", "install", "update"];

fn waits(name: &str, arguments: &[&str]) -> bool {
    if ALWAYS.contains(&name) {
        return true;
    }
    let subcommands: &[&str] = match name {
        "git" => &OF_GIT,
        "deno" => &OF_DENO,
        _ if MANAGERS.contains(&name) => &OF_MANAGERS,
        _ => return false,
    };
    match arguments.iter().find(|argument| !argument.starts_with('-')) {
        Some(subcommand) => subcommands.contains(subcommand),
        // `yarn` alone installs.
        None => name == "yarn",
    }
}

fn is_this_machine(argument: &str) -> bool {
    let host = argument.split_once("://").map_or(argument, |(_, host)| host);
    ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|own| host.starts_with(own))
}

/// The words of each possible command in a text, beginning with its name without the directory.
fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let mut rest = text;
    text.split(ENDS).filter_map(move |piece| {
        rest = rest.get(piece.len()..)?;
        // `name() {` defines a function and runs nothing.
        let defines = rest.starts_with("()");
        rest = rest.get(1..).unwrap_or_default();
        if defines {
            return None;
        }
        let words = piece.split_whitespace();
        let mut words = words.skip_while(|word| word.contains('=') || BEFORE.contains(word));
        let name = name_of(words.next()?);
        Some([name].into_iter().chain(words).collect())
    })
}

const ENDS: [char; 11] = [';', '&', '|', '(', ')', '{', '}', '`', '"', '\'', '\n'];

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Words that can precede a command and run it.
const BEFORE: [&str; 8] = ["command", "do", "env", "exec", "nohup", "sudo", "then", "time"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::refusals::tests::plan;
    use toolwright_sandbox::plan::Files;

    fn quiet(line: &str, end: CommandEnd, network: Network) -> Option<String> {
        explain_line(line, end, &plan(network, Files::Confined), Door::Tools)
    }

    #[test]
    fn a_shell_is_looked_into_and_other_arguments_are_not() {
        let blocked = plan(Network::PrivateLoopback, Files::Confined);
        let of = |program: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
            explain_program(program, &arguments, CommandEnd::TimedOut, &blocked, Door::Tools)
        };
        assert!(of("/bin/sh", &["-c", "cd x && npx y"]).is_some());
        assert!(of("sh", &["-c", "yarn"]).is_some());
        assert!(of("npx", &["tsc"]).is_some());
        assert_eq!(of("grep", &["curl", "notes"]), None);
        assert_eq!(of("npm", &["test"]), None);
    }

    #[test]
    fn a_program_that_waits_for_the_network_is_named() {
        for (line, name) in [
            ("npx tsc", "npx"),
            ("/usr/bin/pip3 download x", "pip3"),
            ("sh -c 'CI=1 npm --silent ci'", "npm"),
            ("yarn", "yarn"),
            ("if true; then git fetch; fi", "git"),
        ] {
            let text = quiet(line, CommandEnd::TimedOut, Network::PrivateLoopback).expect(name);
            assert!(text.contains(&format!("`{name}` may be waiting for the network")), "{text}");
        }
        for line in [
            "sleep 9",
            "npm test",
            "pnpm run build",
            "yarn test",
            "git log",
            "grep curl notes",
            "yarn() { sleep 9; }; yarn test",
            "echo 'we like npx a lot'",
        ] {
            assert_eq!(quiet(line, CommandEnd::TimedOut, Network::PrivateLoopback), None, "{line}");
        }
        assert_eq!(quiet("npx tsc", CommandEnd::TimedOut, Network::Open), None);
    }

    #[test]
    fn an_exit_code_that_means_no_connection_is_explained() {
        let of = |line: &str, code| quiet(line, CommandEnd::Code(code), Network::PrivateLoopback);
        assert!(of("curl -s https://x", 6).is_some_and(|text| text.contains("find the host")));
        assert!(of("cd x; curl -s https://x", 7).is_some());
        let local = of("curl -s http://localhost:3000/", 7).expect("explained");
        assert!(local.contains("sandbox.loopback"), "{local}");
        assert_eq!(
            quiet("curl http://127.0.0.1", CommandEnd::Code(7), Network::HostLoopback),
            None
        );
        assert_eq!(of("curl -s https://x", 22), None);
        assert_eq!(of("make", 6), None);
    }
}
