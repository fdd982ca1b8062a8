//! Text with wildcards: `*` for any characters, `?` for one, `[a-z]` for one of several.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Any number of any characters.
    Any,
    One,
    Exactly(char),
    /// One of these, or one that is not among them.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Part {
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self, Self::Exactly(_))
    }

    fn takes(&self, character: Option<char>) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Exactly(own) => character == Some(*own),
            Self::Class { negated, ranges } => {
                let is_in = |c: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                character.is_some_and(is_in) != *negated
            }
        }
    }
}

/// Whether the whole text matches. `None` stands for a byte that is part of no character.
pub(crate) fn matches_text(
    parts: &[Part],
    text: impl Iterator<Item = Option<char>> + Clone,
) -> bool {
    matches(parts, text, |part| *part == Part::Any, Part::takes)
}

/// Whether all `items` match: the characters of a text, or the names of a path.
///
/// Goes back to the last wildcard only, which takes no more steps than the product of both lengths.
pub(crate) fn matches<P, T: Copy>(
    parts: &[P],
    items: impl Iterator<Item = T> + Clone,
    is_any: impl Fn(&P) -> bool,
    takes: impl Fn(&P, T) -> bool,
) -> bool {
    let (mut at, mut rest) = (0, items);
    let mut retry = None;
    loop {
        let part = parts.get(at);
        if part.is_some_and(&is_any) {
            at += 1;
            if at == parts.len() {
                return true;
            }
            retry = Some((at, rest.clone()));
            continue;
        }
        let mut ahead = rest.clone();
        match (part, ahead.next()) {
            (None, None) => return true,
            (Some(part), Some(item)) if takes(part, item) => {
                rest = ahead;
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some((after, from)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        at = *after;
        rest = from.clone();
    }
}
