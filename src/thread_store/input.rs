//! What JavaScript gives, made what the crate takes.

use napi_derive::napi;
use toolwright_thread_store::{CallEnd, Changes, EndStatus, NewCall, NewMessage, Part, Status};

use crate::options;

/// Which part of a list.
#[napi(object)]
pub struct ListedPart {
    /// Only what comes after this number, in the order of the list.
    pub after: Option<i64>,
    /// The most to give.
    pub limit: Option<f64>,
    /// The highest number first.
    pub reverse: bool,
}

impl From<ListedPart> for Part {
    fn from(ListedPart { after, limit, reverse }: ListedPart) -> Self {
        Self { after, limit: limit.map(self::limit), reverse }
    }
}

/// The end of a call.
#[napi(object)]
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
        let ThreadCommit { finish, attachments, messages, enqueue } = commit;
        let messages = messages.into_iter().map(NewMessage::from).collect();
        let enqueue = enqueue.into_iter().map(NewCall::from).collect();
        Self { finish: finish.map(CallEnd::from), attachments, messages, enqueue }
    }
}

impl From<ThreadCallEnd> for CallEnd {
    fn from(ThreadCallEnd { call_id, status, result_json }: ThreadCallEnd) -> Self {
        let status = match status.as_str() {
            "success" => EndStatus::Success,
            "cancelled" => EndStatus::Cancelled,
            _ => EndStatus::Error,
        };
        Self { call_id, status, result_json }
    }
}

impl From<NewThreadMessage> for NewMessage {
    fn from(NewThreadMessage { id, role, body_json, call_id }: NewThreadMessage) -> Self {
        Self { id, role, body_json, call_id }
    }
}

impl From<NewThreadCall> for NewCall {
    fn from(call: NewThreadCall) -> Self {
        let NewThreadCall { id, name, arguments_json, queue, force_allow, .. } = call;
        let (parent_call_id, info_json) = (call.parent_call_id, call.info_json);
        Self { id, name, arguments_json, queue, force_allow, parent_call_id, info_json }
    }
}

/// A status by its word.
pub(crate) fn status(word: &str) -> Option<Status> {
    use Status::{Cancelled, Error, Queued, Running, Success};
    [Queued, Running, Success, Error, Cancelled].into_iter().find(|status| status.word() == word)
}

/// How many rows to give.
pub(crate) fn limit(number: f64) -> u32 {
    u32::try_from(options::bytes(number)).unwrap_or(u32::MAX)
}
