//! Names that stand for several paths in a list of what may not be written.

use std::path::{Path, PathBuf};

/// What is protected unless the host says otherwise: what git, editors and agents obey later, outside of
/// any sandbox.
pub const DEFAULT: [&str; 3] = ["@git", "@editors", "@agents"];

/// Each name with its paths.
const PRESETS: [(&str, &[&str]); 4] = [
    ("@git", &[".git/hooks", ".git/config"]),
    ("@editors", &[".vscode", ".idea", ".zed"]),
    ("@agents", &[".claude", ".codex", ".cursor", ".gemini", ".agents", ".mcp.json"]),
    (
        "@ci",
        &[
            ".github/workflows",
            ".github/actions",
            ".gitlab-ci.yml",
            ".circleci",
            ".buildkite",
            ".travis.yml",
            ".drone.yml",
            "Jenkinsfile",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
        ],
    ),
];

/// A protected path, and whether it comes from a name other than `@git`. Such a path is set aside if a
/// command makes it; it gets no placeholder, which everybody would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Protected {
    pub(super) path: PathBuf,
    pub(super) is_set_aside: bool,
}

/// The paths that a list stands for. A name may have a directory before it, below which its paths lie.
#[must_use]
pub fn expand(list: &[PathBuf]) -> Vec<PathBuf> {
    expanded(list).map(|one| one.path).collect()
}

pub(super) fn expanded(list: &[PathBuf]) -> impl Iterator<Item = Protected> + '_ {
    list.iter().flat_map(|entry| {
        let preset = PRESETS.iter().find(|(name, _)| entry.file_name() == Some((*name).as_ref()));
        let Some((name, paths)) = preset else {
            return vec![Protected { path: entry.clone(), is_set_aside: false }];
        };
        let above = entry.parent().unwrap_or(Path::new(""));
        let is_set_aside = *name != "@git";
        paths.iter().map(|path| Protected { path: above.join(path), is_set_aside }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_their_paths() {
        let list = ["@git", "x/@editors", "@other", ".env"].map(PathBuf::from);
        let expected =
            [".git/hooks", ".git/config", "x/.vscode", "x/.idea", "x/.zed", "@other", ".env"];
        assert_eq!(expand(&list), expected.map(PathBuf::from));
    }
}
