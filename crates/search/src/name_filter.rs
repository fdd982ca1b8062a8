//! The patterns that a caller brings for file names, and the directories that they can be limited to.
//!
//! `etc/host*` matches nothing outside of `etc`, so nothing else has to be walked.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};

use crate::error::GrepError;

/// Characters that match, or may match, something other than themselves.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// What the patterns say about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Ignore,
    Keep,
}

/// Patterns as `rg -g` takes them. Without any, it decides nothing.
pub(crate) struct NameFilter {
    patterns: Override,
    prefixes: LiteralPrefixes,
}

impl NameFilter {
    /// No patterns.
    pub(crate) fn none() -> Self {
        Self { patterns: Override::empty(), prefixes: LiteralPrefixes::default() }
    }

    pub(crate) fn new(patterns: &[&str]) -> Result<Self, GrepError> {
        let invalid = |pattern: &str, error: &ignore::Error| GrepError::Glob {
            pattern: pattern.to_owned(),
            message: error.to_string(),
        };
        let mut builder = OverrideBuilder::new(PathBuf::new());
        for &pattern in patterns {
            builder.add(pattern).map_err(|error| invalid(pattern, &error))?;
        }
        let prefixes = LiteralPrefixes::new(patterns);
        let patterns = builder.build().map_err(|error| invalid(&patterns.join(" "), &error))?;
        Ok(Self { patterns, prefixes })
    }

    /// `None` leaves the decision to the ignore files.
    pub(crate) fn decide(&self, path: &Path, is_dir: bool) -> Option<Decision> {
        if self.patterns.is_empty() {
            return None;
        }
        if is_dir && !self.prefixes.reach(path) {
            return Some(Decision::Ignore);
        }
        match self.patterns.matched(path, is_dir) {
            Match::Ignore(_) => Some(Decision::Ignore),
            Match::Whitelist(_) => Some(Decision::Keep),
            Match::None => None,
        }
    }
}

/// The directories with which patterns begin.
#[derive(Debug, Default, PartialEq, Eq)]
struct LiteralPrefixes(
    /// Relative to the root. `None` for any directory.
    Option<Vec<PathBuf>>,
);

impl LiteralPrefixes {
    fn new(patterns: &[&str]) -> Self {
        // A pattern with `!` in front matches nothing by itself.
        let positive = patterns.iter().filter(|pattern| !pattern.starts_with('!'));
        let prefixes: Option<Vec<_>> = positive.map(|pattern| literal_prefix(pattern)).collect();
        Self(prefixes.filter(|prefixes| !prefixes.is_empty()))
    }

    /// Whether a directory, relative to the root, can contain a match.
    fn reach(&self, directory: &Path) -> bool {
        self.0.as_ref().is_none_or(|prefixes| {
            prefixes.iter().any(|one| one.starts_with(directory) || directory.starts_with(one))
        })
    }
}

/// The directory that contains every file that a pattern matches. `None` for any directory.
fn literal_prefix(pattern: &str) -> Option<PathBuf> {
    // The pattern may be a comment.
    if pattern.starts_with('#') {
        return None;
    }
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let (above, _) = pattern.trim_end_matches('/').rsplit_once('/')?;
    let is_literal = |part: &&str| {
        !matches!(*part, "" | "." | "..") && !part.contains(SPECIAL) && part.trim() == *part
    };
    let literal: PathBuf = above.split('/').take_while(is_literal).collect();
    (!literal.as_os_str().is_empty()).then_some(literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_ends_at_the_first_wildcard() {
        let cases = [
            ("etc/host*", "etc"),
            ("/etc/host*", "etc"),
            ("a/b/*.ts", "a/b"),
            ("a/b/c", "a/b"),
            ("a/b/", "a"),
            ("a/**/b.ts", "a"),
            ("a/b*/c", "a"),
        ];
        for (pattern, directory) in cases {
            assert_eq!(literal_prefix(pattern), Some(directory.into()), "{pattern}");
        }
        for pattern in
            ["*.ts", "/x", "x/", "**/x/y", "{a,b/c}/d", "[a/b]/c", "a\\/b", "#a/b", "./a/b"]
        {
            assert_eq!(literal_prefix(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn prefixes_reach_their_ancestors_and_descendants() {
        let reaches =
            |patterns: &[&str], path| LiteralPrefixes::new(patterns).reach(Path::new(path));
        for (path, reached) in
            [("a", true), ("a/b", true), ("a/b/c/d", true), ("ab", false), ("b", false)]
        {
            assert_eq!(reaches(&["a/b/*"], path), reached, "{path}");
        }
        assert!(reaches(&["a/b/*", "c/*"], "c") && !reaches(&["a/b/*", "c/*"], "d"));
        assert!(reaches(&["a/b/*", "*.ts"], "d") && reaches(&["!a/*"], "b") && reaches(&[], "b"));
    }
}
