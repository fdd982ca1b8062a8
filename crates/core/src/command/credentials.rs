//! The credentials of commands: what they have in the place of them, and what became of each.

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use toolwright_credentials::{
    Approvals, Options, RuleOptions, Secret, SendAs, SshOptions, TextMatch, TransformOptions,
    UseAnswer, ValueAnswer, Values, Wanted,
};
use toolwright_credentials::{Broker, CredentialError, Ends, Use, Uses, Why};
use toolwright_exec::{CredentialRequests, RequestRefusal, TlsEnd};
use toolwright_sandbox::plan::{
    SSH_AGENT, SYSTEM_TRUSTED, TRUSTED_ALL, TRUSTED_HOSTS, TRUSTED_ONE, Trust,
};

use super::environment::{Variables, variable};
use crate::code::Code;
use crate::failure::Failure;

/// What programs read to know whom they trust: all certificates, in the place of their own.
const TRUST_ALL: [&str; 9] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];
/// What Node and Bun read besides their own.
const TRUST_MORE: &str = "NODE_EXTRA_CA_CERTS";
/// By these programs find the SSH agent, and git a program that knows the hosts.
const SSH_VARIABLE: &str = "SSH_AUTH_SOCK";
const GIT_SSH: &str = "GIT_SSH_COMMAND";

/// The credentials of the commands of one tool set or session, which have an authority and placeholders of
/// their own.
#[derive(Debug)]
pub struct CredentialSession {
    request: Mutex<Option<CredentialRequest>>,
    opened: OnceLock<Result<Arc<Broker>, String>>,
}

/// The credentials as the host program writes them.
#[derive(Debug)]
pub struct CredentialRequest {
    /// Each of them.
    pub credentials: Vec<Options>,
    /// Headers that requests get whatever they have.
    pub transforms: Vec<TransformOptions>,
    /// Keys by which commands log in to SSH hosts.
    pub ssh: Vec<SshOptions>,
    /// Certificates that hosts are verified by, besides those of the system.
    pub authorities: Vec<String>,
    /// Gives values when they are needed.
    pub source: Arc<dyn Values>,
}

static SESSIONS: Mutex<Option<HashMap<String, Arc<CredentialSession>>>> = Mutex::new(None);

impl CredentialSession {
    /// The session of this name, which is made for the first one who asks. It is kept until it is
    /// [closed](Self::close).
    pub fn named(name: String, request: CredentialRequest) -> Arc<Self> {
        let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Self { request: Some(request).into(), opened: OnceLock::new() });
        let session = sessions.get_or_insert_default().entry(name).or_insert_with(made);
        Arc::clone(session)
    }

    /// The values that are known until now, by the names of their variables: for those who keep them out of texts.
    #[must_use]
    pub fn known(&self) -> Vec<(String, Secret)> {
        self.broker().map(|broker| broker.known()).unwrap_or_default()
    }

    /// Nobody starts commands with it any more.
    pub fn close(name: &str) {
        let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = sessions.get_or_insert_default().remove(name);
        drop(sessions);
        drop(closed);
    }

    /// What serves them. It is opened for the first command.
    fn broker(&self) -> Result<&Arc<Broker>, &str> {
        let open = || {
            let request = self.request.lock().unwrap_or_else(PoisonError::into_inner).take();
            let CredentialRequest { credentials, transforms, ssh, authorities, source } =
                request.ok_or_else(|| "it was opened in vain".to_owned())?;
            Broker::open(credentials, &transforms, ssh, &authorities, source)
                .map_err(|error| problem(&error))
        };
        self.opened.get_or_init(open).as_ref().map_err(String::as_str)
    }
}

/// What is wrong, with the place in the option.
fn problem(error: &CredentialError) -> String {
    match error {
        CredentialError::SshKey { index, field, problem } => {
            format!("sshKeys[{index}].{field}: {problem}")
        }
        other => other.to_string(),
    }
}

fn broker(session: Option<&Arc<CredentialSession>>) -> Option<&Arc<Broker>> {
    session?.broker().ok()
}

/// What commands trust besides what the host process does.
pub(super) fn trust(
    session: Option<&Arc<CredentialSession>>,
    environment: &[(OsString, OsString)],
) -> Option<Arc<Trust>> {
    let broker = broker(session)?;
    let system = SYSTEM_TRUSTED.iter().map(PathBuf::from).find(|path| path.is_file());
    let named = ["SSL_CERT_FILE", TRUST_MORE].into_iter();
    let named = named.filter_map(|name| variable(environment, name).map(PathBuf::from));
    let named = named.filter(|path| path.is_absolute() && path.is_file());
    let mut others: Vec<PathBuf> = system.into_iter().chain(named).collect();
    others.dedup();
    let (authority, known_hosts) = (broker.authority().to_owned(), broker.known_hosts());
    Some(Arc::new(Trust { authority, others, known_hosts }))
}

/// The variables of a command, with the placeholders and what makes programs trust the host process.
pub(super) fn variables(
    session: Option<&Arc<CredentialSession>>,
    passed: Arc<Variables>,
) -> Arc<Variables> {
    let Some(broker) = broker(session) else { return passed };
    let git_ssh = format!("ssh -o GlobalKnownHostsFile={TRUSTED_HOSTS}");
    let has_more = passed.iter().any(|(name, value)| {
        name == TRUST_MORE
            && Path::new(value).is_absolute()
            && Path::new(value) != Path::new(TRUSTED_ONE)
    });
    // A file that is named already has certificates that are then in the file with all.
    let more = (TRUST_MORE, if has_more { TRUSTED_ALL } else { TRUSTED_ONE });
    let all = TRUST_ALL.iter().map(|name| (*name, TRUSTED_ALL)).chain([more]);
    // A program that somebody has chosen for git stays.
    let is_chosen = passed.iter().any(|(name, _)| name == GIT_SSH);
    let ssh = [(SSH_VARIABLE, SSH_AGENT), (GIT_SSH, &*git_ssh)];
    let ssh =
        ssh.into_iter().filter(|(name, _)| broker.has_agent() && !(is_chosen && *name == GIT_SSH));
    let own: Vec<(&str, &str)> = all.chain(broker.placeholders()).chain(ssh).collect();
    let kept = passed.iter().filter(|(name, _)| own.iter().all(|(other, _)| name != other));
    let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut variables: Variables = kept.cloned().chain(own).collect();
    variables.sort_unstable();
    Arc::new(variables)
}

/// The credentials of one command.
#[derive(Debug)]
pub(super) struct CommandCredentials {
    broker: Arc<Broker>,
    uses: Arc<Uses>,
    approvals: Option<Arc<dyn Approvals>>,
}

impl CommandCredentials {
    /// `None`: there are none.
    pub(super) fn of(
        session: Option<&Arc<CredentialSession>>,
        approvals: Option<&Arc<dyn Approvals>>,
    ) -> Result<Option<Self>, Failure> {
        let Some(session) = session else { return Ok(None) };
        let broker = session.broker().map_err(|problem| {
            let summary = format!("sandbox.network: {problem}");
            Failure::new(Code::InvalidInput, summary.clone(), summary)
                .with_hint("The host program has to correct the option.")
        })?;
        let (broker, approvals) = (Arc::clone(broker), approvals.cloned());
        Ok(Some(Self { broker, uses: Arc::default(), approvals }))
    }

    pub(super) fn end(&self, host: &str, port: u16) -> bool {
        self.broker.ends_tls(host, port)
    }

    /// A connection to the SSH agent, if there is one.
    pub(super) fn agent(&self) -> Option<OwnedFd> {
        self.broker.agent(Arc::clone(&self.uses))
    }

    /// What became of requests until now.
    pub(super) fn requests(&self) -> Vec<CredentialRequests> {
        self.uses.list().into_iter().map(row).collect()
    }
}

impl TlsEnd for CommandCredentials {
    fn take(&self, name: &str, port: u16, client: TcpStream, target: TcpStream) {
        let (uses, approvals) = (Arc::clone(&self.uses), self.approvals.clone());
        // Without a thread the connection ends, and the command hears it.
        let _ = self.broker.carry(Ends {
            host: name.to_owned(),
            port,
            client,
            target,
            uses,
            approvals,
        });
    }
}

fn row(one: Use) -> CredentialRequests {
    let Use { credential, host, port, method, path, status, refused, count, sent, received } = one;
    let refused = refused.map(|why| match why {
        Why::Rule => RequestRefusal::Rule,
        Why::Rejected => RequestRefusal::Rejected,
        Why::NoValue => RequestRefusal::NoValue,
        Why::Unclear => RequestRefusal::Unclear,
        Why::OnlyHttp2 => RequestRefusal::OnlyHttp2,
    });
    CredentialRequests {
        host,
        port,
        credential,
        method,
        path,
        status,
        refused,
        count,
        sent,
        received,
    }
}
