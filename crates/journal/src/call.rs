//! A call as it is recorded: before it, after it, and when it is read back.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// One task of one run: what is tried again when an attempt fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskId {
    /// The run.
    pub run_id: String,
    /// The task within the run.
    pub node_id: String,
    /// The iteration, for a task in a loop.
    pub iteration: i64,
}

/// What is known of a call before it begins.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub struct Intent {
    /// The task that makes the call.
    pub task: TaskId,
    /// The attempt of the task, from 1.
    pub attempt: i64,
    /// The number of the call within the attempt.
    pub seq: i64,
    /// The tool.
    pub tool_name: String,
    /// The arguments, without what must not be recorded: see [`redact_secrets`](crate::redact_secrets).
    pub input_json: Option<String>,
    /// When it begins, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Whether the tool changes anything outside.
    pub side_effect: bool,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Whether an idempotency key protects the call, as far as its tool declares it.
    pub accepts_idempotency_key: bool,
    /// Whether the tool can undo what it did.
    pub has_revert: bool,
    /// The key the tool was given.
    pub idempotency_key: Option<String>,
    /// An identity of the call from outside, such as the model's tool call id. The column is unique, so a
    /// token that another row has is stored with the call's place appended.
    pub call_token: Option<String>,
    /// See [`args_hash`](crate::keys::args_hash).
    pub args_hash: Option<String>,
    /// See [`Ordinals`](crate::Ordinals).
    pub ordinal: Option<i64>,
}

/// How a call ended, with its output or error as JSON. A row keeps it up to the journal's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded with this output.
    Success(Option<String>),
    /// It failed with this error, and may have done a part of its work.
    Error(Option<String>),
    /// It was refused with this error before it did anything, so a retry needs no warning.
    Rejected(Option<String>),
    /// The outcome is unknown: the call was aborted, or its result never came.
    Unknown(Option<String>),
}

impl Outcome {
    /// The outcome with this status: `success`, `error`, or else unknown. An error without an effect is a
    /// rejection.
    #[must_use]
    pub fn of(
        status: &str,
        has_acted: bool,
        output_json: Option<String>,
        error_json: Option<String>,
    ) -> Self {
        match (status, has_acted) {
            ("success", _) => Self::Success(output_json),
            ("error", false) => Self::Rejected(error_json),
            ("error", true) => Self::Error(error_json),
            _ => Self::Unknown(error_json),
        }
    }
}

/// How a call ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// How.
    pub outcome: Outcome,
    /// When, in milliseconds since 1970.
    pub finished_at_ms: i64,
    /// Whether to ignore the journal's limit, for outputs that have a limit of their own.
    pub whole: bool,
    /// What the call has made known of files, as JSON.
    pub seen: Option<String>,
    /// Whether the call has read its idempotency key.
    pub key_read: bool,
}

/// A row that was written, to be completed later.
///
/// The number of a row alone does not identify it: `SQLite` reuses the numbers of removed rows. So it is
/// joined by attempt, sequence number and start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallRef {
    /// The row's number.
    pub row: i64,
    /// As in the [`Intent`].
    pub attempt: i64,
    /// As in the [`Intent`].
    pub seq: i64,
    /// As in the [`Intent`].
    pub started_at_ms: i64,
}

/// The status of a call, whichever program wrote the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// `started`, or `intended` in rows of smithers-orchestrator.
    Started,
    /// `success`, or `succeeded` in rows of smithers-orchestrator.
    Success,
    /// `error`.
    Error,
    /// `unknown`, and any other word.
    Unknown,
}

impl Status {
    pub(crate) fn of(text: &str) -> Self {
        match text {
            "started" | "intended" => Self::Started,
            "success" | "succeeded" => Self::Success,
            "error" => Self::Error,
            _ => Self::Unknown,
        }
    }
}

/// A row of the journal. What an older table has no column for is `None`. As JSON, it is the array of its
/// fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The row's number: rows written later have a higher one.
    pub row: i64,
    /// The task.
    pub task: TaskId,
    /// The attempt of the task.
    pub attempt: i64,
    /// The number of the call within the attempt.
    pub seq: i64,
    /// An identity from outside.
    pub call_token: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub input_json: Option<String>,
    /// The output, perhaps cut.
    pub output_json: Option<String>,
    /// When it began.
    pub started_at_ms: i64,
    /// When it ended, where that is known.
    pub finished_at_ms: Option<i64>,
    /// The status.
    pub status: Status,
    /// The status in the words of the program that wrote it.
    pub status_text: String,
    /// The error.
    pub error_json: Option<String>,
    /// `tool`, or `task` for the row a workflow engine keeps for a whole task.
    pub kind: Option<String>,
    /// Whether the tool changes anything outside.
    pub side_effect: Option<bool>,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: Option<bool>,
    /// Whether an idempotency key protects the call: its tool declares it, or the call has read its key.
    pub accepts_idempotency_key: Option<bool>,
    /// Whether the tool can undo what it did.
    pub has_revert: Option<bool>,
    /// The key the tool was given.
    pub idempotency_key: Option<String>,
    /// `reverting`, `reverted`, `revert-failed` or `revert-stale`.
    pub revert_status: Option<String>,
    /// When the call was undone.
    pub reverted_at_ms: Option<i64>,
    /// Why the call could not be undone.
    pub revert_error_json: Option<String>,
    /// What smithers-orchestrator notes when it passes over an effect.
    pub forced_past_json: Option<String>,
    /// The hash of the arguments.
    pub args_hash: Option<String>,
    /// Its number among the attempt's calls with these arguments.
    pub ordinal: Option<i64>,
    /// The length of the output before it was cut.
    pub output_bytes: Option<i64>,
    /// False for a call that was refused before it did anything.
    pub acted: bool,
    /// Whether the output in the row is the beginning of a longer one.
    pub is_cut: bool,
    /// What the call has made known of files, as JSON.
    pub seen: Option<String>,
}

/// Serializes a call as an array of these fields. Names would more than double the text.
macro_rules! serialize_fields {
    ($($($field:ident).+),+ $(,)?) => {
        impl Serialize for Call {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut fields = serializer.serialize_seq(None)?;
                $(fields.serialize_element(&self.$($field).+)?;)+
                fields.end()
            }
        }
    };
}

// `ts/journal/call-row.ts` names them in this order.
serialize_fields! {
    row, task.run_id, task.node_id, task.iteration, attempt, seq, call_token, tool_name, input_json,
    output_json, started_at_ms, finished_at_ms, status, status_text, error_json, kind, side_effect,
    idempotent, accepts_idempotency_key, has_revert, idempotency_key, revert_status, reverted_at_ms,
    revert_error_json, forced_past_json, args_hash, ordinal, output_bytes, acted, is_cut, seen,
}

impl Call {
    /// The number of bytes in its texts.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [
            &self.input_json,
            &self.output_json,
            &self.error_json,
            &self.forced_past_json,
            &self.seen,
        ];
        texts.into_iter().flatten().map(String::len).sum()
    }
}
