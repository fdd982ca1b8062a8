//! Rows as text: one JSON text is taken by a JavaScript engine several times faster than objects.

use serde_json::{Value, json};
use toolwright_journal::{Call, Status};

/// The rows of one text: it is parsed in a few milliseconds.
const AT_ONCE: usize = 1000;
/// The same, of its bytes.
const BYTES: usize = 2 << 20;

/// Arrays of rows, each an array of the row's fields in the order of `ts/journal/native-rows.ts`.
pub(crate) fn texts(calls: &[Call]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = calls;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |call: &&Call| {
            let first = bytes == 0;
            bytes += call.bytes() + 1;
            first || bytes <= BYTES
        };
        let count = rest.iter().take(AT_ONCE).take_while(fits).count();
        let (some, more) = rest.split_at(count);
        texts.push(Value::Array(some.iter().map(fields).collect()).to_string());
        rest = more;
    }
    texts
}

fn fields(call: &Call) -> Value {
    json!([
        call.row,
        call.task.run_id,
        call.task.node_id,
        call.task.iteration,
        call.attempt,
        call.seq,
        call.call_token,
        call.tool_name,
        call.input_json,
        call.output_json,
        call.started_at_ms,
        call.finished_at_ms,
        status(call.status),
        call.status_text,
        call.error_json,
        call.kind,
        call.side_effect,
        call.idempotent,
        call.accepts_idempotency_key,
        call.has_revert,
        call.idempotency_key,
        call.revert_status,
        call.reverted_at_ms,
        call.revert_error_json,
        call.forced_past_json,
        call.args_hash,
        call.ordinal,
        call.output_bytes,
        call.is_cut(),
        call.acted,
    ])
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Started => "started",
        Status::Success => "success",
        Status::Error => "error",
        Status::Unknown => "unknown",
    }
}
