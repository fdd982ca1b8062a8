//! What an agent answers on one connection.
//!
//! A program that signs says first for which session (`session-bind@openssh.com`): with the host's key, and that key's
//! signature of the session's number. So the agent knows which host has the session, whoever asks. It signs the
//! request for authentication of that session and nothing else.

use super::host_key::has_signed;
use super::wire::{Reader, put_text};
use super::{SshCredential, SshHost};
use crate::uses::Why;

/// Numbers of messages.
const FAILURE: u8 = 5;
const SUCCESS: u8 = 6;
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES: u8 = 12;
const SIGN: u8 = 13;
const SIGNED: u8 = 14;
const EXTENSION: u8 = 27;
/// `SSH_MSG_USERAUTH_REQUEST`.
const AUTHENTICATION: u8 = 50;

/// How many characters of a user's name are told.
const MAX_USER: usize = 64;

/// The session that a connection is for.
#[derive(Debug, Default)]
enum Session {
    #[default]
    Unknown,
    Of {
        number: Vec<u8>,
        host_key: Vec<u8>,
    },
    /// It is another machine's, or of several: nothing is signed.
    Elsewhere,
}

/// One connection to the agent.
#[derive(Debug, Default)]
pub(super) struct Agent {
    session: Session,
}

/// What became of a request to sign.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// For which host and user. None: it is not known.
    pub(super) signed: Option<(SshHost, String)>,
    pub(super) refused: Option<Why>,
}

impl Agent {
    /// Whether a message is answered by the keys.
    pub(super) fn needs_keys(message: &[u8]) -> bool {
        matches!(message.first(), Some(&(REQUEST_IDENTITIES | SIGN)))
    }

    /// Answers a message. A message that is not understood is answered with a failure.
    pub(super) fn answer(
        &mut self,
        credentials: &[SshCredential],
        message: &[u8],
    ) -> (Vec<u8>, Option<Outcome>) {
        let mut from = Reader::new(message);
        match from.byte() {
            Some(REQUEST_IDENTITIES) if from.end().is_some() => (identities(credentials), None),
            Some(SIGN) => self.sign(credentials, from),
            Some(EXTENSION) => {
                let is_bound = self.bind(from).is_some();
                (vec![if is_bound { SUCCESS } else { FAILURE }], None)
            }
            _ => (vec![FAILURE], None),
        }
    }

    fn bind(&mut self, mut from: Reader<'_>) -> Option<()> {
        if from.text()? != b"session-bind@openssh.com" {
            return None;
        }
        let (host_key, number, signature) = (from.text()?, from.text()?, from.text()?);
        let is_forwarding = from.byte()? != 0;
        from.end()?;
        let is_again = matches!(&self.session, Session::Of { number: bound, host_key: key } if bound == number && key == host_key);
        let is_first = matches!(self.session, Session::Unknown);
        if is_forwarding || !(is_first || is_again) {
            self.session = Session::Elsewhere;
            return None;
        }
        if !has_signed(host_key, number, signature) {
            return None;
        }
        self.session = Session::Of { number: number.to_vec(), host_key: host_key.to_vec() };
        Some(())
    }

    fn sign(&self, credentials: &[SshCredential], from: Reader<'_>) -> (Vec<u8>, Option<Outcome>) {
        let refused = |signed, why| (vec![FAILURE], Some(Outcome { signed, refused: Some(why) }));
        let Some((public, data, flags)) = read_sign(from) else {
            return refused(None, Why::Unclear);
        };
        let has_key = |one: &SshCredential| one.key().is_some_and(|key| key.public == public);
        let mut own = credentials.iter().filter(|one| has_key(one)).peekable();
        let Session::Of { number, host_key } = &self.session else {
            return refused(None, Why::Unclear);
        };
        let Some(key) = own.peek().and_then(|one| one.key()) else {
            return refused(None, Why::Unclear);
        };
        let Some(algorithm) = key.algorithm(flags) else { return refused(None, Why::Unclear) };
        let Some(user) = read_authentication(data, number, host_key, public, algorithm) else {
            return refused(None, Why::Unclear);
        };
        let Some(host) = own.find_map(|one| one.host_of(host_key)) else {
            return refused(None, Why::Rule);
        };
        let signed = Some((host.clone(), user));
        let Some(signature) = key.sign(algorithm, data) else {
            return refused(signed, Why::NoValue);
        };
        let mut answer = vec![SIGNED];
        put_text(&mut answer, &signature);
        (answer, Some(Outcome { signed, refused: None }))
    }
}

fn identities(credentials: &[SshCredential]) -> Vec<u8> {
    let mut keys: Vec<&[u8]> =
        credentials.iter().filter_map(SshCredential::key).map(|key| &*key.public).collect();
    keys.dedup();
    let mut answer = vec![IDENTITIES];
    answer.extend_from_slice(&u32::try_from(keys.len()).unwrap_or_default().to_be_bytes());
    for key in keys {
        put_text(&mut answer, key);
        put_text(&mut answer, b"key of the host program");
    }
    answer
}

/// The key, what it is to sign, and the flags, which choose between the signatures of RSA alone.
fn read_sign(mut from: Reader<'_>) -> Option<(&[u8], &[u8], u32)> {
    let (public, data, flags) = (from.text()?, from.text()?, from.number()?);
    from.end()?;
    Some((public, data, flags))
}

/// The user, if it is a request for authentication with this key in this session (RFC 4252, 7).
fn read_authentication(
    data: &[u8],
    number: &[u8],
    host_key: &[u8],
    public: &[u8],
    own: &str,
) -> Option<String> {
    let mut from = Reader::new(data);
    if from.text()? != number || from.byte()? != AUTHENTICATION {
        return None;
    }
    let (user, service, method) = (from.text()?, from.text()?, from.text()?);
    let (has_signature, algorithm, key) = (from.byte()?, from.text()?, from.text()?);
    match method {
        b"publickey" => {}
        b"publickey-hostbound-v00@openssh.com" if from.text()? == host_key => {}
        _ => return None,
    }
    from.end()?;
    let is_own = service == b"ssh-connection"
        && has_signature == 1
        && algorithm == own.as_bytes()
        && key == public;
    let user = std::str::from_utf8(user).ok().filter(|_| is_own)?;
    Some(user.chars().take(MAX_USER).collect())
}
