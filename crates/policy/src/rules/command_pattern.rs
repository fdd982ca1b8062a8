//! Patterns for commands: `*` stands for any characters, `?` for one.

use crate::path_pattern::Specificity;
use crate::wildcards;
use crate::wildcards::Part;

#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    parts: Vec<Part>,
    pub(super) specificity: Specificity,
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
        let literals = parts.iter().filter(|part| part.is_literal()).count();
        let specificity = Specificity::new(literals, parts.len() - literals);
        Self { parts, specificity }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        wildcards::matches(&self.parts, text.chars().map(Some))
    }
}
