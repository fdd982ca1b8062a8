//! Questions about hosts that a command may reach only if the host program agrees.

use std::sync::Arc;

use napi_derive::napi;
use toolwright_exec::{HostAnswer, HostQuestions};

use crate::cross::{Cross, float};
use crate::questions::{Asker, QuestionFunction, Questions};

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

/// The questions of all environments that have no answer yet.
static OPEN: Questions<HostAnswer> = Questions::new();

impl HostQuestions for Asker<HostQuestion> {
    fn ask(&self, question: u64, host: &str, port: u16, answer: HostAnswer) {
        let sent = HostQuestion { question: float(question), host: Some(host.to_owned()), port };
        Asker::ask(self, &OPEN, question, sent, answer);
    }

    fn give_up(&self, question: u64) {
        drop(OPEN.take(question));
        self.send(HostQuestion { question: float(question), host: None, port: 0 });
    }
}

impl Cross<Arc<dyn HostQuestions>> for QuestionFunction<HostQuestion> {
    fn cross(self) -> Arc<dyn HostQuestions> {
        Arc::new(Asker(self))
    }
}

/// Answers a question about a host; without `agrees`, that nobody has answered. A question that nobody waits
/// for any more is passed over.
#[napi(catch_unwind)]
pub fn answer_host_question(question: f64, agrees: Option<bool>) {
    match (OPEN.take(question.cross()), agrees) {
        (Some(answer), Some(agrees)) => answer.give(agrees),
        (answer, _) => drop(answer),
    }
}
