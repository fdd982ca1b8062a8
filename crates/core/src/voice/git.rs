//! What of git's configuration stayed in the sandbox, and what a command left for git to obey.

mod forks;

use std::path::Path;

use toolwright_exec::{GitProblem, GitReport};
use toolwright_names::printable_path;

/// How many files are named.
const MAX_FILES: usize = 20;
/// How many settings are named.
const MAX_NAMES: usize = 10;
/// No name that is shown is longer.
const MAX_NAME: usize = 80;

/// A sentence for each reason, for a model.
pub(crate) fn notes(reports: &[GitReport]) -> Vec<String> {
    let mut notes: Vec<String> = reports.iter().take(MAX_FILES).flat_map(of_file).collect();
    if reports.len() > MAX_FILES {
        notes.push(format!("The same goes for {} more files of git.", reports.len() - MAX_FILES));
    }
    notes
}

/// A directory as it is shown. The root itself has no path.
fn directory(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { plain(&path.to_string_lossy()) }
}

/// A command may have chosen any name.
fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_control() || it == '`' { '?' } else { it }).collect()
}

fn of_file(report: &GitReport) -> Vec<String> {
    let file = printable_path(&report.file);
    let mut notes = Vec::new();
    if let Some(note) = &report.of_fork {
        notes.push(forks::sentence(&report.file, note));
    }
    if let Some(names) = names(&report.refused) {
        notes.push(format!(
            "What git obeys on the host is protected: in `{file}`, {names} held for this command alone, because such settings can run programs or lead elsewhere. Use `git -c` for one command, or have the user make the setting outside of the sandbox."
        ));
    }
    if let Some(names) = names(&report.changed_meanwhile) {
        notes.push(format!(
            "In `{file}`, somebody else has changed {names} meanwhile, and that value stays. Look at it before changing it again."
        ));
    }
    if let Some(names) = names(&report.obeyed) {
        notes.push(format!(
            "`{file}` has new settings that can run programs or lead elsewhere: {names}. They were left as they are, and git obeys them outside of the sandbox. Unset what is not meant, and tell the user of the rest before git is used there."
        ));
    }
    if let Some(names) = names(&report.left) {
        notes.push(format!(
            "In `{}`, these are new or changed, and programs of the user run or obey them outside of the sandbox: {names}. They were left as they are. Undo what is not meant, and tell the user of the rest.",
            directory(&report.file)
        ));
    }
    if let Some(names) = names(&report.disabled) {
        notes.push(format!(
            "In `{}`, {names} got the ending `.disabled`, because programs of the user would run or obey it outside of the sandbox. If it is meant, tell the user to rename it.",
            directory(&report.file)
        ));
    }
    if let Some(GitProblem::InUse) = report.problem {
        notes.push(format!(
            "The new repository `{file}` is seen by commands alone until no process of a command runs. Stop the processes that were kept."
        ));
        return notes;
    }
    if let Some(GitProblem::Unjudged) = report.problem {
        notes.push(format!(
            "`{file}` is new or changed, and what git obeys in it is not known: git would not read it, or it is too long. It was left as it is. Change it by `git config`, or tell the user before git is used there."
        ));
        return notes;
    }
    if let Some(problem) = report.problem {
        let (why, next) = problem_words(problem);
        notes.push(format!("`{file}` was left as it was before the command: {why}. {next}"));
    }
    notes
}

fn problem_words(problem: GitProblem) -> (String, &'static str) {
    match problem {
        GitProblem::Unreadable | GitProblem::Unjudged => (
            "git would not read the new one, or it is too long".to_owned(),
            "Change it by `git config`.",
        ),
        GitProblem::InUse | GitProblem::TooMany => {
            ("too many settings were changed at once".to_owned(), "Change fewer with one command.")
        }
        GitProblem::Locked => (
            "the lock beside it is held".to_owned(),
            "If no other git runs there, remove the `.lock` file and repeat the command.",
        ),
        GitProblem::HasTwin => (
            "it is also known under another name".to_owned(),
            "The user can change it outside of the sandbox.",
        ),
        GitProblem::NotWritten(errno) => (
            std::io::Error::from_raw_os_error(errno).to_string(),
            "The user can change it outside of the sandbox.",
        ),
    }
}

fn names(names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let shown = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{}`", plain(name).chars().take(MAX_NAME).collect::<String>()));
    let shown: Vec<String> = shown.collect();
    Some(match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_next_move() {
        let report = GitReport {
            file: ".git/config".into(),
            refused: vec!["alias.x".into(), "core.`y\n".into()],
            changed_meanwhile: (0..12).map(|number| format!("user.{number}")).collect(),
            obeyed: vec!["core.fsmonitor".into()],
            left: vec!["pre-commit".into()],
            disabled: vec![".vscode".into()],
            problem: Some(GitProblem::Locked),
            ..GitReport::default()
        };
        let notes = notes(&[report, GitReport::default()]);
        assert_eq!(notes.len(), 6);
        assert!(notes[0].contains("`.git/config`, `alias.x`, `core.?y?` held"), "{}", notes[0]);
        assert!(notes[1].contains("`user.9` and 2 more meanwhile"), "{}", notes[1]);
        assert!(notes[2].contains("elsewhere: `core.fsmonitor`. They were left"), "{}", notes[2]);
        assert!(notes[3].contains("sandbox: `pre-commit`. They were left"), "{}", notes[3]);
        assert!(notes[4].contains("`.vscode` got the ending `.disabled`"), "{}", notes[4]);
        assert!(notes[5].contains("remove the `.lock` file"), "{}", notes[5]);
    }

    #[test]
    fn what_was_left_is_not_said_to_be_undone() {
        let report = |file: &str, problem| GitReport {
            file: file.into(),
            left: vec![".husky".into()],
            problem,
            ..GitReport::default()
        };
        let notes = notes(&vec![report("", Some(GitProblem::Unjudged)); MAX_FILES + 2]);
        assert_eq!(notes.len(), 2 * MAX_FILES + 1);
        assert!(notes[0].starts_with("In `.`, these are new"), "{}", notes[0]);
        assert!(notes[1].contains("It was left as it is"), "{}", notes[1]);
        assert!(notes[2 * MAX_FILES].contains("2 more files"), "{}", notes[2 * MAX_FILES]);
    }
}
