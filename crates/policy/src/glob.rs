//! Globs of relative paths, compared name by name: no wildcard but `**` crosses a slash.
//!
//! They are not compiled to regular expressions: a session has thousands of them, and most are never
//! matched against anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::Problem;
use crate::wildcards::{self, Part};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    steps: Vec<Step>,
    /// Characters that stand for themselves.
    pub(crate) literals: usize,
    pub(crate) wildcards: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// `**` as a whole name: any number of names.
    AnyDepth,
    Name(Vec<Part>),
}

impl Glob {
    pub(crate) fn new(text: &str) -> Result<Self, Problem> {
        let names: Vec<&str> = text.split('/').collect();
        let mut steps = Vec::with_capacity(names.len());
        let (mut literals, mut wildcards) = (0, 0);
        for (at, name) in names.iter().enumerate() {
            if *name != "**" {
                let parts = parts(name, at + 1 == names.len())?;
                let literal = parts.iter().filter(|part| part.is_literal()).count();
                literals += literal;
                wildcards += parts.len() - literal;
                steps.push(Step::Name(parts));
            } else if steps.last() != Some(&Step::AnyDepth) {
                // Repeated ones mean the same.
                wildcards += 1;
                steps.push(Step::AnyDepth);
            }
        }
        literals += steps.len() - 1;
        if steps.last() == Some(&Step::AnyDepth) {
            // At the end it stands for at least one name.
            steps.insert(steps.len() - 1, Step::Name(vec![Part::Any]));
        }
        Ok(Self { steps, literals, wildcards })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        let takes = |step: &Step, name: &OsStr| match step {
            Step::AnyDepth => true,
            Step::Name(parts) => fits(parts, name),
        };
        wildcards::matches(&self.steps, path.iter(), |step| *step == Step::AnyDepth, takes)
    }
}

fn fits(parts: &[Part], name: &OsStr) -> bool {
    if let Some(text) = name.to_str() {
        return wildcards::matches_text(parts, text.chars().map(Some));
    }
    let characters = name.as_bytes().utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().iter().map(|_| None);
        chunk.valid().chars().map(Some).chain(invalid)
    });
    wildcards::matches_text(parts, characters)
}

/// One name of a pattern, taken apart.
fn parts(name: &str, is_last: bool) -> Result<Vec<Part>, Problem> {
    let mut parts = Vec::with_capacity(name.len());
    let mut characters = name.chars().peekable();
    while let Some(c) = characters.next() {
        parts.push(match c {
            '*' => {
                while characters.next_if_eq(&'*').is_some() {}
                Part::Any
            }
            '?' => Part::One,
            '[' => class(&mut characters)?,
            '\\' => match characters.next() {
                Some(c) => Part::Exactly(c),
                // The slash behind it is one with or without.
                None if !is_last => break,
                None => return Err(Problem::new("a `\\` at the end escapes nothing")),
            },
            '}' => {
                return Err(Problem::new(
                    "a `}` closes nothing; write `\\}` for the character itself",
                ));
            }
            c => Part::Exactly(c),
        });
    }
    Ok(parts)
}

/// What follows a `[`, up to its `]`.
fn class(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Part, Problem> {
    let negated = characters.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let Some(c) = characters.next() else {
            let message = "a `[` is not closed by a `]` in the same name; write `\\[` for the character itself";
            return Err(Problem::new(message));
        };
        match c {
            // At the beginning it is a character as any other.
            ']' if !ranges.is_empty() => return Ok(Part::Class { negated, ranges }),
            '-' if !ranges.is_empty() && characters.peek().is_some_and(|next| *next != ']') => {
                let from = ranges.last().map_or('-', |(_, to)| *to);
                let to = characters.next().unwrap_or(from);
                if to < from {
                    let message =
                        format!("`{from}-{to}` is no range: its end comes before its beginning");
                    return Err(Problem::new(message));
                }
                if let Some(last) = ranges.last_mut() {
                    last.1 = to;
                }
            }
            c => ranges.push((c, c)),
        }
    }
}
