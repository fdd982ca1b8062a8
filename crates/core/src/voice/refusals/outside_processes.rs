//! Processes of this machine that are none of a command.

use std::path::Path;

use super::is_confined;
use crate::denials::Ended;

/// A process that the command line names by its number, that does not exist for commands and runs outside.
pub(super) fn note(ended: &Ended<'_>) -> Option<String> {
    let says = || {
        ended.ends().any(|text| {
            let text = text.to_lowercase();
            ["no such process", "esrch"].iter().any(|one| text.contains(one))
        })
    };
    if !is_confined(ended) || !says() {
        return None;
    }
    let (_, arguments) = ended.command;
    let words = arguments.iter().flat_map(|text| text.split(|char: char| !char.is_alphanumeric()));
    let number = words
        .filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit()))
        .find(|number| runs_outside(number))?;
    Some(format!(
        "This may be the sandbox: process {number} runs outside, and commands see processes of their own alone. Leave it, and tell the user what should become of it."
    ))
}

/// Whether the host sees a program under this number. Threads of the kernel, which have small ones, are none.
fn runs_outside(number: &str) -> bool {
    Path::new("/proc").join(number).join("exe").read_link().is_ok()
}
