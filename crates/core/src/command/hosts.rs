//! The hosts that commands reach by name.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use toolwright_exec::{
    Connection, Connections, CredentialRequests, GitReport, HostRules, Lead, Openings, Refusal,
    TlsEnd,
};
use toolwright_policy::{Host, HostList, is_public};
use toolwright_sandbox::plan::{Names, Plan};

use super::credentials::CommandCredentials;
use super::grant::GrantProblem;
use super::output::Noted;
use super::plan::HostOptions;
use super::tls_names::TlsNames;
use crate::code::Code;
use crate::denials::{self, Ended};
use crate::failure::Failure;
use crate::voice;
use crate::voice::refusals::explain;
use crate::voice::usage;

const OPTION: &str = "sandbox.network";
const CAPABILITIES: &str = "net.hosts";

/// What decides about the hosts of one command, and notes them. `None`: its plan names none.
pub(super) fn of(
    plan: &Plan,
    options: Option<&HostOptions>,
) -> Result<Option<Arc<Connections>>, Failure> {
    let Some(names) = &plan.names else { return Ok(None) };
    let questions = options.and_then(|options| options.questions.clone());
    let credentials = CommandCredentials::of(
        options.and_then(|options| options.credentials.as_ref()),
        options.and_then(|options| options.approvals.as_ref()),
    )?;
    let rules = Rules { can_ask: questions.is_some(), credentials, ..compile(names)? };
    Ok(Some(Arc::new(Connections::new(Box::new(rules)).asking(questions))))
}

/// The hosts that a command has asked for.
pub(super) fn asked_for(connections: Option<&Arc<Connections>>) -> Vec<Connection> {
    connections.map_or_else(Vec::new, |connections| connections.list())
}

/// What the sandbox has noted of a command. `git` is what it has changed of git's configuration in vain.
pub(super) fn noted(git: &[GitReport], ended: &Ended<'_>, connections: Vec<Connection>) -> Noted {
    let mut notes = voice::notes_of_command(git, &connections, ended.door);
    notes.extend(usage::notes(ended));
    let denials = denials::of_command(&Ended { connections: &connections, ..*ended });
    let hint = explain(ended, &denials).or_else(|| usage::explain(ended));
    Noted { notes, connections, denials, hint, masked: Vec::new() }
}

/// Whether a command may be granted a host that the option does not give.
pub(super) fn may_be_granted(options: &HostOptions, host: &Host) -> Result<(), GrantProblem> {
    let Ok(rules) = compile(&options.names()) else { return Err(GrantProblem::DeniedHost) };
    if rules.lists.iter().any(|list| list.denies(host)) {
        return Err(GrantProblem::DeniedHost);
    }
    if rules.lists.iter().all(|list| list.lists(host)) {
        return Err(GrantProblem::IsReached);
    }
    let is_asked_about = options.questions.is_some() && rules.asked.lists(host);
    if is_asked_about { Err(GrantProblem::IsAskedAbout) } else { Ok(()) }
}

#[derive(Debug)]
struct Rules {
    /// All of them have to allow a host.
    lists: Vec<HostList>,
    /// What the option allows only if somebody agrees.
    asked: HostList,
    /// Whether somebody can be asked.
    can_ask: bool,
    leads: HashMap<String, Lead>,
    /// The credentials, and what becomes of them.
    credentials: Option<CommandCredentials>,
    /// What holds connections to their names.
    tls_names: Option<TlsNames>,
}

fn compile(names: &Names) -> Result<Rules, Failure> {
    let within = names.within.iter().map(|hosts| (CAPABILITIES, hosts, &[][..]));
    let lists = std::iter::once((OPTION, &names.allow, &names.deny[..])).chain(within);
    let lists = lists
        .map(|(origin, allow, deny)| HostList::compile(origin, allow, deny))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid(error.to_string()))?;
    let asked =
        HostList::compile_asked(OPTION, &names.ask).map_err(|error| invalid(error.to_string()))?;
    let mut leads = HashMap::new();
    for (name, address) in &names.addresses {
        let host = Host::parse(name).ok_or_else(|| no_name(name))?;
        let lead = lead(address).ok_or_else(|| no_address(name, address))?;
        leads.insert(host.name().to_owned(), lead);
    }
    let tls_names = names.tls_names.then_some(TlsNames);
    Ok(Rules { lists, asked, can_ask: false, leads, credentials: None, tls_names })
}

fn lead(text: &str) -> Option<Lead> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(Lead { address: address.ip(), port: Some(address.port()) });
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    Some(Lead { address: bare.parse().ok()?, port: None })
}

fn invalid(summary: String) -> Failure {
    Failure::new(Code::InvalidInput, summary.clone(), summary)
        .with_hint("The host program has to correct the option.")
}

fn no_name(name: &str) -> Failure {
    invalid(format!("{OPTION}.addresses: `{}` is no name of a host", name.escape_debug()))
}

fn no_address(name: &str, address: &str) -> Failure {
    invalid(format!(
        "{OPTION}.addresses: `{name}` leads to `{}`, which is no address: write one such as `127.0.0.1` or `127.0.0.1:8080`",
        address.escape_debug()
    ))
}

impl HostRules for Rules {
    fn refusal(&self, host: &str, port: Option<u16>) -> Option<Refusal> {
        let host = Host::parse(host).map(|host| host.with_port(port));
        let (Some(host), [option, within @ ..]) = (host, &self.lists[..]) else {
            return Some(Refusal::NotAllowed);
        };
        // Capabilities that have every host have addresses too. The option has those that it lists.
        if option.denies(&host) {
            Some(Refusal::Denied)
        } else if !option.lists(&host) && !self.asked.lists(&host) {
            Some(Refusal::NotAllowed)
        } else if !within.iter().all(|list| list.allows(&host)) {
            Some(Refusal::NotGranted)
        } else if !option.lists(&host) && !self.can_ask {
            Some(Refusal::Unanswered)
        } else {
            None
        }
    }

    fn asks(&self, host: &str, port: Option<u16>) -> bool {
        let host = Host::parse(host).map(|host| host.with_port(port));
        let (Some(host), [option, ..]) = (host, &self.lists[..]) else { return false };
        !option.lists(&host) && self.asked.lists(&host)
    }

    fn denies(&self, address: SocketAddr) -> bool {
        let host = Host::parse(&address.to_string());
        host.is_none_or(|host| self.lists.iter().any(|list| list.denies(&host)))
    }

    fn lead(&self, name: &str) -> Option<Lead> {
        self.leads.get(name).copied()
    }

    fn may_lead_to(&self, address: IpAddr) -> bool {
        is_public(address)
    }

    fn openings(&self) -> Option<&dyn Openings> {
        self.tls_names.as_ref().map(|names| names as &dyn Openings)
    }

    fn tls_end(&self, host: &str, port: u16) -> Option<&dyn TlsEnd> {
        let credentials = self.credentials.as_ref()?;
        credentials.end(host, port).then_some(credentials)
    }

    fn agent(&self) -> Option<OwnedFd> {
        self.credentials.as_ref()?.agent()
    }

    fn requests(&self) -> Vec<CredentialRequests> {
        self.credentials.as_ref().map_or_else(Vec::new, CommandCredentials::requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Rules {
        fn allows(&self, host: &str, port: Option<u16>) -> bool {
            self.refusal(host, port).is_none()
        }
    }

    fn names(allow: &[&str], addresses: &[(&str, &str)]) -> Names {
        Names {
            allow: allow.iter().map(|text| (*text).to_owned()).collect(),
            ask: Vec::new(),
            deny: Vec::new(),
            within: Vec::new(),
            tls_names: false,
            addresses: addresses
                .iter()
                .map(|(name, address)| ((*name).to_owned(), (*address).to_owned()))
                .collect(),
        }
    }

    /// Otherwise any name, or none, would lead around what is denied.
    #[test]
    fn what_is_denied_is_reached_by_no_address_and_by_no_other_name() {
        let mut names = names(&["*", "192.0.2.7:22"], &[]);
        names.deny = vec!["evil.example".to_owned(), "1.1.1.1".to_owned(), "8.8.8.8:53".to_owned()];
        let rules = compile(&names).expect("compiles");
        assert!(rules.allows("example.com", Some(443)) && !rules.allows("evil.example", Some(443)));
        assert!(!rules.allows("93.184.215.14", Some(443)), "an address that is not listed");
        assert!(rules.allows("192.0.2.7", Some(22)) && !rules.allows("192.0.2.7", Some(80)));
        let denies = |address: &str| rules.denies(address.parse().expect("an address"));
        assert!(denies("1.1.1.1:443") && denies("8.8.8.8:53") && !denies("8.8.8.8:443"));
        assert!(!denies("[2606:4700:4700::1111]:443"));
        assert_eq!(rules.refusal("evil.example", None), Some(Refusal::Denied));
        assert_eq!(rules.refusal("93.184.215.14", Some(443)), Some(Refusal::NotAllowed));
        names.within = vec![vec!["*".to_owned()]];
        assert!(compile(&names).expect("compiles").allows("192.0.2.7", Some(22)));
    }

    #[test]
    fn the_hosts_own_word_leads_a_name_anywhere() {
        let rules = compile(&names(
            &["registry.test:4873", "*.example.com"],
            &[("Registry.test", "127.0.0.1:8080"), ("six.example.com", "[::1]")],
        ));
        let rules = rules.expect("compiles");
        let lead = rules.lead("registry.test").expect("a lead");
        assert_eq!(lead.at(4873), "127.0.0.1:8080".parse().expect("an address"));
        let lead = rules.lead("six.example.com").expect("a lead");
        assert_eq!(lead.at(7), "[::1]:7".parse().expect("an address"));
        assert!(rules.allows("registry.test", Some(4873)) && rules.allows("registry.test", None));
        assert!(!rules.allows("registry.test", Some(80)));
        assert!(!rules.may_lead_to("127.0.0.1".parse().expect("an address")));
    }

    #[test]
    fn first_bytes_are_read_if_that_is_asked_for() {
        let mut names = names(&["*"], &[]);
        assert!(compile(&names).expect("compiles").openings().is_none());
        names.tls_names = true;
        assert!(compile(&names).expect("compiles").openings().is_some());
    }

    #[test]
    fn capabilities_narrow_the_list() {
        let mut names = names(&["*"], &[]);
        names.within = vec![vec!["*".into()], vec!["a.example".into(), "b.example:443".into()]];
        let rules = compile(&names).expect("compiles");
        assert!(rules.allows("a.example", Some(80)) && rules.allows("b.example", Some(443)));
        assert!(rules.allows("b.example", None));
        assert_eq!(rules.refusal("c.example", None), Some(Refusal::NotGranted));
        assert!(!rules.allows("b.example", Some(80)) && !rules.allows("c.example", Some(443)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place() {
        for (wrong, told) in [
            (names(&["http://a.example"], &[]), "sandbox.network: allow[0]"),
            (names(&[], &[("a b", "127.0.0.1")]), "`a b` is no name of a host"),
            (names(&[], &[("a.example", "b.example")]), "`b.example`, which is no address"),
        ] {
            let failure = compile(&wrong).expect_err("refused");
            let text = format!("{failure:?}");
            assert!(text.contains(told), "{text}");
        }
    }
}
