//! Text with wildcards: `*` for any characters, `?` for one, `[a-z]` for one of several.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Any number of any characters.
    Any,
    /// One character.
    One,
    /// This one.
    Exactly(char),
    /// One of these, or one that is not among them.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Part {
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self, Self::Exactly(_))
    }

    fn takes(&self, given: Option<char>) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Exactly(character) => given == Some(*character),
            Self::Class { negated, ranges } => {
                let is_in = |c: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                given.is_some_and(is_in) != *negated
            }
        }
    }
}

/// Whether the whole text matches. `None` stands for a byte that is part of no character.
///
/// Goes back to the last `*` only, which takes no more than the product of both lengths.
pub(crate) fn matches(parts: &[Part], text: impl Iterator<Item = Option<char>> + Clone) -> bool {
    let (mut at, mut rest) = (0, text);
    let mut star = None;
    loop {
        match parts.get(at) {
            Some(Part::Any) => {
                star = Some((at, rest.clone()));
                at += 1;
                continue;
            }
            part => {
                let mut ahead = rest.clone();
                match (part, ahead.next()) {
                    (None, None) => return true,
                    (Some(part), Some(next)) if part.takes(next) => {
                        rest = ahead;
                        at += 1;
                        continue;
                    }
                    _ => {}
                }
            }
        }
        let Some((before, from)) = &mut star else { return false };
        if from.next().is_none() {
            return false;
        }
        at = *before + 1;
        rest = from.clone();
    }
}
