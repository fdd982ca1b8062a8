//! What belongs together, in one transaction.

use crate::names::check_path;
use crate::{
    Call, CallEnd, Message, NewCall, NewMessage, Store, ThreadError, calls, files, messages,
    threads,
};

/// What is committed at once: all of it or nothing.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The end of a call that runs.
    pub finish: Option<CallEnd>,
    /// Paths of attachments that are staged.
    pub attachments: Vec<String>,
    /// Messages, appended in this order.
    pub messages: Vec<NewMessage>,
    /// Calls, queued in this order.
    pub enqueue: Vec<NewCall>,
}

/// What a commit wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The messages with their numbers.
    pub messages: Vec<Message>,
    /// The calls that were queued.
    pub calls: Vec<Call>,
}

impl Store {
    /// Writes everything that belongs together. When this returns it has survived the end of the
    /// process, and when it fails nothing of it is there.
    pub fn commit(&self, thread_id: &str, changes: &Changes) -> Result<Committed, ThreadError> {
        for message in &changes.messages {
            self.check_message(message)?;
        }
        for call in &changes.enqueue {
            self.check_call(call)?;
        }
        for path in &changes.attachments {
            check_path(path)?;
        }
        if let Some(end) = &changes.finish {
            self.check_text("result", &end.result_json)?;
        }
        self.write("committing", |connection| {
            let thread = threads::number(connection, thread_id)?;
            if let Some(end) = &changes.finish {
                calls::finish(connection, (thread_id, thread), end)?;
            }
            for path in &changes.attachments {
                files::commit(connection, thread, path)?;
            }
            let mut committed = Committed::default();
            for message in &changes.messages {
                committed.messages.push(messages::append(connection, thread, message)?);
            }
            for call in &changes.enqueue {
                committed.calls.push(calls::enqueue(connection, thread, call)?);
            }
            Ok(committed)
        })
    }
}
