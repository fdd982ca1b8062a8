//! Patterns for commands: `*` stands for any characters, `?` for one.

use crate::path_pattern::Specificity;

#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    parts: Vec<Part>,
    pub(super) specificity: Specificity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Any number of any characters.
    Any,
    /// One character.
    One,
    /// This one.
    Exactly(char),
}

impl CommandPattern {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let part = match c {
                '*' => Part::Any,
                '?' => Part::One,
                // A backslash makes a wildcard a character, and is one itself elsewhere.
                '\\' => match characters.clone().next() {
                    Some(next @ ('*' | '?' | '\\')) => {
                        characters.next();
                        Part::Exactly(next)
                    }
                    _ => Part::Exactly('\\'),
                },
                c => Part::Exactly(c),
            };
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        let literals = parts.iter().filter(|part| matches!(part, Part::Exactly(_))).count();
        let specificity = Specificity::new(literals, parts.len() - literals);
        Self { parts, specificity }
    }

    /// Goes back to the last `*` only, which takes no more than the product of both lengths.
    pub(super) fn matches(&self, text: &str) -> bool {
        let parts = &self.parts;
        let (mut at, mut rest) = (0, text.chars());
        let mut star: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            match parts.get(at) {
                Some(Part::Any) => {
                    star = Some((at, rest.clone()));
                    at += 1;
                    continue;
                }
                Some(part) => {
                    let mut ahead = rest.clone();
                    let next = ahead.next();
                    if next.is_some_and(|c| *part == Part::One || *part == Part::Exactly(c)) {
                        rest = ahead;
                        at += 1;
                        continue;
                    }
                }
                None if rest.as_str().is_empty() => return true,
                None => {}
            }
            let Some((before, from)) = &mut star else { return false };
            if from.next().is_none() {
                return false;
            }
            at = *before + 1;
            rest = from.clone();
        }
    }
}
