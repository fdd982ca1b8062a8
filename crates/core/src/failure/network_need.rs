//! Commands that are refused before they run, because they can do nothing without a network.

use std::path::Path;

use super::Failure;
use crate::code::Code;
use crate::command::network_need::{CommandPlace, Need, network_need};
use crate::voice::network_need as voice;

/// The longest words of a command that a message repeats, in characters.
const MAX_TOKEN: usize = 200;

/// Why a program with these arguments is refused while commands have no network. `None`: it runs.
#[must_use]
pub fn refusal(
    program: &str,
    arguments: &[String],
    directory: Option<&Path>,
    path: Option<&str>,
) -> Option<Failure> {
    let need = network_need(program, arguments, CommandPlace { directory, path })?;
    let (code, summary) = match need {
        Need::Remote(_) => (Code::GitRemoteDisabled, voice::GIT),
        _ => (Code::NetworkDisabled, voice::NETWORK),
    };
    let (Need::Machine(words)
    | Need::Packages(words)
    | Need::Program(words, _)
    | Need::Remote(words)) = &need;
    let mut token: String = words.chars().take(MAX_TOKEN).collect();
    if token.len() < words.len() {
        token.push('…');
    }
    let place = format!("{summary}: matched `{token}`");
    Some(Failure::new(code, summary, place).with_hint(voice::hint(&need)).with("token", token))
}
