//! Editors for commands that have no terminal: they end at once, with a sentence that names what works instead.
//!
//! A program that opens an editor waits until a person closes it, and a command has nobody who could. So an
//! editor of the host is not passed, `vim` as little as `code --wait`. What the host program sets for
//! commands is passed, and so is an editor that asks nobody.

use std::ffi::{OsStr, OsString};

/// What commands get as each of [`NAMES`]. Most programs give it to a shell, with the file behind it. Those that
/// divide it at white space report that there is no program of the name that the first word is.
const EDITOR: &str = r#"commands_have_no_editor=1 sh -c "${TOOLWRIGHT_NO_EDITOR:-exit 1}" editor"#;

/// The variables by which programs find an editor. git asks for its own first, before its configuration.
const NAMES: [&str; 3] = ["EDITOR", "GIT_EDITOR", "VISUAL"];

/// The script that [`EDITOR`] runs. It has a variable of its own, because programs print the editor that failed.
const SCRIPT_NAME: &str = "TOOLWRIGHT_NO_EDITOR";

/// An editor that a command sets itself comes first, though not by the name that the calling program asks for
/// first: `EDITOR=… git commit`, `git -c core.editor=… commit`.
const SCRIPT: &str = r#"case ${GIT_CONFIG_PARAMETERS-} in *[cC][oO][rR][eE].[eE][dD][iI][tT][oO][rR]*) own=$(git config core.editor) ;; *) own= ;; esac
for own in "$own" "${VISUAL-}" "${EDITOR-}"; do
  case $own in '' | commands_have_no_editor=*) ;; *) eval "$own \"\$@\""; exit ;; esac
done
echo 'There is no editor, because nobody can type in it. Give the text by an option: git commit and git tag take -m TEXT or -F FILE; git commit --amend, git merge and git revert take --no-edit. GIT_EDITOR=true keeps a text as it is (git rebase --continue), and GIT_SEQUENCE_EDITOR changes the list of git rebase -i, for example by sed -i. Elsewhere set EDITOR to a program that changes the file that it gets.' >&2
exit 1"#;

/// Editors that ask nobody.
const QUIET: [&str; 5] = [":", "true", "/bin/true", "/usr/bin/true", "cat"];

/// Whether a variable of the host names an editor for which a person is needed.
pub(super) fn is_interactive(name: &[u8], value: &OsStr) -> bool {
    (name.ends_with(b"EDITOR") || name == b"VISUAL") && !QUIET.iter().any(|quiet| value == *quiet)
}

/// Adds the editors that `passed` does not have.
pub(super) fn add_to(passed: &mut Vec<(OsString, OsString)>) {
    let missing = NAMES.iter().filter(|name| passed.iter().all(|(passed, _)| passed != **name));
    let added: Vec<_> = missing.map(|name| (name.into(), EDITOR.into())).collect();
    if !added.is_empty() && passed.iter().all(|(passed, _)| passed != SCRIPT_NAME) {
        passed.push((SCRIPT_NAME.into(), SCRIPT.into()));
    }
    passed.extend(added);
}
