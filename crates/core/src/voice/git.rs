//! What of a command's changes to repositories did not come back, and what nobody obeys.

mod forks;

use std::path::Path;

use toolwright_exec::{GitReport, RefusedGit};

/// How many reports are told.
const MAX_REPORTS: usize = 20;
/// How many names are shown.
const MAX_NAMES: usize = 10;
/// No name that is shown is longer.
const MAX_NAME: usize = 80;

/// A sentence for each report, for a model.
pub(crate) fn notes(reports: &[GitReport]) -> Vec<String> {
    let mut notes: Vec<String> = reports.iter().take(MAX_REPORTS).map(sentence).collect();
    if reports.len() > MAX_REPORTS {
        notes
            .push(format!("The same goes for {} more places of git.", reports.len() - MAX_REPORTS));
    }
    notes
}

fn sentence(report: &GitReport) -> String {
    match report {
        GitReport::Repository { path, note } => forks::sentence(path, note),
        GitReport::SetAside { directory, names } => format!(
            "In {}, {} got the ending `.disabled`, because programs of the user would run or obey it outside of the sandbox. If it is meant, tell the user to rename it.",
            place(directory),
            names_of(names)
        ),
        GitReport::MovedOut { from, to } => format!(
            "The host moved the contents of {} to {}, because the user's programs would run or obey them outside of the sandbox. If they are intended, tell the user to move them back.",
            place(from),
            place(to)
        ),
        GitReport::Left { directory, names, reason } => format!(
            "In {}, programs of the user run or obey {} outside of the sandbox. It could not be renamed ({}). Undo what is not meant, and tell the user of the rest.",
            place(directory),
            names_of(names),
            plain(reason)
        ),
        GitReport::Refused(RefusedGit::Link(path)) => format!(
            "{} was not written: git on the user's side would follow it while the command runs. Use a clone below the root in place of a linked work tree or submodule, or have the user make it outside of the sandbox.",
            place(path)
        ),
        GitReport::Refused(RefusedGit::Form(path)) => format!(
            "{} was not made: with it, git on the user's side would take its directory for a repository while the command runs. Make a bare repository in the directory for temporary files, one with a work tree by `git init` or `git clone`, or choose another name.",
            place(path)
        ),
        GitReport::Unsettled => "Only commands see the git directories that this command made, until every process has ended. Stop the running processes to make them visible to the user.".to_owned(),
        GitReport::Killed => "A program that ran commands here was killed before it had looked at what they left. It was looked at now, and the notes after this one name what was new. The user may have made it since: tell the user.".to_owned(),
        GitReport::KilledUnknown => "A program that ran commands here was killed before it had looked at what they left, and its record of what was there before cannot be read. So nothing was renamed. Tell the user to look at `.git` files, bare repositories and settings of editors that are new.".to_owned(),
        GitReport::ReadOnly { path, reason } => format!(
            "Commands can read {} and not write to it, because it got no fork ({}). Run the command in a directory with fewer repositories below it, or tell the user to raise the limit of open files (`ulimit -n`).",
            place(path),
            plain(reason)
        ),
        GitReport::Hooks { directory, names } => format!(
            "In {}, the changes to {} are seen by commands alone, because git runs hooks outside of the sandbox. Have the user make them there.",
            place(directory),
            names_of(names)
        ),
    }
}

/// A directory as it is shown. The root itself has no path.
fn place(path: &Path) -> String {
    if path.as_os_str().is_empty() { "`.`".to_owned() } else { shown(&path.to_string_lossy()) }
}

fn names_of(names: &[String]) -> String {
    listed(names.iter(), names.len())
}

fn listed<N: AsRef<str>>(names: impl Iterator<Item = N>, count: usize) -> String {
    let names: Vec<String> = names.take(MAX_NAMES).map(|name| shown(name.as_ref())).collect();
    match count - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn shown(name: &str) -> String {
    format!("`{}`", plain(name))
}

/// Without what could end the quotes of a name, or move the cursor of a terminal.
fn plain(text: &str) -> String {
    let plain = text.chars().map(|it| if it.is_control() || it == '`' { '?' } else { it });
    plain.take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_has_its_next_move() {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let reports = [
            GitReport::SetAside { directory: "".into(), names: names(&[".vscode"]) },
            GitReport::Left {
                directory: "sub".into(),
                names: names(&[".git"]),
                reason: "Permission denied".to_owned(),
            },
            GitReport::Hooks { directory: ".husky".into(), names: names(&["pre-`commit\n", "x"]) },
            GitReport::Refused(RefusedGit::Link("tree/`.git".into())),
            GitReport::Refused(RefusedGit::Form("bare/HEAD".into())),
            GitReport::Killed,
            GitReport::KilledUnknown,
            GitReport::ReadOnly {
                path: "many/one/.git".into(),
                reason: "Too many open files".to_owned(),
            },
            GitReport::MovedOut { from: "sub/.git".into(), to: "sub/.git.disabled".into() },
        ];
        let notes = notes(&reports);
        assert!(notes[0].starts_with("In `.`, `.vscode` got the ending"), "{}", notes[0]);
        assert!(notes[1].contains("renamed (Permission denied)"), "{}", notes[1]);
        assert!(
            notes[2].contains("In `.husky`, the changes to `pre-?commit?`, `x`"),
            "{}",
            notes[2]
        );
        assert!(notes[3].starts_with("`tree/?.git` was not written: "), "{}", notes[3]);
        assert!(notes[3].contains("Use a clone"), "{}", notes[3]);
        assert!(notes[4].starts_with("`bare/HEAD` was not made: "), "{}", notes[4]);
        assert!(notes[4].contains("temporary files"), "{}", notes[4]);
        assert!(notes[5].ends_with("tell the user."), "{}", notes[5]);
        assert!(notes[6].contains("nothing was renamed. Tell the user"), "{}", notes[6]);
        assert!(notes[7].starts_with("Commands can read `many/one/.git`"), "{}", notes[7]);
        assert!(notes[7].contains("(Too many open files). Run the command in"), "{}", notes[7]);
        assert!(
            notes[8].starts_with(
                "The host moved the contents of `sub/.git` to `sub/.git.disabled`, because"
            ),
            "{}",
            notes[8]
        );
        let report = GitReport::SetAside { directory: "d".into(), names: names(&["x"]) };
        let many = super::notes(&vec![report; MAX_REPORTS + 2]);
        assert_eq!(many.len(), MAX_REPORTS + 1);
        assert!(many[MAX_REPORTS].contains("2 more places"), "{}", many[MAX_REPORTS]);
    }
}
