//! Uses of credentials that the host program decides about.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use toolwright_core::command::credentials::{Approvals, UseAnswer, Wanted};

use crate::call;
use crate::cross::{Cross, float};

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

/// What JavaScript is asked by. It does not keep the environment alive.
pub(crate) type UseFunction =
    ThreadsafeFunction<CredentialUse, (), CredentialUse, Status, false, true>;

/// The uses of all environments that nobody has decided about yet.
static OPEN: LazyLock<Mutex<HashMap<u64, UseAnswer>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

struct Uses(UseFunction);

impl fmt::Debug for Uses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Uses")
    }
}

impl Approvals for Uses {
    fn ask(&self, wanted: Wanted, answer: UseAnswer) {
        let question = NEXT.fetch_add(1, Ordering::Relaxed);
        call::lock(&OPEN).insert(question, answer);
        let Wanted { credential, host, port, method, path, is_plain } = wanted;
        let question_number = float(question);
        let sent = CredentialUse {
            question: question_number,
            credential,
            host,
            port,
            method,
            path,
            is_plain,
        };
        if self.0.call(sent, ThreadsafeFunctionCallMode::NonBlocking) != Status::Ok {
            // The environment is gone. The lock is free when the answer is dropped, which refuses the use.
            let answer = call::lock(&OPEN).remove(&question);
            drop(answer);
        }
    }
}

impl Cross<Arc<dyn Approvals>> for UseFunction {
    fn cross(self) -> Arc<dyn Approvals> {
        Arc::new(Uses(self))
    }
}

/// Decides about a use: without `refusal`, the request may have the credential.
#[napi(catch_unwind)]
pub fn answer_credential_use(question: f64, refusal: Option<String>) {
    let answer = call::lock(&OPEN).remove(&question.cross());
    if let Some(answer) = answer {
        answer.give(refusal);
    }
}
