//! Variables, and how a pattern's text comes down to patterns without variables and braces.

use std::ffi::OsString;
use std::ops::RangeInclusive;
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

/// The names of the variables.
pub(crate) const NAMES: [&str; 3] = ["workspace", "ad-hoc", "user-data"];
/// Linux follows this many links.
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
        if let Ok(resolved) = std::fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => resolved.join(rest),
                _ => resolved,
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
    /// What is left, without a slash in front, and without braces: one text for each alternative. A
    /// variable alone stands for everything below its directories.
    pub(crate) rest: Vec<String>,
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
    let rest = if is_variable_alone {
        vec!["**".to_owned()]
    } else {
        alternatives(rest)?.iter().map(|pattern| clean(pattern)).collect::<Result<_, _>>()?
    };
    Ok(Anchored { base, rest })
}

fn unknown(name: &str) -> Problem {
    let message = format!(
        "`{{{name}}}` is no variable; there are `{{workspace}}`, `{{ad-hoc}}` and `{{user-data}}`"
    );
    Problem { message, variable: Some(name.to_owned()) }
}

/// `{name}` at the beginning, and what follows it.
pub(crate) fn leading_variable(text: &str) -> Option<(&str, &str)> {
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
        let Some(at) = opening_brace(&rest) else {
            done.push(before + &rest);
            continue;
        };
        let Some((inside, after)) = split_choices(&rest[at + 1..]) else {
            return Err(Problem::new("a `{` is not closed; write `\\{` for the character itself"));
        };
        let choices = match inside.as_slice() {
            [only] => sequence(only)?,
            several => several.iter().map(|choice| (*choice).to_owned()).collect(),
        };
        // The last is pushed first, so that the order stays.
        for choice in choices.into_iter().rev() {
            open.push((format!("{before}{}", &rest[..at]), choice + after));
        }
    }
    Ok(done)
}

/// Where the first brace opens.
fn opening_brace(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        if c == '{' && !escaped {
            return Some(at);
        }
        escaped = c == '\\' && !escaped;
        None
    })
}

/// What stands between two braces, split at its commas, and what follows; `text` begins behind the
/// first brace.
fn split_choices(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut choices, mut start) = (Vec::new(), 0);
    let (mut depth, mut escaped) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {}
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                choices.push(&text[start..at]);
                start = at + 1;
                if c == '}' {
                    return Some((choices, &text[start..]));
                }
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// What stands for several texts without a comma: `1..3`, `a..c`.
fn sequence(inside: &str) -> Result<Vec<String>, Problem> {
    if let Some((from, to)) = inside.split_once("..") {
        return range(from, to).ok_or_else(|| {
            let message = format!("{} is no range of numbers or letters", quoted(inside));
            Problem::new(message)
        });
    }
    if NAMES.contains(&inside) {
        let message = format!("`{{{inside}}}` can only stand at the beginning of a pattern");
        return Err(Problem::new(message));
    }
    if is_name(inside) {
        return Err(unknown(inside));
    }
    let message = format!(
        "`{{{inside}}}` is neither a variable (lower case) nor an alternation (with a comma or `..`)"
    );
    Err(Problem { message, variable: Some(inside.to_owned()) })
}

fn range(from: &str, to: &str) -> Option<Vec<String>> {
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        return ((from.abs_diff(to) as usize) < MAX_PATTERNS).then(|| values(from, to));
    }
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(char::from(*letter)),
        _ => None,
    };
    Some(values(letter(from)?, letter(to)?))
}

/// All values from one to the other, upwards or downwards.
fn values<T: PartialOrd + ToString>(from: T, to: T) -> Vec<String>
where
    RangeInclusive<T>: DoubleEndedIterator<Item = T>,
{
    if from <= to {
        (from..=to).map(|value| value.to_string()).collect()
    } else {
        (to..=from).rev().map(|value| value.to_string()).collect()
    }
}
