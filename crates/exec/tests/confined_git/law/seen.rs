//! What lies on the host when a command has ended.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Every file below a path, with its kind, its mode and what is in it.
pub(crate) fn tree(top: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(found) = path.symlink_metadata() else { continue };
        let content = if found.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else if found.is_dir() {
            left.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
            Vec::new()
        } else if found.is_file() && found.len() < 1 << 20 {
            fs::read(&path).unwrap_or_default()
        } else {
            Vec::new()
        };
        all.insert(path, (found.mode(), content));
    }
    all
}

/// What git would take for a git directory, wherever it is below a path.
pub(super) fn git_directories(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        let has = |name: &str| path.join(name).symlink_metadata().is_ok();
        if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
            found.push(path.clone());
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != "objects" {
                left.push(entry.path());
            }
        }
    }
    found
}

/// What git on the host would obey in the git directories below a path, and nobody but a command can have put there.
/// `was` says whether a path had this mode and content before.
pub(super) fn obeyed(
    top: &Path,
    canary: &str,
    was: impl Fn(&Path, &(u32, Vec<u8>)) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for git in git_directories(top) {
        for (path, now) in tree(&git) {
            if was(&path, &now) {
                continue;
            }
            let (mode, content) = now;
            let relative = path.strip_prefix(&git).expect("below");
            let first = relative.components().next().map(|part| part.as_os_str().to_owned());
            if first.as_deref() == Some(OsStr::new("objects"))
                && !relative.starts_with("objects/info")
            {
                continue;
            }
            let kind = fs::Permissions::from_mode(mode).mode() & 0o170_000;
            let is_hook = relative.parent().is_some_and(|above| above.ends_with("hooks"))
                && relative.extension() != Some(OsStr::new("sample"));
            // Why a work tree is locked is said in words, which are shown and not obeyed.
            let is_reason = relative.file_name() == Some(OsStr::new("locked"))
                && path
                    .parent()
                    .and_then(Path::parent)
                    .is_some_and(|all| all.ends_with("worktrees"));
            let is_text =
                !is_reason && content.windows(canary.len()).any(|part| part == canary.as_bytes());
            let leads = ["commondir", "gitdir"].iter().any(|name| {
                relative == Path::new(name)
                    && !content.starts_with(b"../..\n")
                    && git.parent().is_some_and(|above| !above.ends_with("worktrees"))
            });
            let borrows = relative.ends_with("objects/info/alternates");
            let what = if kind == 0o120_000 {
                "a link"
            } else if kind != 0o100_000 && kind != 0o040_000 {
                "neither a file nor a directory"
            } else if is_hook {
                "a hook"
            } else if is_text {
                "the command's text"
            } else if leads || borrows {
                "it leads elsewhere"
            } else {
                continue;
            };
            wrong.push(format!(
                "{what}: {}: {}",
                path.display(),
                String::from_utf8_lossy(&content).chars().take(300).collect::<String>()
            ));
        }
    }
    wrong
}
