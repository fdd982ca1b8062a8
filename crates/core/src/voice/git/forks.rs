//! What of a command's changes to a repository did not come back, or came back as something else.

use std::path::{Path, PathBuf};

use toolwright_exec::GitNote;

use super::{listed, names_of, plain, shown};

/// A sentence for a model.
pub(super) fn sentence(repository: &Path, note: &GitNote) -> String {
    let repository = shown(&repository.to_string_lossy());
    match note {
        GitNote::ReferenceKept { name, kept: Some(kept) } => format!(
            "Another program changed {} in {repository} while the command ran. The other change was kept. The change of the command is kept as {}: merge or rebase it.",
            shown(name),
            shown(kept)
        ),
        GitNote::ReferenceKept { name, kept: None } => format!(
            "Another program changed {} in {repository} while the command ran. The other change was kept. Look at it before changing it again.",
            shown(name)
        ),
        GitNote::StagedMeanwhile(paths) => format!(
            "Another program staged something else in {repository} while the command ran: {}. The other change was kept. Stage them again if that is intended.",
            paths_of(paths)
        ),
        GitNote::SettingsRefused(names) => format!(
            "In {repository}, {} applied to this command only and not to later ones, because such settings can run programs, lead elsewhere or hide files. Use `git -c` for one command, or have the user make the setting outside of the sandbox.",
            names_of(names)
        ),
        GitNote::SettingsMeanwhile(names) => format!(
            "Another program changed {} in {repository} while the command ran. The other change was kept. Look at it before changing it again.",
            names_of(names)
        ),
        GitNote::SettingsChanged(names) => format!(
            "The command has changed where {repository} is fetched from or pushed to: {}. Tell the user.",
            names_of(names)
        ),
        GitNote::AddressesHeld(names) => format!(
            "In {repository}, {} applied to this command only and not to later ones: existing remotes keep the user's address. Have the user change the address outside of the sandbox.",
            names_of(names)
        ),
        GitNote::HidesFiles(file) => format!(
            "The command has changed {} in {repository}, which hides files from git. Tell the user.",
            shown(file)
        ),
        GitNote::LeftOut(names) => format!(
            "In {repository}, {} stayed in the sandbox and is gone with it: only objects, references, the index and harmless settings come back. If it is meant, have the user make it outside of the sandbox.",
            names_of(names)
        ),
        GitNote::StateLeftOut { operation, reason } => format!(
            "The {} in {repository} stayed in the sandbox and is gone with it ({}). Begin it again in one command, or have the user do so.",
            plain(operation),
            plain(reason)
        ),
        GitNote::Locked(lock) => format!(
            "Another git holds {} in {repository}, so the command's changes to the repository wait for the next command. If no other git runs there, have the user remove that file.",
            shown(&lock.to_string_lossy())
        ),
        GitNote::Failed(reason) => format!(
            "Nothing of the command's changes to {repository} came back: {}. The repository is as it was.",
            plain(reason)
        ),
    }
}

fn paths_of(paths: &[PathBuf]) -> String {
    listed(paths.iter().map(|path| path.to_string_lossy()), paths.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_says_what_happened_and_what_to_do() {
        let of = |note: GitNote| sentence(Path::new(".git"), &note);
        let kept = of(GitNote::ReferenceKept {
            name: "refs/heads/main".into(),
            kept: Some("refs/toolwright/0123456789/heads/main".into()),
        });
        assert!(kept.contains("`refs/heads/main` in `.git`"), "{kept}");
        assert!(
            kept.ends_with("kept as `refs/toolwright/0123456789/heads/main`: merge or rebase it.")
        );
        let refused = of(GitNote::SettingsRefused(vec!["alias.x".into(), "core.`y\n".into()]));
        assert!(
            refused.contains("`alias.x`, `core.?y?` applied to this command only"),
            "{refused}"
        );
        let many = of(GitNote::StagedMeanwhile((0..12).map(|it| it.to_string().into()).collect()));
        assert!(many.contains("`9` and 2 more"), "{many}");
        let locked = of(GitNote::Locked("index.lock".into()));
        assert!(locked.contains("holds `index.lock`"), "{locked}");
    }
}
