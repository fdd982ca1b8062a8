//! What JavaScript gives, made what the crate takes.

use napi_derive::napi;
use toolwright_thread_store::{CallEnd, Changes, EndStatus, NewCall, NewMessage, Part};

use crate::cross::{Cross, cross};

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

cross! {
    ListedPart => Part { after, limit, reverse }
    ThreadCommit => Changes { finish, attachments, messages, enqueue }
    NewThreadMessage => NewMessage { id, role, body_json, call_id }
    NewThreadCall => NewCall {
        id, name, arguments_json, queue, force_allow, parent_call_id, info_json,
    }
}

impl Cross<CallEnd> for ThreadCallEnd {
    fn cross(self) -> CallEnd {
        let Self { call_id, status, result_json } = self;
        CallEnd { call_id, status: EndStatus::of_word(&status), result_json }
    }
}
