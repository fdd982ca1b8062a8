//! Variables, and how a pattern's text comes down to patterns without variables and braces.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Problem, quoted};

/// What the variables stand for: absolute directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `{workspace}`: the root, and those the manifest adds.
    pub workspace: Vec<PathBuf>,
    /// `{ad-hoc}`: directories of files that are open without a workspace.
    pub ad_hoc: Vec<PathBuf>,
    /// `{user-data}`: the host's directory for this user.
    pub user_data: Vec<PathBuf>,
}

/// The system follows as many links.
const MAX_LINKS: usize = 40;
/// The most patterns that the braces of one may expand to.
const MAX_PATTERNS: usize = 1024;

impl Variables {
    /// With links in the directories followed, as far as they are there. Patterns are compared with
    /// real paths, and where a root lies is the host's decision.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().map(|p| real(p)).collect() };
        Self {
            workspace: real(&self.workspace),
            ad_hoc: real(&self.ad_hoc),
            user_data: real(&self.user_data),
        }
    }

    /// Follows the links on the way to `path`, up to a directory of a variable and no further.
    pub(crate) fn real_outside(&self, path: &Path) -> PathBuf {
        let inside = |place: &Path| {
            let all = [&self.workspace, &self.ad_hoc, &self.user_data];
            all.into_iter().flatten().any(|directory| place.starts_with(directory))
        };
        let steps = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|step| step.as_os_str().to_owned()).collect()
        };
        let mut place = PathBuf::from("/");
        let mut left = steps(path);
        let mut links = 0;
        while let Some(step) = left.pop() {
            if step == ".." {
                place.pop();
                continue;
            }
            let is_inside = inside(&place);
            place.push(step); // a slash leads back to the beginning
            if is_inside || links > MAX_LINKS {
                continue;
            }
            if let Ok(target) = std::fs::read_link(&place) {
                links += 1;
                place.pop();
                left.extend(steps(&target));
            }
        }
        place
    }

    /// The directories of a variable, or nothing for an unknown name.
    fn of(&self, name: &str) -> Option<&[PathBuf]> {
        match name {
            "workspace" => Some(&self.workspace),
            "ad-hoc" => Some(&self.ad_hoc),
            "user-data" => Some(&self.user_data),
            _ => None,
        }
    }
}

/// Follows links in that part of a path which exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(found) = std::fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => found.join(rest),
                _ => found,
            };
        }
    }
    path.to_owned()
}

/// Where a pattern begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base<'v> {
    /// With a slash.
    Absolute,
    /// Relative, or with `{workspace}`: below each root of the workspace.
    Workspace,
    /// With another variable: below each of its directories.
    Directories(&'v [PathBuf]),
}

/// A pattern's text, split from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchored<'v> {
    pub(crate) base: Base<'v>,
    /// What is left, without a slash in front, and without braces: one text for each alternative.
    pub(crate) rest: Vec<String>,
    /// Nothing was left: the pattern is a variable and nothing else.
    pub(crate) is_variable_alone: bool,
}

/// Takes a path pattern apart. Unknown variables are errors here and not when a call is made.
pub(crate) fn anchor<'v>(text: &str, variables: &'v Variables) -> Result<Anchored<'v>, Problem> {
    if text.is_empty() {
        return Err(Problem::new("an empty pattern matches nothing"));
    }
    if text.contains('\0') {
        return Err(Problem::new("a pattern cannot hold a NUL byte"));
    }
    let (base, rest) = match leading_variable(text) {
        Some((name, rest)) => {
            let directories = variables.of(name).ok_or_else(|| unknown(name))?;
            if !rest.is_empty() && !rest.starts_with('/') {
                let message = format!("`{{{name}}}` is a directory: a slash has to follow it");
                return Err(Problem::new(message));
            }
            let base = match name {
                "workspace" => Base::Workspace,
                _ => Base::Directories(directories),
            };
            (base, rest)
        }
        None if text.starts_with('/') => (Base::Absolute, text),
        None if text == "~" || text.starts_with("~/") => {
            let message = "`~` is not expanded: write an absolute path or a variable";
            return Err(Problem::new(message));
        }
        None => (Base::Workspace, text),
    };
    let is_variable_alone = rest.trim_matches('/').is_empty() && base != Base::Absolute;
    let mut patterns = Vec::new();
    for alternative in alternatives(rest)? {
        patterns.push(clean(&alternative)?);
    }
    Ok(Anchored { base, rest: patterns, is_variable_alone })
}

fn unknown(name: &str) -> Problem {
    let message = format!(
        "`{{{name}}}` is no variable; there are `{{workspace}}`, `{{ad-hoc}}` and `{{user-data}}`"
    );
    Problem { message, variable: Some(name.to_owned()) }
}

/// `{name}` at the beginning, and what follows it.
fn leading_variable(text: &str) -> Option<(&str, &str)> {
    let (inside, rest) = text.strip_prefix('{')?.split_once('}')?;
    is_name(inside).then_some((inside, rest))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A pattern without `.`, doubled slashes and slashes at its ends.
fn clean(pattern: &str) -> Result<String, Problem> {
    let mut parts = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let message = "`..` is never part of a real path; name the directory itself";
                return Err(Problem::new(message));
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Writes out braces: `a{b,c}` is `ab` and `ac`, `{1..3}` is `1`, `2` and `3`.
pub(crate) fn alternatives(pattern: &str) -> Result<Vec<String>, Problem> {
    let mut done = Vec::new();
    let mut open = vec![(String::new(), pattern.to_owned())];
    while let Some((before, rest)) = open.pop() {
        if done.len() + open.len() > MAX_PATTERNS {
            let message = format!("the braces come to more than {MAX_PATTERNS} patterns");
            return Err(Problem::new(message));
        }
        let Some(at) = find_unescaped(&rest, '{') else {
            done.push(before + &rest);
            continue;
        };
        let (front, behind) = rest.split_at(at);
        let Some(end) = closing(behind) else {
            return Err(Problem::new("a `{` is not closed; write `\\{` for the character itself"));
        };
        let inside = &behind[1..end];
        let after = &behind[end + 1..];
        // The last is pushed first, so that the order stays.
        for choice in choices(inside)?.into_iter().rev() {
            open.push((format!("{before}{front}"), format!("{choice}{after}")));
        }
    }
    Ok(done)
}

fn find_unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == wanted {
            return Some(at);
        }
        None
    })
}

/// Where the brace at the beginning of `text` closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// What stands between two braces, apart. Text without a comma and without `..` is no alternation.
fn choices(inside: &str) -> Result<Vec<String>, Problem> {
    let mut parts = vec![String::new()];
    let (mut depth, mut escaped) = (0usize, false);
    for c in inside.chars() {
        match c {
            ',' if depth == 0 && !escaped => {
                parts.push(String::new());
                continue;
            }
            '{' if !escaped => depth += 1,
            '}' if !escaped => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    if parts.len() > 1 {
        return Ok(parts);
    }
    if let Some((from, to)) = inside.split_once("..") {
        return range(from, to).ok_or_else(|| {
            let message = format!("{} is no range of numbers or letters", quoted(inside));
            Problem::new(message)
        });
    }
    if is_name(inside) {
        let known = matches!(inside, "workspace" | "ad-hoc" | "user-data");
        if known {
            let message = format!("`{{{inside}}}` can only stand at the beginning of a pattern");
            return Err(Problem::new(message));
        }
        return Err(unknown(inside));
    }
    let message = format!(
        "`{{{inside}}}` is neither a variable (lower case) nor an alternation (with a comma or `..`)"
    );
    Err(Problem { message, variable: Some(inside.to_owned()) })
}

fn range(from: &str, to: &str) -> Option<Vec<String>> {
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let count = i64::from(to).abs_diff(i64::from(from));
        if count >= MAX_PATTERNS as u64 {
            return None;
        }
        return Some(if from <= to {
            (from..=to).map(|n| n.to_string()).collect()
        } else {
            (to..=from).rev().map(|n| n.to_string()).collect()
        });
    }
    let letter = |text: &str| {
        let mut letters = text.chars();
        letters.next().filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
    };
    let (from, to) = (letter(from)?, letter(to)?);
    Some(if from <= to {
        (from..=to).map(String::from).collect()
    } else {
        (to..=from).rev().map(String::from).collect()
    })
}
