//! Git itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolwright_git::config::Value;

/// What git reads in a file: names and values in their order; `None` where it refuses the file.
pub(crate) fn by_git(text: &[u8]) -> Option<Vec<(Vec<u8>, Value)>> {
    let directory = tempfile::tempdir().expect("dir");
    let file = directory.path().join("config");
    fs::write(&file, text).expect("written");
    let mut git = Command::new("git");
    git.args(["config", "--list", "-z", "--file"]).arg(&file).current_dir(Path::new("/"));
    let listed = git.env_clear().env("PATH", std::env::var_os("PATH")?).output().expect("git runs");
    if !listed.status.success() {
        return None;
    }
    let entries = listed.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let entry = |entry: &[u8]| match entry.iter().position(|byte| *byte == b'\n') {
        // The first break ends the name, but a name may have breaks only in theory.
        Some(at) => (entry[..at].to_vec(), Some(entry[at + 1..].to_vec())),
        None => (entry.to_vec(), None),
    };
    Some(entries.map(entry).collect())
}

pub(crate) fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}
