//! Questions about hosts that a command may reach only if the host program agrees.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use toolwright_exec::{HostAnswer, HostQuestions};

use crate::call;
use crate::cross::{Cross, float};

/// A question, or the end of one.
#[napi(object, object_from_js = false)]
pub struct HostQuestion {
    /// Its number, for the answer.
    pub question: f64,
    /// The host. Without one, nobody waits for the answer any more.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
}

/// What JavaScript is asked by. It does not keep the environment alive.
pub(crate) type QuestionFunction =
    ThreadsafeFunction<HostQuestion, (), HostQuestion, Status, false, true>;

/// The questions of all environments that have no answer yet.
static OPEN: LazyLock<Mutex<HashMap<u64, HostAnswer>>> = LazyLock::new(Mutex::default);

struct Questions(QuestionFunction);

impl fmt::Debug for Questions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Questions")
    }
}

impl Questions {
    fn send(&self, question: HostQuestion) -> bool {
        self.0.call(question, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok
    }
}

impl HostQuestions for Questions {
    fn ask(&self, question: u64, host: &str, port: u16, answer: HostAnswer) {
        call::lock(&OPEN).insert(question, answer);
        let sent = HostQuestion { question: float(question), host: Some(host.to_owned()), port };
        if !self.send(sent) {
            // The environment is gone. The lock is free when the answer is dropped, which refuses the host.
            let answer = call::lock(&OPEN).remove(&question);
            drop(answer);
        }
    }

    fn give_up(&self, question: u64) {
        let answer = call::lock(&OPEN).remove(&question);
        drop(answer);
        self.send(HostQuestion { question: float(question), host: None, port: 0 });
    }
}

impl Cross<Arc<dyn HostQuestions>> for QuestionFunction {
    fn cross(self) -> Arc<dyn HostQuestions> {
        Arc::new(Questions(self))
    }
}

/// Answers a question about a host; without `agrees`, that nobody has answered. A question that nobody waits
/// for any more is passed over.
#[napi(catch_unwind)]
pub fn answer_host_question(question: f64, agrees: Option<bool>) {
    let answer = call::lock(&OPEN).remove(&question.cross());
    match (answer, agrees) {
        (Some(answer), Some(agrees)) => answer.give(agrees),
        (answer, _) => drop(answer),
    }
}
