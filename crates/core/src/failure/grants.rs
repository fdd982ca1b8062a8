//! Grants for one command that are refused before anybody is asked.

use super::Failure;
use crate::code::Code;
use crate::command::grant::{GrantKind, GrantProblem};
use crate::voice::grants as voice;

pub(crate) fn refused(kind: GrantKind, wanted: &str, problem: GrantProblem) -> Failure {
    let summary = "The grant was refused";
    let kind = kind.word();
    let place = format!("{summary}: {kind} `{}` {}", wanted.escape_debug(), voice::reason(problem));
    Failure::new(Code::GrantRefused, summary, place)
        .with_hint(voice::next_move(problem))
        .with("grant", kind)
        .with("subject", wanted)
}
