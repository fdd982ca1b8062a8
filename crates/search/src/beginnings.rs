//! Where files can be that fit patterns for names, as far as the patterns begin without a wildcard.
//! `etc/host*` fits nothing outside of `etc`, so that nothing else has to be walked.

use std::path::{Path, PathBuf};

/// What stands for more than itself, or may.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// The directories that lead to files that fit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Beginnings {
    /// Relative to the root. `None`: everywhere.
    within: Option<Vec<PathBuf>>,
}

impl Beginnings {
    /// Of patterns as `rg -g` takes them.
    pub(crate) fn of(patterns: &[&str]) -> Self {
        // One with `!` in front only takes away.
        let mut within = Vec::new();
        for pattern in patterns.iter().filter(|pattern| !pattern.starts_with('!')) {
            match beginning(pattern) {
                Some(beginning) => within.push(beginning),
                None => return Self::default(),
            }
        }
        Self { within: Some(within).filter(|within| !within.is_empty()) }
    }

    /// Whether there can be something in a directory, given by its path relative to the root.
    pub(crate) fn lead_to(&self, directory: &Path) -> bool {
        self.within.as_ref().is_none_or(|within| {
            within.iter().any(|one| one.starts_with(directory) || directory.starts_with(one))
        })
    }
}

/// The directory that all files are in which a pattern fits, unless that is any.
fn beginning(pattern: &str) -> Option<PathBuf> {
    // A comment, as far as anybody can tell.
    if pattern.starts_with('#') {
        return None;
    }
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let (above, _) = pattern.trim_end_matches('/').rsplit_once('/')?;
    let is_plain = |part: &&str| {
        !matches!(*part, "" | "." | "..") && !part.contains(SPECIAL) && part.trim() == *part
    };
    let plain: PathBuf = above.split('/').take_while(is_plain).collect();
    (!plain.as_os_str().is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_begin_with_the_directories_before_the_first_wildcard() {
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
            assert_eq!(beginning(pattern), Some(directory.into()), "{pattern}");
        }
        for pattern in
            ["*.ts", "/x", "x/", "**/x/y", "{a,b/c}/d", "[a/b]/c", "a\\/b", "#a/b", "./a/b"]
        {
            assert_eq!(beginning(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn they_lead_to_what_is_on_the_way_and_below() {
        let leads = |patterns: &[&str], path| Beginnings::of(patterns).lead_to(Path::new(path));
        for (path, led) in
            [("a", true), ("a/b", true), ("a/b/c/d", true), ("ab", false), ("b", false)]
        {
            assert_eq!(leads(&["a/b/*"], path), led, "{path}");
        }
        assert!(leads(&["a/b/*", "c/*"], "c") && !leads(&["a/b/*", "c/*"], "d"));
        assert!(leads(&["a/b/*", "*.ts"], "d") && leads(&["!a/*"], "b") && leads(&[], "b"));
    }
}
