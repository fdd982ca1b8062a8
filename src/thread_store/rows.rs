//! Rows as JSON, under the names of `ts/standard-agents/store`.

use serde_json::{Value, json};
use toolwright_threads::{AttachmentRef, Call, Message, Thread};

pub(crate) fn thread(thread: &Thread) -> Value {
    json!({
        "threadId": thread.thread_id,
        "flowId": thread.flow_id,
        "createdAtMs": thread.created_at_ms,
    })
}

pub(crate) fn message(message: &Message) -> Value {
    json!({
        "id": message.id,
        "seq": message.seq,
        "role": message.role,
        "bodyJson": message.body_json,
        "callId": message.call_id,
        "createdAtMs": message.created_at_ms,
    })
}

pub(crate) fn call(call: &Call) -> Value {
    json!({
        "id": call.id,
        "seq": call.seq,
        "name": call.name,
        "argumentsJson": call.arguments_json,
        "queue": call.queue,
        "forceAllow": call.force_allow,
        "parentCallId": call.parent_call_id,
        "infoJson": call.info_json,
        "status": call.status,
        "attempts": call.attempts,
        "resultJson": call.result_json,
        "queuedAtUs": call.queued_at_us,
        "startedAtMs": call.started_at_ms,
        "finishedAtMs": call.finished_at_ms,
    })
}

/// Width and height are left out where they are not known.
pub(crate) fn attachment(found: &AttachmentRef) -> Value {
    let mut row = json!({
        "id": found.id,
        "type": "file",
        "path": found.path,
        "name": found.name,
        "mimeType": found.mime_type,
        "size": found.size,
    });
    for (name, pixels) in [("width", found.width), ("height", found.height)] {
        if let Some(pixels) = pixels {
            row[name] = pixels.into();
        }
    }
    row
}
