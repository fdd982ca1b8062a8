//! What a command line explains by itself: habits of a terminal that come to nothing in a call, and variables and files
//! that a command does not see.
//!
//! A note is made from the words of the command line, which the parser of the guard has read, and from how it ended.
//! What the command has printed decides nothing, except that a question without an answer shows in nothing else.

mod closed;
mod endless;
mod ends;
mod input;
mod question;
mod state;
mod typed;

pub(super) use ends::is_tool;
pub(super) use state::is_assignment;
use toolwright_exec::Exit;

use crate::command::end::End;
use crate::denials::Ended;

/// The words of one call of a program, its name without a directory first.
type Call = Vec<String>;

const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// What a model should know of a command beside its end.
pub(crate) fn notes(ended: &Ended<'_>) -> Vec<String> {
    let mut notes: Vec<String> = closed::notes(ended);
    if *ended.end == End::Exited(Exit::Code(0)) && ended.printed.iter().all(|text| text.is_empty())
    {
        let calls = calls(ended);
        let state = if ended.keeps_state { None } else { state::note(&calls) };
        notes.extend(state.or_else(|| input::note(ended, &calls)));
    }
    notes.extend(question::note(ended));
    notes
}

/// Why a command has failed, or did not come to its end.
pub(crate) fn explain(ended: &Ended<'_>) -> Option<String> {
    match ended.end {
        End::Exited(Exit::Code(0) | Exit::Signal { .. }) => None,
        End::Exited(Exit::Code(_)) => typed::note(ended)
            .or_else(|| input::script(ended))
            .or_else(|| ends::note(ended, &calls(ended))),
        End::TimedOut => endless::note(ended, &calls(ended)),
    }
}

/// The calls of a command line. A shell that gets a line is none.
fn calls(ended: &Ended<'_>) -> Vec<Call> {
    let mut calls = super::refusals::calls_of(ended);
    calls.retain(|call| {
        let is_shell = call.first().is_some_and(|name| SHELLS.contains(&name.as_str()));
        let has_line = || call.iter().any(|word| word.starts_with('-') && word.ends_with('c'));
        !(is_shell && has_line())
    });
    calls
}

/// The line that a shell has got.
fn line_of<'a>(ended: &Ended<'a>) -> Option<&'a str> {
    let (program, arguments) = ended.command;
    let is_shell = SHELLS.contains(&program.rsplit('/').next()?);
    let [.., option, line] = arguments else { return None };
    (is_shell && option.starts_with('-') && option.ends_with('c')).then(|| line.trim_start())
}

fn words(call: &[String]) -> Vec<&str> {
    call.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests;
