//! Names that stand for several paths in a list of what may not be written.

use std::path::{Path, PathBuf};

/// What is protected unless the host says otherwise: what git, editors, agents and the tools of both obey later,
/// outside of any sandbox.
pub const DEFAULT: [&str; 4] = ["@git", "@editors", "@agents", "@tools"];

/// What git runs or obeys.
const GIT: &str = "@git";

/// Each name with its paths.
const PRESETS: [(&str, &[&str]); 5] = [
    (GIT, &[".git/hooks", ".git/config"]),
    ("@editors", &[".vscode", ".idea", ".zed"]),
    ("@agents", &[".claude", ".codex", ".cursor", ".gemini", ".agents", ".mcp.json"]),
    ("@tools", TOOLS),
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

/// What acts when a project is opened and no ordinary task of a programmer edits: a program writes it, or a
/// person sets it up once. `npx toolwright audit` lists the places that tasks do edit.
const TOOLS: &[&str] = &[
    // Settings of agents, with servers and commands that they start.
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".cline",
    ".codebuddy",
    ".codeium",
    ".continue",
    ".continuerc.json",
    ".copilot",
    ".crush",
    ".crush.json",
    "crush.json",
    ".factory",
    ".goose",
    ".iflow",
    ".junie",
    ".kilocode",
    ".kilocodemodes",
    ".kiro",
    ".openhands",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".pi",
    ".qwen",
    ".roo",
    ".roomodes",
    ".sourcegraph",
    ".tabnine",
    ".trae",
    ".windsurf",
    ".zencoder",
    // Settings of editors, which name programs or are programs.
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".exrc",
    ".externalToolBuilders",
    ".fleet",
    ".helix",
    ".idx",
    ".lapce",
    ".lvimrc",
    ".nova",
    ".nvim",
    ".nvim.lua",
    ".nvimrc",
    ".run",
    ".rust-analyzer.toml",
    ".theia",
    ".vim",
    ".vimspector.json",
    ".vs",
    "_exrc",
    "rust-analyzer.toml",
    // Containers and machines that are made when an editor opens the project.
    ".codesandbox",
    ".devcontainer",
    ".devcontainer.json",
];

/// A protected path, and whether it comes from a name other than `@git`. Such a path is set aside if a
/// command makes it; it gets no placeholder, which everybody would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Protected {
    pub(super) path: PathBuf,
    pub(super) is_set_aside: bool,
    /// Whether it comes from a name without a directory before it.
    pub(super) is_everywhere: bool,
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
            let path = entry.clone();
            return vec![Protected { path, is_set_aside: false, is_everywhere: false }];
        };
        let above = entry.parent().unwrap_or(Path::new(""));
        let (is_set_aside, is_everywhere) = (*name != GIT, above.as_os_str().is_empty());
        let protected =
            |path: &&str| Protected { path: above.join(path), is_set_aside, is_everywhere };
        paths.iter().map(protected).collect()
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
