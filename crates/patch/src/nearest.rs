//! Finds lines of a file that are similar to a text which is not in it.

use std::borrow::Cow;
use std::collections::HashSet;

/// The most lines that are shown.
const MAX_CANDIDATES: usize = 3;
/// The most lines that are compared, of a file and of a text.
const MAX_LINES: usize = 50_000;
const MAX_OLD_LINES: usize = 500;
/// The most characters that are compared, of each line.
const MAX_CHARACTERS: usize = 200;
/// The least similarity, in percent.
const MIN_SIMILARITY: usize = 60;

/// A similar line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number, from one.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The line of the text that was expected there, if the lines before it match.
    pub expected: Option<String>,
    /// Whether the two differ in white space only.
    pub only_space: bool,
}

pub(crate) fn candidates(original: &[u8], old: &str) -> Vec<Candidate> {
    let text = String::from_utf8_lossy(original);
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    let old: Vec<&str> = old.lines().take(MAX_OLD_LINES).collect();
    // The line that best shows where the text could be.
    let Some((anchor, best)) =
        old.iter().enumerate().max_by_key(|(_, line)| line.trim().chars().count())
    else {
        return Vec::new();
    };
    if best.trim().is_empty() {
        return Vec::new();
    }
    let aligned = aligned(&lines, &old, anchor);
    if aligned.is_empty() { similar(&lines, best) } else { aligned }
}

/// The places of that line, whatever the white space around it.
fn aligned(lines: &[&str], old: &[&str], anchor: usize) -> Vec<Candidate> {
    let mut places: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim() == old[anchor].trim())
        .filter_map(|(at, _)| at.checked_sub(anchor))
        .take(MAX_OLD_LINES)
        .map(|start| {
            let same = |(line, old): &(&&str, &&str)| line.trim() == old.trim();
            (lines[start..].iter().zip(old).filter(same).count(), start)
        })
        .collect();
    places.sort_by_key(|&(same, start)| (std::cmp::Reverse(same), start));
    places
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(|(_, start)| {
            // The text may begin and end within a line.
            let last = old.len() - 1;
            let (at, expected) = old.iter().enumerate().find(|&(at, expected)| {
                let Some(line) = lines.get(start + at) else { return true };
                match (at, at == last) {
                    (0, true) => !line.contains(expected),
                    (0, false) => !line.ends_with(expected),
                    (_, true) => !line.starts_with(expected),
                    (_, false) => line != expected,
                }
            })?;
            let text = lines.get(start + at).copied().unwrap_or("");
            let bare = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(Candidate {
                line: start + at + 1,
                text: text.to_owned(),
                expected: Some((*expected).to_owned()),
                only_space: bare(text) == bare(expected),
            })
        })
        .collect()
}

/// The line of a file that is most similar to one that is not in it: its number from one, and its text.
pub(crate) fn similar_line<'t>(
    lines: impl Iterator<Item = Cow<'t, str>>,
    line: &str,
) -> Option<(usize, String)> {
    if line.trim().is_empty() {
        return None;
    }
    let texts: Vec<_> = lines.take(MAX_LINES).collect();
    let lines: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let Candidate { line, text, .. } = similar(&lines, line).into_iter().next()?;
    Some((line, text))
}

/// The lines that share the most pairs of characters with `best`.
fn similar(lines: &[&str], best: &str) -> Vec<Candidate> {
    let pairs = |line: &str| -> HashSet<(char, char)> {
        let characters: Vec<char> =
            line.trim().chars().take(MAX_CHARACTERS).flat_map(char::to_lowercase).collect();
        characters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let best = pairs(best);
    let mut near: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let line = pairs(line);
            let all = line.len() + best.len();
            let score = 200 * line.intersection(&best).count() / all.max(1);
            (score >= MIN_SIMILARITY).then_some((score, at))
        })
        .collect();
    near.sort_by_key(|&(score, at)| (std::cmp::Reverse(score), at));
    near.truncate(MAX_CANDIDATES);
    near.into_iter()
        .map(|(_, at)| Candidate {
            line: at + 1,
            text: lines[at].to_owned(),
            expected: None,
            only_space: false,
        })
        .collect()
}
