//! What of git's configuration stayed in the sandbox.

use toolwright_exec::{GitProblem, GitReport};

/// How many settings are named.
const MAX_NAMES: usize = 10;
/// No name that is shown is longer.
const MAX_NAME: usize = 80;

/// A sentence for each reason, for a model.
pub(crate) fn notes(reports: &[GitReport]) -> Vec<String> {
    reports.iter().flat_map(of_file).collect()
}

fn of_file(report: &GitReport) -> Vec<String> {
    let file = report.file.display();
    let mut notes = Vec::new();
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
    if let Some(names) = names(&report.disabled) {
        notes.push(format!(
            "In `{}`, {names} got the ending `.disabled`, because programs of the user would run or obey it outside of the sandbox.{} If it is meant, tell the user to rename it.",
            if file.to_string().is_empty() { ".".to_owned() } else { file.to_string() },
            self::names(&report.put_back)
                .map_or_else(String::new, |names| format!(" {names} is there again as it was before the command."))
        ));
    }
    if let Some(GitProblem::InUse) = report.problem {
        notes.push(format!(
            "The new repository `{file}` is seen by commands alone until no process of a command runs. Stop the processes that were kept."
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
        GitProblem::Unreadable => (
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
    let shown = names.iter().take(MAX_NAMES).map(|name| {
        let plain = name.chars().map(|it| if it.is_control() || it == '`' { '?' } else { it });
        format!("`{}`", plain.take(MAX_NAME).collect::<String>())
    });
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
            disabled: vec!["pre-commit".into()],
            put_back: vec!["pre-commit".into()],
            problem: Some(GitProblem::Locked),
        };
        let notes = notes(&[report, GitReport::default()]);
        assert_eq!(notes.len(), 4);
        assert!(notes[0].contains("`.git/config`, `alias.x`, `core.?y?` held"), "{}", notes[0]);
        assert!(notes[1].contains("`user.9` and 2 more meanwhile"), "{}", notes[1]);
        assert!(notes[2].contains("`pre-commit` got the ending `.disabled`"), "{}", notes[2]);
        assert!(notes[2].contains("`pre-commit` is there again as it was"), "{}", notes[2]);
        assert!(notes[3].contains("remove the `.lock` file"), "{}", notes[3]);
    }
}
