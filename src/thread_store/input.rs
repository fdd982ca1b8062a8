//! What JavaScript gives, made what the crate takes.

use napi_derive::napi;
use toolwright_thread_store::{CallEnd, Changes, EndStatus, NewCall, NewMessage, Part, Status};

use crate::options;

/// Which part of a list.
#[napi(object)]
#[derive(Debug)]
pub struct ListedPart {
    /// Only what comes after this number, in the order of the list.
    pub after: Option<f64>,
    /// The most to give.
    pub limit: Option<f64>,
    /// The highest number first.
    pub reverse: bool,
}

impl From<ListedPart> for Part {
    fn from(part: ListedPart) -> Self {
        Self { after: part.after.map(integer), limit: part.limit.map(limit), reverse: part.reverse }
    }
}

/// The end of a call.
#[napi(object)]
#[derive(Debug)]
pub struct ThreadCallEnd {
    /// Which call.
    pub call_id: String,
    /// `success`, `error` or `cancelled`.
    pub status: String,
    /// Its result.
    pub result_json: String,
}

/// A message to append.
#[napi(object)]
#[derive(Debug)]
pub struct NewThreadMessage {
    /// Unique within its thread.
    pub id: String,
    /// Who speaks.
    pub role: String,
    /// The whole message.
    pub body_json: String,
    /// The call that it is about.
    pub call_id: Option<String>,
}

/// A call to queue.
#[napi(object)]
#[derive(Debug)]
pub struct NewThreadCall {
    /// Unique within its thread.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments_json: String,
    /// Which queue of the thread.
    pub queue: String,
    /// Whether it runs although the prompt does not list the tool.
    pub force_allow: bool,
    /// The call that queued it.
    pub parent_call_id: Option<String>,
    /// What else the host wants to find again.
    pub info_json: Option<String>,
}

/// What is committed at once.
#[napi(object)]
#[derive(Debug)]
pub struct ThreadCommit {
    /// The end of a call that runs.
    pub finish: Option<ThreadCallEnd>,
    /// Paths of attachments that are staged.
    pub attachments: Vec<String>,
    /// Messages to append.
    pub messages: Vec<NewThreadMessage>,
    /// Calls to queue.
    pub enqueue: Vec<NewThreadCall>,
}

impl From<ThreadCommit> for Changes {
    fn from(commit: ThreadCommit) -> Self {
        Self {
            finish: commit.finish.map(|end| CallEnd {
                call_id: end.call_id,
                status: match end.status.as_str() {
                    "success" => EndStatus::Success,
                    "cancelled" => EndStatus::Cancelled,
                    _ => EndStatus::Error,
                },
                result_json: end.result_json,
            }),
            attachments: commit.attachments,
            messages: commit
                .messages
                .into_iter()
                .map(|NewThreadMessage { id, role, body_json, call_id }| NewMessage {
                    id,
                    role,
                    body_json,
                    call_id,
                })
                .collect(),
            enqueue: commit.enqueue.into_iter().map(NewCall::from).collect(),
        }
    }
}

impl From<NewThreadCall> for NewCall {
    fn from(call: NewThreadCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            arguments_json: call.arguments_json,
            queue: call.queue,
            force_allow: call.force_allow,
            parent_call_id: call.parent_call_id,
            info_json: call.info_json,
        }
    }
}

/// A status by its word.
pub(crate) fn status(word: &str) -> Option<Status> {
    use Status::{Cancelled, Error, Queued, Running, Success};
    [Queued, Running, Success, Error, Cancelled].into_iter().find(|status| status.word() == word)
}

/// A number of JavaScript as an integer; a fraction is cut off, and NaN is 0.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, which is what is wanted")]
fn integer(number: f64) -> i64 {
    number as i64
}

/// How many rows to give.
pub(crate) fn limit(number: f64) -> u32 {
    u32::try_from(options::bytes(number)).unwrap_or(u32::MAX)
}
