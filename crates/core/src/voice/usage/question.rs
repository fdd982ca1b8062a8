//! A program that asked, and got no answer.
//!
//! Nothing but its words shows that: a read of an empty input leaves no trace in the kernel. So this is said only of
//! a last line that is not ended and has the form of a question, and as what it seems.

use toolwright_exec::Exit;

use crate::command::end::End;
use crate::denials::Ended;

/// No longer line is a question.
const MAX_LENGTH: usize = 200;
/// How such a line ends. A text that ends like this without a blank may be anything.
const MARKS: [&str; 5] = ["? ", ": ", "> ", "] ", ") "];

/// What to do in place of waiting for an answer.
pub(super) fn note(ended: &Ended<'_>) -> Option<String> {
    let End::Exited(Exit::Code(_)) = *ended.end else { return None };
    let (_, arguments) = ended.command;
    if arguments.iter().any(|word| word.contains(['<', '|'])) {
        return None;
    }
    let line = ended.printed.iter().find_map(|text| question(text))?;
    let other = if ended.starts_processes {
        "start it with process_start and type with process_write"
    } else {
        "give them by a pipe or a file (`<`)"
    };
    let shown: String = line.chars().filter(|letter| !letter.is_control()).collect();
    Some(format!(
        "It seems to have asked (`{}`), and its input is empty: give the answers by options, or {other}.",
        shown.trim().replace('`', "'")
    ))
}

/// The last line of a text, if it has the form of a question.
fn question(text: &str) -> Option<&str> {
    let line = text.rsplit('\n').next().filter(|line| line.len() <= MAX_LENGTH)?;
    let has_words = line.trim().len() > 1;
    // "Cannot connect to the server. Is it running?" asks nobody to type.
    let is_single = || ![". ", "! ", ": "].iter().any(|end| line.contains(end));
    let asks = MARKS.iter().any(|mark| line.ends_with(mark)) || line.ends_with('?') && is_single();
    (has_words && asks).then_some(line)
}
