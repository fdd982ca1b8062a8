//! What a search may show of the files that it meets.
//!
//! A search shows what `read` may read: the capabilities and the rules of every session in the chain
//! decide about each file by itself. A file that no rule mentions belongs to the directory, about which
//! the search itself was decided. A file that a rule asks about is shown when the user has agreed to
//! the search.

use std::path::Path;
use std::sync::Arc;

use toolwright_policy::{Access, Rules};

use super::permission::{Strictness, judge_file};
use super::policy::Policy;

/// Decides about the files of one search.
#[derive(Debug, Clone, Copy)]
pub struct Visibility<'a> {
    /// What the session may do.
    pub policy: &'a Policy,
    /// The rules of the session, then those of the sessions above it.
    pub rules: &'a [Arc<Rules>],
    /// The tool that rules are asked about.
    pub tool: &'a str,
    /// The user has agreed to this search.
    pub is_approved: bool,
}

impl Visibility<'_> {
    /// Whether the file or directory at a real path may be shown.
    #[must_use]
    pub fn shows(&self, real_path: &Path) -> bool {
        if !self.policy.allows(Access::Read, real_path) {
            return false;
        }
        let is_implicit = self.policy.is_implicit(Access::Read, real_path);
        match judge_file(self.rules, self.tool, real_path, is_implicit) {
            Strictness::Allow | Strictness::AskUnmentioned => true,
            Strictness::AskByRule => self.is_approved,
            Strictness::Deny | Strictness::FinalDeny => false,
        }
    }
}

/// Whether a path is that of a `.git`, or of something in it.
pub(crate) fn is_in_git(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}
