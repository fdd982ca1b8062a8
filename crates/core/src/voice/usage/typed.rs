//! What is around a command where a person reads it, and belongs to none: the fence of a code block, a prompt, `sudo`.

use toolwright_exec::Exit;

use super::line_of;
use crate::command::end::End;
use crate::denials::Ended;

/// How shells end after a program that is not there.
const NO_PROGRAM: i32 = 127;

/// What to send in place of such a line.
pub(super) fn note(ended: &Ended<'_>) -> Option<String> {
    let line = line_of(ended)?;
    if line.starts_with("```") {
        return Some(
            "The command line is in the fence of a code block, which a shell runs as a command: send it without the fence."
                .to_owned(),
        );
    }
    if *ended.end != End::Exited(Exit::Code(NO_PROGRAM)) {
        return None;
    }
    let (first, rest) = line.split_once(char::is_whitespace)?;
    match first {
        "$" | "%" | ">" => Some(format!(
            "The command line begins with the prompt `{first}`: send `{}`.",
            shown(rest)
        )),
        "sudo" | "doas" => Some(format!(
            "`{first}` is not installed, and would give no more rights here: run `{}` without it.",
            shown(rest)
        )),
        _ => None,
    }
}

fn shown(rest: &str) -> String {
    rest.trim_start().lines().next().unwrap_or_default().chars().take(80).collect()
}
