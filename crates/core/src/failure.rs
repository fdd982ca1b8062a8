//! What every operation fails with.

use std::any::Any;
use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::code::Code;

pub mod access;
pub mod changes;
pub mod checkpoints;
pub mod commands;
pub mod files;
#[cfg(target_os = "linux")]
mod forks;
pub(crate) mod grants;
pub mod network_need;
pub(crate) mod searches;
pub mod stores;

/// A failure in the words that its reader gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The public code.
    pub code: Code,
    /// What happened, beginning with the documented words.
    pub summary: String,
    /// The summary with its place, such as "File not found: a.txt" with the path in backticks.
    pub place: String,
    /// The next move; empty where there is none.
    pub hint: Cow<'static, str>,
    /// Facts for programs, by name.
    pub details: Map<String, Value>,
    extra: Option<Box<Extra>>,
}

/// What few failures have.
#[derive(Debug, Clone, Default, PartialEq)]
struct Extra {
    /// The next move for a tool of a session, where the other would lead nowhere.
    session_hint: Option<Cow<'static, str>>,
    output: Option<Output>,
}

/// What was printed or found before the failure. A model sees nothing but the message.
#[derive(Debug, Clone, PartialEq)]
enum Output {
    BeforeHint(String),
    AfterHint(String),
}

impl Failure {
    /// A failure without a next move and without facts.
    #[must_use]
    pub fn new(code: Code, summary: impl Into<String>, place: impl Into<String>) -> Self {
        Self {
            code,
            summary: summary.into(),
            place: place.into(),
            hint: Cow::Borrowed(""),
            details: Map::new(),
            extra: None,
        }
    }

    /// A failure whose summary needs no place.
    #[must_use]
    pub fn without_place(code: Code, summary: impl Into<String>) -> Self {
        let summary = summary.into();
        Self::new(code, summary.clone(), summary)
    }

    /// The same with this next move, at every door.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = hint.into();
        if let Some(extra) = &mut self.extra {
            extra.session_hint = None;
        }
        self
    }

    /// The same with another next move for the tools of a session.
    #[must_use]
    pub fn with_session_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.extra().session_hint = Some(hint.into());
        self
    }

    /// The same in the words for the tools of a session.
    #[must_use]
    pub fn for_session(mut self) -> Self {
        if let Some(hint) = self.extra.as_mut().and_then(|extra| extra.session_hint.take()) {
            self.hint = hint;
        }
        self
    }

    /// The same with what a command printed: it explains the failure, so it precedes the hint.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.extra().output = Some(Output::BeforeHint(output.into()));
        self
    }

    /// The same with what was printed or found until the call was stopped, after the hint.
    #[must_use]
    pub fn with_partial_output(mut self, output: impl Into<String>) -> Self {
        self.extra().output = Some(Output::AfterHint(output.into()));
        self
    }

    fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// The same with one more fact.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// A fork was closed or discarded, or never opened.
    #[must_use]
    pub fn fork_is_closed() -> Self {
        Self::without_place(Code::ForkClosed, "The fork is closed")
            .with_hint(crate::voice::forks::CLOSED)
    }

    /// The whole text for a model: what, where, `[CODE]`, next move.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { place, code, hint, .. } = self;
        let output = self.extra.as_ref().and_then(|extra| extra.output.as_ref());
        let mut message = format!("{place} [{code}]");
        if let Some(Output::BeforeHint(output)) = output {
            message.push(' ');
            message.push_str(output);
            if !hint.is_empty() {
                message.truncate(message.trim_end().len());
                message.push('\n');
                message.push_str(hint);
            }
            return message;
        }
        for part in [Some(&**hint), output.map(Output::text)].into_iter().flatten() {
            if !part.is_empty() {
                message.push(' ');
                message.push_str(part);
            }
        }
        message
    }

    /// A panic in native work: a defect of toolwright, reported without ending the process.
    #[must_use]
    pub fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let summary = format!("Internal error in native code ({message})");
        Self::without_place(Code::InternalError, summary)
            .with_hint("This is a defect of toolwright, not of the call; please report it.")
    }
}

impl Output {
    fn text(&self) -> &str {
        let (Self::BeforeHint(text) | Self::AfterHint(text)) = self;
        text
    }
}

/// Why an operation has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfinished {
    /// The caller cancelled it, and knows why.
    Cancelled,
    /// The caller cancelled a command, which had printed this until then.
    Stopped {
        /// Its output.
        output: String,
    },
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for Unfinished {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Unfinished {
    /// The same with other words for a failure.
    #[must_use]
    pub fn map(self, reword: impl FnOnce(Failure) -> Failure) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(reword(failure)),
            cancelled => cancelled,
        }
    }

    /// The same in the words for the tools of a session.
    #[must_use]
    pub fn for_session(self) -> Self {
        self.map(Failure::for_session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_place_code_and_next_move() {
        let failure = Failure::new(Code::FileNotFound, "File not found", "File not found: `a`");
        assert_eq!(failure.message(), "File not found: `a` [TOOL_FILE_NOT_FOUND]");
        let failure = failure.with_hint("Look elsewhere.").with("path", "a");
        assert_eq!(failure.message(), "File not found: `a` [TOOL_FILE_NOT_FOUND] Look elsewhere.");
        assert_eq!(failure.details["path"], "a");
    }

    #[test]
    fn output_explains_a_failure_or_shows_how_far_it_came() {
        let failure =
            Failure::new(Code::CommandFailed, "Exit", "Exit: `x`").with_output("Output:\nno\n");
        assert_eq!(failure.message(), "Exit: `x` [TOOL_COMMAND_FAILED] Output:\nno\n");
        let failure = failure.with_hint("Do less.");
        assert_eq!(failure.message(), "Exit: `x` [TOOL_COMMAND_FAILED] Output:\nno\nDo less.");
        let failure = failure.with_partial_output("Output until then:\nno\n");
        assert_eq!(
            failure.message(),
            "Exit: `x` [TOOL_COMMAND_FAILED] Do less. Output until then:\nno\n"
        );
    }

    #[test]
    fn a_session_gets_its_own_next_move_where_there_is_one() {
        let failure = Failure::without_place(Code::FileBusy, "Busy").with_hint("Wait.");
        assert_eq!(failure.clone().for_session().hint, "Wait.");
        let failure = failure.with_session_hint("Wait for the other calls.");
        assert_eq!(failure.message(), "Busy [TOOL_FILE_BUSY] Wait.");
        assert_eq!(failure.for_session().hint, "Wait for the other calls.");
    }

    #[test]
    fn a_panic_is_a_defect_with_its_message() {
        let failure = Failure::from_panic(&"index out of bounds");
        assert_eq!(failure.code, Code::InternalError);
        assert_eq!(failure.summary, "Internal error in native code (index out of bounds)");
    }
}
