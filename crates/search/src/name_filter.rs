//! The patterns that a caller brings for file names, and the directories that they can be limited to.
//!
//! `etc/host*` matches nothing outside of `etc`, so nothing else has to be walked.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};

use crate::error::GrepError;
use crate::glob_text::{alternatives, unescaped, with_groups_as_names};

/// Characters that match, or may match, something other than themselves.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// What the patterns say about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// They do not ask for it.
    Unasked,
    /// They ask for it, as far as the ignore files leave it.
    ByRules,
    /// A pattern is its very name or path, or a path below it.
    ByName,
}

/// Patterns as `rg -g` takes them, but that they choose among what the ignore files leave. Without any, it
/// decides nothing.
pub(crate) struct NameFilter {
    /// What the patterns are relative to.
    base: PathBuf,
    patterns: Override,
    names: Vec<Name>,
    prefixes: LiteralPrefixes,
    /// Why a pattern is no glob. It may still be a name.
    invalid: Option<GrepError>,
}

/// A pattern, read as the name of a file.
struct Name {
    path: PathBuf,
    /// It is relative to the base, and not in any directory.
    is_path: bool,
}

impl NameFilter {
    /// No patterns.
    pub(crate) fn none() -> Self {
        Self {
            base: PathBuf::new(),
            patterns: Override::empty(),
            names: Vec::new(),
            prefixes: LiteralPrefixes::default(),
            invalid: None,
        }
    }

    /// `patterns` are relative to `base`.
    pub(crate) fn new(base: &Path, patterns: &[&str]) -> Result<Self, GrepError> {
        Self::with_case(base, patterns, false)
    }

    /// The same. With `any_case`, upper and lower case are the same.
    pub(crate) fn with_case(
        base: &Path,
        patterns: &[&str],
        any_case: bool,
    ) -> Result<Self, GrepError> {
        let invalid = |pattern: &str, error: &ignore::Error| GrepError::Glob {
            pattern: pattern.to_owned(),
            message: error.to_string(),
        };
        let mut builder = OverrideBuilder::new(PathBuf::new());
        builder.case_insensitive(any_case).map_err(|error| invalid("", &error))?;
        let mut refused = None;
        for &pattern in patterns {
            // A pattern is no comment.
            let escaped = if pattern.starts_with('#') { "\\" } else { "" };
            let glob = format!("{escaped}{}", with_groups_as_names(pattern));
            if builder.add(&glob).is_err()
                && let Err(error) = builder.add(pattern)
            {
                refused.get_or_insert(invalid(pattern, &error));
            }
        }
        let prefixes = LiteralPrefixes::new(patterns);
        let set = builder.build().map_err(|error| invalid(&patterns.join(" "), &error))?;
        let names = patterns.iter().filter_map(|pattern| Name::new(pattern)).collect();
        Ok(Self { base: base.to_owned(), patterns: set, names, prefixes, invalid: refused })
    }

    /// Why a search that has found nothing could find nothing.
    pub(crate) fn problem(&self) -> Option<GrepError> {
        let GrepError::Glob { pattern, message } = self.invalid.as_ref()? else { return None };
        Some(GrepError::Glob { pattern: pattern.clone(), message: message.clone() })
    }

    /// The names of entries that the patterns have in full.
    pub(crate) fn asked(patterns: &[&str]) -> HashSet<OsString> {
        let positive = patterns.iter().filter(|pattern| !pattern.starts_with('!'));
        let whole = positive.flat_map(|pattern| alternatives(pattern));
        let parts = whole.flat_map(|pattern| {
            let names = pattern.split('/').filter_map(unescaped).filter(|name| !name.is_empty());
            names.map(OsString::from).collect::<Vec<_>>()
        });
        parts.collect()
    }

    pub(crate) fn decide(&self, path: &Path, is_dir: bool) -> Decision {
        if self.patterns.is_empty() && self.invalid.is_none() {
            return Decision::ByRules;
        }
        let path = path.strip_prefix(&self.base).unwrap_or(path);
        if self.names.iter().any(|name| name.is(path, is_dir)) {
            return Decision::ByName;
        }
        if is_dir && !self.prefixes.reach(path) {
            return Decision::Unasked;
        }
        match self.patterns.matched(path, is_dir) {
            Match::Ignore(_) => Decision::Unasked,
            Match::None if !is_dir && self.invalid.is_some() => Decision::Unasked,
            Match::Whitelist(_) | Match::None => Decision::ByRules,
        }
    }
}

impl Name {
    fn new(pattern: &str) -> Option<Self> {
        let path = pattern.strip_prefix('/').unwrap_or(pattern);
        if path.is_empty() || path.ends_with('/') {
            return None;
        }
        Some(Self { path: PathBuf::from(path), is_path: pattern.contains('/') })
    }

    /// Whether it is this file, or is below this directory.
    fn is(&self, path: &Path, is_dir: bool) -> bool {
        match (is_dir, self.is_path) {
            (true, true) => self.path != path && self.path.starts_with(path),
            (true, false) => false,
            (false, true) => self.path == path,
            (false, false) => path.file_name() == Some(self.path.as_os_str()),
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
