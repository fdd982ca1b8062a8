//! What became of the hosts that a command asked for.

use toolwright_exec::{Connection, Refusal, RequestRefusal, Verdict};

use super::Door;
use super::remedy::Remedy;

/// How many hosts are named.
const MAX_NAMES: usize = 10;

/// Why requests with a credential are refused.
const OF_REQUESTS: [(RequestRefusal, &str); 5] = [
    (
        RequestRefusal::Rule,
        "no rule of the credential allows it (sandbox.network.credentials). Make a request that one allows, or have the host add a rule.",
    ),
    (
        RequestRefusal::Rejected,
        "the permissions of the session do not let it have the credential (net.credential): the answer to the request says which. Do without, or have the host allow it.",
    ),
    (
        RequestRefusal::NoValue,
        "the host program gave no value for the credential. Try again later, or do without.",
    ),
    (
        RequestRefusal::Unclear,
        "it was not understood. Send a plain request of HTTP/1.1 to the host by its name.",
    ),
    (
        RequestRefusal::OnlyHttp2,
        "a host of a credential is reached by HTTP/1.1, which the client did not offer. Use a client that speaks it, or have the host take this name out of sandbox.network.credentials.",
    ),
];

/// Why signatures are refused.
const OF_SIGNATURES: [(RequestRefusal, &str); 3] = [
    (
        RequestRefusal::Rule,
        "the session is with no host of the key (sandbox.network.sshKeys). Connect to a host that the key is for, or have the host add one with its line of knownHosts.",
    ),
    (RequestRefusal::NoValue, "the system gave no random numbers. Try again later."),
    (
        RequestRefusal::Unclear,
        "the agent signs logins to the hosts of its key alone, for programs that say which session is meant. Use ssh of OpenSSH 8.9 or newer, without a forwarded agent.",
    ),
];

/// A sentence for each reason why a command did not reach a host, for a model.
pub(crate) fn notes(connections: &[Connection], door: Door) -> Vec<String> {
    // A name with several addresses may be reached at one of them.
    let is_reached = |one: &Connection| {
        let is_same = |other: &Connection| other.host == one.host && other.port == one.port;
        connections.iter().any(|other| is_same(other) && other.verdict == Verdict::Opened)
    };
    let of = |verdict: Verdict| {
        let hosts = connections.iter().filter(|one| one.verdict == verdict);
        names(hosts.filter(|one| verdict != Verdict::Failed || !is_reached(one)))
    };
    let mut notes = Vec::new();
    let mut note = |verdict: Verdict, text: &dyn Fn(&str) -> String| {
        notes.extend(of(verdict).map(|names| text(&names)));
    };
    note(Verdict::Refused(Refusal::NotAllowed), &|names| refused(names, Remedy::HOSTS, door));
    note(Verdict::Refused(Refusal::NotGranted), &|names| {
        refused(names, Remedy::GRANTED_HOSTS, door)
    });
    note(Verdict::Refused(Refusal::Denied), &|names| {
        format!("The sandbox refused {names}: the host program denies it. Do without.")
    });
    note(Verdict::Refused(Refusal::Rejected), &|names| {
        format!(
            "The sandbox refused {names}: the host program was asked, and did not agree. Do without."
        )
    });
    note(Verdict::Refused(Refusal::Unanswered), &|names| {
        format!(
            "The sandbox refused {names}: the host program has to agree (sandbox.network.ask), and nobody answered. Do without."
        )
    });
    let tls = Remedy::TLS_NAMES.words(door);
    note(Verdict::Refused(Refusal::OtherName), &|names| {
        format!(
            "The sandbox refused connections to {names}: TLS asked for another name in them. Connect to each host by its own name, or {tls}."
        )
    });
    note(Verdict::Refused(Refusal::NoName), &|names| {
        format!(
            "The sandbox refused connections to {names}: TLS asked for no name in them (no SNI). Use a client that sends the name of the host, or {tls}."
        )
    });
    note(Verdict::Refused(Refusal::NoTls), &|names| {
        format!(
            "The sandbox refused connections to {names}: they did not begin with TLS, or its first message could not be read. Use TLS there, or {tls}."
        )
    });
    note(Verdict::Private, &|names| {
        format!(
            "The sandbox refused {names}: the name leads to an address outside of the public internet. Do without, or {}.",
            Remedy::HOST_ADDRESSES.words(door)
        )
    });
    note(Verdict::Unknown, &|names| {
        format!("The host found no address for {names}. Check the spelling, or try again later.")
    });
    note(Verdict::Failed, &|names| {
        format!("{names} could not be reached from the host. Try again later.")
    });
    note(Verdict::TooMany, &|_| {
        "The command asked for more names of hosts than one command may. Ask for fewer in one command."
            .to_owned()
    });
    for (reasons, are_signatures) in [(&OF_REQUESTS[..], false), (&OF_SIGNATURES[..], true)] {
        notes.extend(reasons.iter().filter_map(|(why, reason)| {
            let all = requests(connections, *why, are_signatures)?;
            Some(format!("The sandbox refused {all}: {reason}"))
        }));
    }
    notes
}

/// The requests that were refused for this reason.
fn requests(
    connections: &[Connection],
    why: RequestRefusal,
    are_signatures: bool,
) -> Option<String> {
    let all = connections.iter().flat_map(|connection| &connection.requests);
    let refused =
        all.filter(|one| one.refused == Some(why) && one.are_signatures() == are_signatures);
    listed(refused.map(
        |one| {
            if are_signatures { one.subject() } else { format!("`{}`", one.subject()) }
        },
    ))
}

fn refused(names: &str, remedy: Remedy, door: Door) -> String {
    format!(
        "The sandbox refused {names}: commands reach only the hosts that the host program names. Do without, or {}.",
        remedy.words(door)
    )
}

fn names<'a>(connections: impl Iterator<Item = &'a Connection>) -> Option<String> {
    listed(connections.map(|Connection { host, port, .. }| match port {
        Some(port) => format!("`{host}:{port}`"),
        None => format!("`{host}`"),
    }))
}

fn listed(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect();
    let (shown, rest) = all.split_at(all.len().min(MAX_NAMES));
    if shown.is_empty() {
        return None;
    }
    Some(match rest.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(host: &str, port: Option<u16>, verdict: Verdict) -> Connection {
        Connection {
            host: host.to_owned(),
            port,
            verdict,
            count: 1,
            bytes: None,
            requests: Vec::new(),
        }
    }

    #[test]
    fn each_reason_has_its_next_move() {
        let mut all = vec![
            connection("registry.example", Some(443), Verdict::Opened),
            connection("evil.example", None, Verdict::Refused(Refusal::NotAllowed)),
            connection("registry.example", Some(25), Verdict::Refused(Refusal::NotAllowed)),
            connection("inside.example", None, Verdict::Private),
            connection("absent.example", None, Verdict::Unknown),
            connection("registry.example", Some(443), Verdict::Failed),
            connection("ads.example", None, Verdict::Refused(Refusal::Denied)),
            connection("paid.example", Some(80), Verdict::Refused(Refusal::NotGranted)),
            connection("front.example", Some(443), Verdict::Refused(Refusal::OtherName)),
            connection("mute.example", Some(993), Verdict::Refused(Refusal::NoName)),
            connection("plain.example", Some(443), Verdict::Refused(Refusal::NoTls)),
        ];
        let told = notes(&all, Door::Tools);
        assert_eq!(told.len(), 8, "one address of a name was reached: {told:?}");
        assert!(told[0].contains("`evil.example`, `registry.example:25`"), "{}", told[0]);
        assert!(told[0].contains("sandbox.network.allow"), "{}", told[0]);
        assert!(
            told[1].contains("`paid.example:80`") && told[1].contains("net.hosts"),
            "{}",
            told[1]
        );
        assert!(told[2].contains("`ads.example`: the host program denies it"), "{}", told[2]);
        for (told, host, reason) in [
            (&told[3], "`front.example:443`", "another name"),
            (&told[4], "`mute.example:993`", "no name"),
            (&told[5], "`plain.example:443`", "did not begin with TLS"),
        ] {
            assert!(told.contains(host) && told.contains(reason), "{told}");
            assert!(told.contains("sandbox.network.tlsNames"), "{told}");
        }
        assert!(told[6].contains("`inside.example`"), "{}", told[6]);
        assert!(told[6].contains("sandbox.network.addresses"), "{}", told[6]);
        assert!(told[7].contains("`absent.example`"), "{}", told[7]);
        all.extend((0..12).map(|number| {
            connection(&format!("{number}.example"), None, Verdict::Refused(Refusal::NotAllowed))
        }));
        assert!(notes(&all, Door::Session)[0].contains("and 4 more"));
        assert!(notes(&all[..1], Door::Tools).is_empty());
    }
}
