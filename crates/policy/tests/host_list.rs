//! Lists of hosts, and addresses that names may lead to.

use toolwright_policy::{Host, HostList, is_public};

fn list(allow: &[&str], deny: &[&str]) -> HostList {
    let texts = |patterns: &[&str]| patterns.iter().map(|text| (*text).to_owned()).collect();
    let (allow, deny): (Vec<String>, Vec<String>) = (texts(allow), texts(deny));
    HostList::compile("sandbox.network", &allow, &deny).expect("patterns")
}

fn allows(list: &HostList, host: &str) -> bool {
    list.allows(&Host::parse(host).expect("a host"))
}

#[test]
fn a_host_is_allowed_at_its_ports() {
    let list = list(&["packages.example.com", "*.example.org:443", "git.example.com:22"], &[]);
    for host in ["packages.example.com:80", "packages.example.com:443", "a.b.example.org:443"] {
        assert!(allows(&list, host), "{host}");
    }
    for host in [
        "example.com:443",
        "x.packages.example.com:443",
        "packages.example.com.evil.test:443",
        "example.org:443",
        "a.example.org:80",
        "git.example.com:443",
        "192.0.2.1:443",
    ] {
        assert!(!allows(&list, host), "{host}");
    }
}

#[test]
fn a_name_is_asked_for_if_some_port_of_it_is_allowed() {
    let list = list(&["*.example.org:443", "git.example.com:22"], &[]);
    for host in ["a.example.org", "git.example.com", "GIT.example.com."] {
        assert!(allows(&list, host), "{host}");
    }
    for host in ["example.org", "example.com", "git.example.com.evil.test"] {
        assert!(!allows(&list, host), "{host}");
    }
}

#[test]
fn what_is_denied_is_not_allowed() {
    let list = list(&["*.example.com"], &["secret.example.com", "mail.example.com:25"]);
    assert!(allows(&list, "www.example.com:443"));
    assert!(!allows(&list, "secret.example.com:443"));
    assert!(!allows(&list, "secret.example.com"));
    assert!(!allows(&list, "mail.example.com:25"));
    assert!(allows(&list, "mail.example.com:443"));
    assert!(allows(&list, "mail.example.com"));
}

#[test]
fn every_host_does_not_include_private_ones() {
    let list = list(&["*"], &[]);
    assert!(allows(&list, "example.com:443") && allows(&list, "1.1.1.1:443"));
    for host in ["localhost:80", "127.0.0.1:80", "10.0.0.1:80", "[::1]:80", "169.254.169.254:80"] {
        assert!(!allows(&list, host), "{host}");
    }
    let named = self::list(&["10.0.0.1:80"], &[]);
    assert!(allows(&named, "10.0.0.1:80") && !allows(&named, "10.0.0.2:80"));
}

#[test]
fn an_address_has_to_be_listed_itself() {
    let lists = |list: &HostList, host: &str| list.lists(&Host::parse(host).expect("a host"));
    let all = list(&["*", "*:443"], &["evil.example"]);
    assert!(lists(&all, "example.com:443") && !lists(&all, "evil.example:443"));
    for address in ["1.1.1.1:443", "1.1.1.1", "[2606:4700:4700::1111]:443", "127.0.0.1:80"] {
        assert!(!lists(&all, address), "{address}");
    }
    let named = list(&["*", "1.1.1.1:443", "10.0.0.*"], &["10.0.0.9"]);
    assert!(lists(&named, "1.1.1.1:443") && !lists(&named, "1.1.1.1:80"));
    assert!(lists(&named, "10.0.0.1:80") && !lists(&named, "10.0.0.9:80"));
    assert!(named.denies(&Host::parse("10.0.0.9:80").expect("a host")));
}

#[test]
fn a_pattern_that_is_none_is_named() {
    let error =
        HostList::compile("sandbox.network", &["a.example".into(), "https://b".into()], &[]);
    let error = error.expect_err("no host").to_string();
    assert!(error.starts_with("sandbox.network: allow[1]: `https://b` is no host"), "{error}");
}

#[test]
fn names_lead_to_addresses_of_the_public_internet() {
    let public = [
        "1.1.1.1",
        "93.184.215.14",
        "192.0.1.1",
        "198.20.0.1",
        "203.0.112.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "2001:200::1",
    ];
    for address in public {
        assert!(is_public(address.parse().expect("an address")), "{address}");
    }
    let special = [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:1.1.1.1",
        "64:ff9b::a00:1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:a00:1::",
        "3fff::1",
        "4000::1",
        "fc00::1",
        "fe80::1",
        "ff02::1",
    ];
    for address in special {
        assert!(!is_public(address.parse().expect("an address")), "{address}");
    }
}
