//! Which programs a command line can have called, wherever they stand in it.

use toolwright_policy::shell::parse;

use crate::denials::Ended;

/// The words of each call, the name of the program without its directory first.
pub(in crate::voice) fn of(ended: &Ended<'_>) -> Vec<Vec<String>> {
    let (program, arguments) = ended.command;
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let words: Vec<String> =
        [program].into_iter().chain(arguments.iter().map(String::as_str)).map(quoted).collect();
    parse(&words.join(" "), None)
        .commands
        .into_iter()
        .map(|command| {
            let mut words = command.argv.unwrap_or_else(|| {
                command.text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            });
            if let Some(name) = words.first_mut() {
                *name = name.rsplit('/').next().unwrap_or_default().to_owned();
            }
            words
        })
        .collect()
}
