//! Laws of the agent: it signs a login of a session with a host of the key, and no other byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use ring::signature::{Ed25519KeyPair, KeyPair};

use super::agent::Agent;
use super::wire::put_text;
use super::{SshCredential, SshOptions};
use crate::uses::Why;

const FAILURE: u8 = 5;
const SUCCESS: u8 = 6;
const SIGNED: u8 = 14;

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key")
}

fn texts(all: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in all {
        put_text(&mut out, text);
    }
    out
}

fn public(seed: u8) -> Vec<u8> {
    texts(&[b"ssh-ed25519", pair(seed).public_key().as_ref()])
}

fn private(seed: u8, cipher: &[u8]) -> String {
    let own = pair(seed).public_key().as_ref().to_vec();
    let mut inner = vec![1, 2, 3, 4, 1, 2, 3, 4];
    inner.extend(texts(&[b"ssh-ed25519", &own, &[&[seed; 32][..], &own].concat(), b"test"]));
    let mut all = b"openssh-key-v1\0".to_vec();
    all.extend(texts(&[cipher, b"none", b""]));
    all.extend([0, 0, 0, 1]);
    all.extend(texts(&[&public(seed), &inner]));
    format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        STANDARD.encode(all)
    )
}

fn options(key: String) -> SshOptions {
    SshOptions {
        private_key: Some(key),
        hosts: vec!["git.test:2222".to_owned()],
        known_hosts: format!(
            "# a comment\n\n[git.test]:2222,git.test ssh-ed25519 {} x\n",
            STANDARD.encode(public(9))
        ),
    }
}

fn credentials() -> Vec<SshCredential> {
    SshCredential::read_all(vec![options(private(7, b"none"))]).expect("they can be meant")
}

fn bind(host: u8, number: &[u8], is_forwarding: bool) -> Vec<u8> {
    let signature = texts(&[b"ssh-ed25519", pair(host).sign(number).as_ref()]);
    let mut message = vec![27];
    message.extend(texts(&[b"session-bind@openssh.com", &public(host), number, &signature]));
    message.push(u8::from(is_forwarding));
    message
}

fn login(number: &[u8], user: &[u8]) -> Vec<u8> {
    let mut data = texts(&[number]);
    data.push(50);
    let method = b"publickey-hostbound-v00@openssh.com";
    data.extend(texts(&[user, b"ssh-connection", method]));
    data.push(1);
    data.extend(texts(&[b"ssh-ed25519", &public(7), &public(9)]));
    data
}

fn sign(data: &[u8]) -> Vec<u8> {
    let mut message = vec![13];
    message.extend(texts(&[&public(7), data]));
    message.extend([0; 4]);
    message
}

fn ask(agent: &mut Agent, message: &[u8]) -> u8 {
    agent.answer(&credentials(), message).0[0]
}

#[test]
fn a_login_to_a_host_of_the_key_is_signed() {
    let mut agent = Agent::default();
    assert_eq!(ask(&mut agent, &bind(9, b"session", false)), SUCCESS);
    assert_eq!(ask(&mut agent, &bind(9, b"session", false)), SUCCESS, "keys are exchanged again");
    let (answer, outcome) = agent.answer(&credentials(), &sign(&login(b"session", b"git")));
    assert_eq!(answer[0], SIGNED);
    let signature = texts(&[b"ssh-ed25519", pair(7).sign(&login(b"session", b"git")).as_ref()]);
    assert_eq!(answer[1..], texts(&[&signature]));
    let outcome = outcome.expect("it is noted");
    let (host, user) = outcome.signed.expect("it is known");
    assert_eq!((&*host.name, host.port, &*user, outcome.refused), ("git.test", 2222, "git", None));
}

#[test]
fn nothing_is_signed_for_another_host_session_or_machine() {
    let credentials = credentials();
    let why = |binds: &[Vec<u8>], number: &[u8]| {
        let mut agent = Agent::default();
        for message in binds {
            agent.answer(&credentials, message);
        }
        let (answer, outcome) = agent.answer(&credentials, &sign(&login(number, b"git")));
        assert_eq!(answer, [FAILURE]);
        outcome.expect("it is noted").refused
    };
    let own = || bind(9, b"session", false);
    assert_eq!(why(&[], b"session"), Some(Why::Unclear));
    assert_eq!(why(&[own()], b"another"), Some(Why::Unclear));
    assert_eq!(why(&[bind(9, b"session", true)], b"session"), Some(Why::Unclear));
    assert_eq!(why(&[own(), bind(9, b"further", false)], b"session"), Some(Why::Unclear));
    assert_eq!(why(&[own(), bind(8, b"session", false)], b"session"), Some(Why::Unclear));
    assert_eq!(why(&[own(), bind(9, b"session", true)], b"session"), Some(Why::Unclear));
    // The request names the host's key too, where the client does.
    let mut agent = Agent::default();
    agent.answer(&credentials, &bind(8, b"session", false));
    let mut plain = texts(&[b"session"]);
    plain.push(50);
    plain.extend(texts(&[b"git", b"ssh-connection", b"publickey"]));
    plain.push(1);
    plain.extend(texts(&[b"ssh-ed25519", &public(7)]));
    let (answer, outcome) = agent.answer(&credentials, &sign(&plain));
    assert_eq!(
        (&*answer, outcome.expect("it is noted").refused),
        (&[FAILURE][..], Some(Why::Rule))
    );
    let mut agent = Agent::default();
    agent.answer(&credentials, &own());
    assert_eq!(agent.answer(&credentials, &sign(&plain)).0[0], SIGNED);
}

#[test]
fn any_other_byte_in_a_login_or_a_session_is_not_signed() {
    let credentials = credentials();
    let data = login(b"session", b"git");
    let user = data.windows(3).position(|part| part == b"git").expect("it is there");
    for at in 0..data.len() {
        for change in [1, 0x80] {
            let mut other = data.clone();
            other[at] ^= change;
            let mut agent = Agent::default();
            agent.answer(&credentials, &bind(9, b"session", false));
            let answer = agent.answer(&credentials, &sign(&other)).0[0];
            let is_other_user = (user..user + 3).contains(&at) && change == 1;
            assert_eq!(answer, if is_other_user { SIGNED } else { FAILURE }, "at {at}");
        }
    }
    let message = bind(9, b"session", false);
    for at in 0..message.len() {
        let mut other = message.clone();
        other[at] ^= 1;
        let mut agent = Agent::default();
        agent.answer(&credentials, &other);
        assert_eq!(agent.answer(&credentials, &sign(&data)).0[0], FAILURE, "at {at}");
    }
}

#[test]
fn a_key_that_cannot_be_meant_is_refused_and_not_repeated() {
    for (options, expected) in [
        (options(private(7, b"aes256-ctr")), "SSH key 0, privateKey: it has a passphrase"),
        (options("secret".to_owned()), "SSH key 0, privateKey: it is no private key"),
        (SshOptions { hosts: vec!["git.test".to_owned()], ..options(private(7, b"none")) }, ""),
        (
            SshOptions { hosts: vec!["other.test".to_owned()], ..options(private(7, b"none")) },
            "SSH key 0, knownHosts: it has no key of other.test",
        ),
        (
            SshOptions { known_hosts: "a b".to_owned(), ..options(private(7, b"none")) },
            "SSH key 0, knownHosts: line 1",
        ),
    ] {
        let read = SshCredential::read_all(vec![options]).map_err(|error| error.to_string());
        let problem = read.err().unwrap_or_default();
        assert!(
            problem.starts_with(expected) && problem.is_empty() == expected.is_empty(),
            "{problem}"
        );
    }
}

proptest! {
    #[test]
    fn no_message_does_harm(
        kind in prop_oneof![Just(11_u8), Just(13), Just(27), any::<u8>()],
        parts in proptest::collection::vec(
            prop_oneof![
                Just(texts(&[&public(7)])),
                Just(texts(&[b"session-bind@openssh.com"])),
                Just(texts(&[&login(b"session", b"git")])),
                proptest::collection::vec(any::<u8>(), 0..40),
            ],
            0..5,
        ),
        is_bound: bool,
    ) {
        let credentials = credentials();
        let mut agent = Agent::default();
        if is_bound {
            agent.answer(&credentials, &bind(9, b"another", false));
        }
        let message: Vec<u8> = std::iter::once(kind).chain(parts.into_iter().flatten()).collect();
        let (answer, _) = agent.answer(&credentials, &message);
        prop_assert!([FAILURE, 12].contains(&answer[0]), "{answer:?}");
    }

    #[test]
    fn no_key_text_does_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..400, change in 1_u8..) {
        let whole = |bytes: &[u8]| {
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", STANDARD.encode(bytes))
        };
        prop_assert!(SshCredential::read_all(vec![options(whole(&bytes))]).is_err());
        let own = private(7, b"none");
        let coded: String = own.lines().filter(|line| !line.starts_with('-')).collect();
        let mut decoded = STANDARD.decode(coded).expect("it is base64");
        if let Some(byte) = decoded.get_mut(at) {
            *byte ^= change;
        }
        // It may be a key still, where the change is in its comment.
        let _ = SshCredential::read_all(vec![options(whole(&decoded))]);
    }
}
