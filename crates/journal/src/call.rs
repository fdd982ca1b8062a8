//! A call as it is recorded: what is known before it, after it, and when it is read back.

/// One task of one run: what is tried again when an attempt fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// The arguments as they are to be kept: see [`masked`](crate::masked).
    pub input_json: Option<String>,
    /// When it begins, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Whether the tool changes anything outside.
    pub side_effect: bool,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Whether the tool was given an idempotency key to use.
    pub accepts_idempotency_key: bool,
    /// Whether the tool can undo what it did.
    pub has_revert: bool,
    /// The key the tool was given.
    pub idempotency_key: Option<String>,
    /// An identity of the call from outside, such as the model's tool call id. A token that another
    /// row has already is stored with the call's place appended, since the column is unique.
    pub call_token: Option<String>,
    /// See [`args_hash`](crate::keys::args_hash).
    pub args_hash: Option<String>,
    /// See [`Ordinals`](crate::Ordinals).
    pub ordinal: Option<i64>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it should, and gave this output.
    Success {
        /// The output as JSON, cut to the journal's limit.
        output_json: Option<String>,
    },
    /// It failed, and may have done a part.
    Error {
        /// The error as JSON, cut to the journal's limit.
        error_json: Option<String>,
    },
    /// It was refused before it did anything: no effect that a retry has to be warned of.
    Rejected {
        /// The error as JSON, cut to the journal's limit.
        error_json: Option<String>,
    },
    /// Nobody knows: it was aborted, or its result never came.
    Unknown {
        /// The error as JSON, cut to the journal's limit.
        error_json: Option<String>,
    },
}

/// How a call ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// How.
    pub outcome: Outcome,
    /// When, in milliseconds since 1970.
    pub finished_at_ms: i64,
    /// Kept whole, whatever the journal's limit is: for outputs that have a limit of their own.
    pub whole: bool,
}

/// A row that was written, to be completed later.
///
/// Attempt, sequence number and start are kept beside the row's number because `SQLite` gives the
/// number of a removed row to a later one.
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

/// The states of a call, whichever program wrote the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// `started`, or `intended` in rows of smithers-orchestrator.
    Started,
    /// `success`, or `succeeded` in rows of smithers-orchestrator.
    Success,
    /// `error`.
    Error,
    /// `unknown`, and any word not known here.
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

/// A row of the journal. What an older table has no column for is `None`.
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
    /// The state.
    pub status: Status,
    /// The state in the words of the program that wrote it.
    pub status_text: String,
    /// The error.
    pub error_json: Option<String>,
    /// `tool`, or `task` for the row a workflow engine keeps for a whole task.
    pub kind: Option<String>,
    /// Whether the tool changes anything outside.
    pub side_effect: Option<bool>,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: Option<bool>,
    /// Whether the tool was given an idempotency key to use.
    pub accepts_idempotency_key: Option<bool>,
    /// Whether the tool can undo what it did.
    pub has_revert: Option<bool>,
    /// The key the tool was given.
    pub idempotency_key: Option<String>,
    /// `reverting`, `reverted`, `revert-failed` or `revert-stale`.
    pub revert_status: Option<String>,
    /// When it was undone.
    pub reverted_at_ms: Option<i64>,
    /// Why it could not be undone.
    pub revert_error_json: Option<String>,
    /// What smithers-orchestrator notes when it passes over an effect.
    pub forced_past_json: Option<String>,
    /// The hash of the arguments.
    pub args_hash: Option<String>,
    /// Which of the attempt's calls with these arguments it is.
    pub ordinal: Option<i64>,
    /// How long the output was before it was cut.
    pub output_bytes: Option<i64>,
    /// False for a call that was refused before it did anything.
    pub acted: bool,
    pub(crate) is_cut: bool,
}

impl Call {
    /// How long the call took, where that is known. Never negative, though clocks are set back.
    #[must_use]
    pub fn duration_ms(&self) -> Option<i64> {
        self.finished_at_ms.map(|end| end.saturating_sub(self.started_at_ms).max(0))
    }

    /// Whether the output in the row is the beginning of a longer one.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many bytes of text it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = [&self.input_json, &self.output_json, &self.error_json, &self.forced_past_json];
        texts.into_iter().flatten().map(String::len).sum()
    }

    /// What completes this row.
    #[must_use]
    pub fn reference(&self) -> CallRef {
        CallRef {
            row: self.row,
            attempt: self.attempt,
            seq: self.seq,
            started_at_ms: self.started_at_ms,
        }
    }
}
