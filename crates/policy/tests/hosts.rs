//! Patterns of hosts: which hosts they open, and which they close.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde_json::json;
use toolwright_policy::{
    Action, Declared, Effective, Host, RequirementSet, Resource, Rule, Rules, Source, Subject,
    Union, Variables,
};

fn set(pattern: &str) -> Result<Effective, String> {
    let set = RequirementSet::parse("test", &json!({ "net": { "hosts": [pattern] } })).unwrap();
    let declared = Declared { origin: "test".to_owned(), set };
    let union = Union::compile(&[declared], &Variables::default());
    union.map(|union| Effective::new(vec![union])).map_err(|error| error.problem)
}

/// Whether a grant of the pattern opens the host.
fn opens(pattern: &str, host: &str) -> bool {
    Host::parse(host).is_some_and(|host| set(pattern).unwrap().allows_host(&host))
}

fn is_private(address: [u8; 4]) -> bool {
    Host::parse(&Ipv4Addr::from(address).to_string()).unwrap().is_private()
}

/// What a rule of the pattern alone makes of the host.
fn decides(pattern: &str, action: Action, host: &str) -> Action {
    let rule = Rule {
        permission: "net.fetch".to_owned(),
        pattern: pattern.to_owned(),
        action,
        source: Source::Session,
    };
    let rules = Rules::compile(&[rule], &Variables::default()).unwrap();
    let subject = Subject { capability: "net.fetch", resource: Resource::Host(host) };
    rules.evaluate("web_fetch", &[subject])[0].ruling.action
}

#[test]
fn a_beginning_of_a_name_opens_names_that_begin_so() {
    for (pattern, host) in [
        ("api*", "api"),
        ("api*", "api.example.com"),
        ("api*", "API-2.Example.com."),
        ("API.*", "api.example.com"),
        ("api*:8443", "api.example.com:8443"),
        ("{api,cdn}-*", "cdn-1.example.com"),
        // What is encoded stands behind the beginning, or is spelled out by it.
        ("www.*", "www.münchen.de"),
        ("xn--m*", "münchen.de"),
        ("a_b*", "a_b.example.com"),
        ("10gen*", "10gen.example.com"),
    ] {
        assert!(opens(pattern, host), "{pattern} opens {host}");
    }
    for (pattern, host) in [
        ("api*", "ap.example.com"),
        ("api*", "my-api.example.com"),
        ("api.*", "api"),
        ("api.*", "api."),
        ("api*:8443", "api.example.com"),
        ("api*:8443", "api.example.com:443"),
        // The letters of an encoding are no letters of a name.
        ("x*", "münchen.de"),
        ("www.x*", "www.münchen.de"),
    ] {
        assert!(!opens(pattern, host), "{pattern} does not open {host}");
    }
}

#[test]
fn a_beginning_of_a_name_opens_neither_addresses_nor_this_machine() {
    for host in ["localhost", "local.localhost", "localhost:80"] {
        for pattern in ["l*", "localhost*", "local.*"] {
            assert!(!opens(pattern, host), "{pattern} {host}");
        }
    }
    for host in ["[fd00::1]", "fe80::1", "[::ffff:10.0.0.1]"] {
        for pattern in ["f*", "fd00*"] {
            assert!(!opens(pattern, host), "{pattern} {host}");
        }
    }
}

#[test]
fn a_beginning_of_an_address_opens_addresses_and_no_names() {
    for (pattern, host) in [
        ("10.0.0.*", "10.0.0.7"),
        ("10.*", "10.200.0.7:8080"),
        ("10.0.0.*:8080", "10.0.0.7:8080"),
        ("8.8.*", "8.8.4.4"),
        ("192.168.*", "192.168.1.1"),
        ("169.254.*", "169.254.169.254"),
    ] {
        assert!(opens(pattern, host), "{pattern} opens {host}");
    }
    for (pattern, host) in [
        ("10.0.0.*", "10.0.1.7"),
        ("10.0.0.*:8080", "10.0.0.7"),
        ("10.0.0.*", "10.0.0.evil.test"),
        ("1.*", "1.evil.test"),
        ("10.*", "[::ffff:10.0.0.1]"),
        ("1.*", "10.0.0.1"),
        // Spellings that mean another address, or none.
        ("10.*", "10.1"),
        ("10.*", "0x0a.0.0.1"),
        ("10.*", "010.0.0.1"),
    ] {
        assert!(!opens(pattern, host), "{pattern} does not open {host}");
    }
}

#[test]
fn only_a_beginning_that_is_private_as_a_whole_names_private_addresses() {
    for (pattern, host) in [
        ("172.*", "172.16.0.1"),
        ("192.*", "192.168.1.1"),
        ("169.*", "169.254.169.254"),
        ("100.*", "100.64.0.1"),
        ("198.*", "198.18.0.1"),
    ] {
        assert!(!opens(pattern, host), "{pattern} does not open {host}");
    }
    assert!(opens("172.*", "172.217.0.1") && opens("172.16.*", "172.16.0.1"));
}

#[test]
fn what_is_no_beginning_of_a_host_is_refused_with_what_to_write() {
    for pattern in ["10*", "10.0.0.1*", "1.2.3.4.*", "256.*", "010.*", "10..*", ".*", "1*:80"] {
        let problem = set(pattern).unwrap_err();
        assert!(problem.contains("10.0.0.*"), "{pattern}: {problem}");
    }
    for pattern in ["ap i*", "a..b*", "bü*", "a/b*", "[fd00:*", "fd00::*", "a*b*", "-?*", "*a*"] {
        let problem = set(pattern).unwrap_err();
        assert!(problem.contains("host"), "{pattern}: {problem}");
    }
    for pattern in ["*.*", "*.a*", "a.*.com", "api*.com", "*api", "api*:", "api*:99999"] {
        let problem = set(pattern).unwrap_err();
        assert!(problem.contains("is no host"), "{pattern}: {problem}");
    }
}

#[test]
fn a_rule_that_denies_or_asks_is_as_wide_as_its_text() {
    for (pattern, host) in [
        ("local*", "localhost:3000"),
        ("172.*", "172.16.0.1"),
        ("x*", "münchen.de"),
        ("*:3000", "localhost:3000"),
        ("*:3000", "10.0.0.1:3000"),
    ] {
        assert_eq!(decides(pattern, Action::Deny, host), Action::Deny, "{pattern} {host}");
        assert_eq!(decides(pattern, Action::Allow, host), Action::Ask, "{pattern} {host}");
    }
    assert_eq!(decides("api*", Action::Allow, "api.example.com:443"), Action::Allow);
    assert_eq!(decides("10.0.0.*", Action::Allow, "10.0.0.3:80"), Action::Allow);
}

#[test]
fn more_letters_of_a_beginning_win() {
    let rule = |pattern: &str, action| Rule {
        permission: "net.fetch".to_owned(),
        pattern: pattern.to_owned(),
        action,
        source: Source::Project,
    };
    let rules = [
        rule("api*", Action::Deny),
        rule("api.example*", Action::Allow),
        rule("api.example.org", Action::Deny),
    ];
    let rules = Rules::compile(&rules, &Variables::default()).unwrap();
    for (host, expected) in [
        ("api.test", Action::Deny),
        ("api.example.com", Action::Allow),
        ("api.example.org", Action::Deny),
    ] {
        let subject = Subject { capability: "net.fetch", resource: Resource::Host(host) };
        assert_eq!(rules.evaluate("web_fetch", &[subject])[0].ruling.action, expected, "{host}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the numbers are: a private address is opened by a beginning that holds private
    /// addresses alone, and every address by what it begins with otherwise.
    #[test]
    fn a_beginning_opens_what_it_may(address in any::<[u8; 4]>(), length in 1usize..4, other in any::<[u8; 4]>()) {
        let numbers: Vec<String> = address[..length].iter().map(u8::to_string).collect();
        let pattern = format!("{}.*", numbers.join("."));
        let mut within = other;
        within[..length].copy_from_slice(&address[..length]);
        let within = Ipv4Addr::from(within);
        let edges = [0, 255].map(|fill| {
            let mut edge = address;
            edge[length..].fill(fill);
            is_private(edge)
        });
        let may = !is_private(within.octets()) || edges == [true, true];
        prop_assert_eq!(opens(&pattern, &within.to_string()), may);
        let outside = Ipv4Addr::from(other);
        if other[..length] != address[..length] {
            prop_assert!(!opens(&pattern, &outside.to_string()));
        }
        let name = format!("{within}.test");
        prop_assert!(!opens(&pattern, &name));
    }

    #[test]
    fn a_beginning_opens_exactly_the_names_that_begin_so(start in "[a-z][a-z0-9.-]{0,6}", name in "[a-z][a-z0-9-]{0,4}(\\.[a-z][a-z0-9-]{0,4}){0,2}") {
        let pattern = format!("{start}*");
        let Ok(granted) = set(&pattern) else { return Ok(()) };
        let Some(host) = Host::parse(&name) else { return Ok(()) };
        prop_assert_eq!(granted.allows_host(&host), name.starts_with(&start) && !host.is_private());
    }

    #[test]
    fn no_text_before_a_star_makes_compiling_panic(start in "\\PC{0,12}", host in "\\PC{0,12}") {
        if let Ok(granted) = set(&format!("{start}*")) {
            let _ = Host::parse(&host).map(|host| granted.allows_host(&host));
        }
    }
}
