//! Uses of credentials that the host program decides about.

use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::credentials::{Approvals, UseAnswer, Wanted};

use crate::cross::{Cross, float};
use crate::questions::{Asker, QuestionFunction, Questions};

/// A request of a command that is to have a credential.
#[napi(object, object_from_js = false)]
pub struct CredentialUse {
    /// Its number, for the answer.
    pub question: f64,
    /// The variable of the credential.
    pub credential: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The method.
    pub method: String,
    /// The path as it is sent, without its query.
    pub path: String,
    /// Whether no server takes the path for another one.
    pub is_plain: bool,
}

/// The uses of all environments that nobody has decided about yet.
static OPEN: Questions<UseAnswer> = Questions::new();

impl Approvals for Asker<CredentialUse> {
    fn ask(&self, wanted: Wanted, answer: UseAnswer) {
        let number = OPEN.number();
        let Wanted { credential, host, port, method, path, is_plain } = wanted;
        let question = float(number);
        let sent = CredentialUse { question, credential, host, port, method, path, is_plain };
        Asker::ask(self, &OPEN, number, sent, answer);
    }
}

impl Cross<Arc<dyn Approvals>> for QuestionFunction<CredentialUse> {
    fn cross(self) -> Arc<dyn Approvals> {
        Arc::new(Asker(self))
    }
}

/// Decides about a use: without `refusal`, the request may have the credential.
#[napi(catch_unwind)]
pub fn answer_credential_use(question: f64, refusal: Option<String>) {
    if let Some(answer) = OPEN.take(question.cross()) {
        answer.give(refusal);
    }
}
