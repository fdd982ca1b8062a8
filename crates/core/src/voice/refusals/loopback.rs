//! Services of this machine, which commands do not reach: their loopback interface is one of their own.

use toolwright_exec::Exit;
use toolwright_sandbox::plan::Network;

use super::sentence;
use crate::command::end::End;
use crate::denials::Ended;
use crate::voice::remedy::Remedy;

/// How programs say that nothing listens. They name a candidate: the host knows whether something does there.
const WORDS: [&str; 6] = [
    "refused",
    "failed to connect",
    "couldn't connect",
    "could not connect",
    "can't connect",
    // pip, which does not say that it reached no index.
    "no matching distribution found",
];

/// With what `curl -s` and `wget -q` end, which print nothing.
const SILENT: [i32; 2] = [7, 4];

/// What stands before a port of this machine.
const NAMES: [&str; 4] = ["127.0.0.1", "localhost", "::1", "0.0.0.0"];

/// A port that the command line or the output names, at which the host listens and the command was refused.
pub(super) fn note(ended: &Ended<'_>) -> Option<String> {
    if ended.plan.network != Network::PrivateLoopback {
        return None;
    }
    let says = ended.ends().any(|text| {
        let text = text.to_lowercase();
        WORDS.iter().any(|words| text.contains(words))
    });
    let is_silent = matches!(ended.end, End::Exited(Exit::Code(code)) if SILENT.contains(code));
    if !says && !is_silent {
        return None;
    }
    let (_, arguments) = ended.command;
    let texts = arguments.iter().map(String::as_str).chain(ended.ends());
    let mut named: Vec<u16> = texts.flat_map(ports).collect();
    named.dedup();
    let port = named.into_iter().find(|port| is_served(*port))?;
    let what = format!(
        "port {port} of this machine is served outside, and commands have a loopback interface of their own; start the service in the same command line, or"
    );
    Some(sentence(&what, Remedy::LOOPBACK, ended.door))
}

/// Whether a word names this machine as a host.
pub(super) fn is_named(word: &str) -> bool {
    NAMES.iter().any(|name| word.contains(name))
}

/// The numbers that follow a name of this machine, within a few characters of it.
fn ports(text: &str) -> Vec<u16> {
    const NEAR: usize = 24;
    let mut all = Vec::new();
    for name in NAMES {
        for (at, _) in text.match_indices(name) {
            let after = text[at + name.len()..].chars().take(NEAR).collect::<String>();
            let number =
                after.split(|char: char| !char.is_ascii_digit()).find(|part| !part.is_empty());
            all.extend(number.and_then(|number| number.parse::<u16>().ok()));
        }
    }
    all
}

/// Whether something on the host listens at a port that a program on this machine reaches.
fn is_served(port: u16) -> bool {
    const LISTENS: &str = "0A";
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().any(|table| {
        #[expect(clippy::disallowed_methods, reason = "commands cannot write the kernel's tables")]
        let table = std::fs::read_to_string(table).unwrap_or_default();
        table.lines().skip(1).any(|line| {
            let mut columns = line.split_whitespace().skip(1);
            let (local, state) = (columns.next(), columns.nth(1));
            let own = local.and_then(|local| local.rsplit_once(':'));
            state == Some(LISTENS)
                && own.is_some_and(|(_, own)| u16::from_str_radix(own, 16) == Ok(port))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_stands_behind_a_name_of_this_machine() {
        for (text, port) in [
            ("connect ECONNREFUSED 127.0.0.1:5432", 5432),
            ("http://localhost:3000/a", 3000),
            ("socket.create_connection((\"127.0.0.1\", 8080), 3)", 8080),
            ("/dev/tcp/127.0.0.1/81", 81),
            ("ssh: connect to host localhost port 22: Connection refused", 22),
            ("connection to server at \"127.0.0.1\", port 5433 failed", 5433),
        ] {
            assert_eq!(ports(text), [port], "{text}");
        }
        assert_eq!(ports("localhost is down since the day before yesterday, 17"), [0_u16; 0]);
    }

    #[test]
    fn a_port_is_served_while_somebody_listens() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a server");
        let port = server.local_addr().expect("its address").port();
        assert_eq!(is_served(port), cfg!(target_os = "linux"));
        drop(server);
        assert!(!is_served(port));
    }
}
