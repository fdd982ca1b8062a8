//! Credentials that commands use and never see.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::credentials::{
    self, CredentialRequest, CredentialSession, Options, RuleOptions, SendAs, SshOptions,
    TransformOptions, ValueAnswer, Values,
};

use crate::cross::{Cross, convert, cross, float};
use crate::questions::{Asker, QuestionFunction, Questions};

/// The credentials of a tool set or a session.
#[napi(object, object_to_js = false)]
pub struct SandboxCredentials {
    /// Names the session that they are of: one authority, one placeholder for each variable.
    pub session: String,
    /// Each of them.
    pub credentials: Vec<SandboxCredential>,
    /// Headers that requests get whatever they have.
    pub transforms: Vec<RequestTransform>,
    /// Keys by which commands log in to SSH hosts.
    pub ssh_keys: Vec<SandboxSshKey>,
    /// Certificates that hosts are verified by besides those of the system, in PEM form.
    pub authorities: Vec<String>,
    /// Takes questions for values, which `answerCredential` answers.
    #[napi(ts_type = "(question: CredentialQuestion) => void")]
    pub on_question: QuestionFunction<CredentialQuestion>,
}

/// A key by which commands log in to SSH hosts.
#[napi(object, object_to_js = false)]
pub struct SandboxSshKey {
    /// In the form of OpenSSH. Without one it is asked for.
    pub private_key: Option<String>,
    /// The hosts that it is for.
    pub hosts: Vec<String>,
    /// The keys of these hosts, one a line.
    pub known_hosts: String,
}

/// One credential.
#[napi(object, object_to_js = false)]
pub struct SandboxCredential {
    /// The variable of commands that has the placeholder.
    pub variable: String,
    /// The hosts that get the value.
    pub hosts: Vec<String>,
    /// The value. Without one it is asked for.
    pub value: Option<String>,
    /// `bearer`, `basic`, or the name of a header behind `header:`.
    pub send: String,
    /// The requests that may have it.
    pub only: Option<Vec<CredentialRule>>,
}

/// Which requests may have a credential.
#[napi(object, object_to_js = false)]
pub struct CredentialRule {
    /// The methods; none for every one.
    pub methods: Vec<String>,
    /// The pattern of the path.
    pub path: Option<String>,
}

/// Headers that requests get whatever they have.
#[napi(object, object_to_js = false)]
pub struct RequestTransform {
    /// The host.
    pub host: String,
    /// Which paths; all without it.
    pub path: Option<TextMatch>,
    /// The methods; none for every one.
    pub methods: Vec<String>,
    /// Parts of the query that have to be there.
    pub query: Vec<PairMatch>,
    /// Headers that have to be there.
    pub headers: Vec<PairMatch>,
    /// The headers, as names and values in turn.
    pub set: Vec<String>,
}

/// How a text is compared.
#[napi(object, object_to_js = false)]
pub struct TextMatch {
    /// In which way.
    #[napi(ts_type = "'exact' | 'startsWith' | 'regex'")]
    pub kind: String,
    /// With what.
    pub text: String,
}

/// How a key and its value are compared.
#[napi(object, object_to_js = false)]
pub struct PairMatch {
    /// The key; any without it.
    pub key: Option<TextMatch>,
    /// The value; any without it.
    pub value: Option<TextMatch>,
}

/// A question for a value.
#[napi(object, object_from_js = false)]
pub struct CredentialQuestion {
    /// Its number, for the answer.
    pub question: f64,
    /// Which credential of the list. The SSH keys are behind the credentials.
    pub credential: u32,
}

cross! {
    SandboxCredential => Options { variable, hosts, value, send, only }
    CredentialRule => RuleOptions { methods, path }
    SandboxSshKey => SshOptions { private_key, hosts, known_hosts }
    RequestTransform => TransformOptions { host, path, methods, query, headers, set }
}

convert! {
    TextMatch => credentials::TextMatch: |matched| match &*matched.kind {
        "exact" => credentials::TextMatch::Exact(matched.text),
        "startsWith" => credentials::TextMatch::StartsWith(matched.text),
        _ => credentials::TextMatch::Regex(matched.text),
    };
    PairMatch => (Option<credentials::TextMatch>, Option<credentials::TextMatch>): |pair| (pair.key.cross(), pair.value.cross());
    Vec<String> => Vec<(String, String)>: |words| {
        let pairs = words.chunks_exact(2);
        pairs.filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone()))).collect()
    };
    String => SendAs: |send| match &*send {
        "bearer" => SendAs::Bearer,
        "basic" => SendAs::Basic,
        header => SendAs::Header(header.strip_prefix("header:").unwrap_or(header).to_owned()),
    };
}

/// The questions of all environments that have no answer yet.
static OPEN: Questions<ValueAnswer> = Questions::new();

impl Values for Asker<CredentialQuestion> {
    fn ask(&self, credential: usize, answer: ValueAnswer) {
        let number = OPEN.number();
        let credential = u32::try_from(credential).unwrap_or(u32::MAX);
        let sent = CredentialQuestion { question: float(number), credential };
        Asker::ask(self, &OPEN, number, sent, answer);
    }
}

impl Cross<Arc<CredentialSession>> for SandboxCredentials {
    fn cross(self) -> Arc<CredentialSession> {
        let Self { session, credentials, transforms, ssh_keys, authorities, on_question } = self;
        let source = Arc::new(Asker(on_question));
        let (credentials, transforms) = (credentials.cross(), transforms.cross());
        let ssh = ssh_keys.cross();
        let request = CredentialRequest { credentials, transforms, ssh, authorities, source };
        CredentialSession::named(session, request)
    }
}

/// Answers a question for a value; without one, that there is none.
#[napi(catch_unwind)]
pub fn answer_credential(question: f64, value: Option<String>) {
    match (OPEN.take(question.cross()), value) {
        (Some(answer), Some(value)) => answer.give(value),
        (answer, _) => drop(answer),
    }
}

/// Nobody starts commands with these credentials any more.
#[napi(catch_unwind)]
pub fn close_credentials(session: String) {
    CredentialSession::close(&session);
}
