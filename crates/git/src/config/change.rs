//! What differs between two configurations, and a third one with these differences.

use std::collections::{HashMap, HashSet};

use super::parse::{Config, Value};

/// A setting that has other values than before, or none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name, as in [`Setting`](super::Setting).
    pub name: Vec<u8>,
    /// The key as it is written now.
    pub key: Vec<u8>,
    /// Its values before.
    pub before: Vec<Value>,
    /// Its values now.
    pub after: Vec<Value>,
}

/// What one has to change in `before` to have the settings of `after`.
#[must_use]
pub fn changes(before: &Config, after: &Config) -> Vec<Change> {
    let (old, new) = (before.by_name(), after.by_name());
    let values = |all: &HashMap<&[u8], Vec<&Value>>, name: &[u8]| -> Vec<Value> {
        all.get(name).into_iter().flatten().map(|value| (*value).clone()).collect()
    };
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let mut changes: Vec<Change> = Vec::new();
    for from in [after, before] {
        for setting in from.settings() {
            let name = &*setting.name;
            if !seen.insert(name) || old.get(name) == new.get(name) {
                continue;
            }
            changes.push(Change {
                name: name.to_vec(),
                key: from.text[setting.spelled.clone()].to_vec(),
                before: values(&old, name),
                after: values(&new, name),
            });
        }
    }
    changes
}

/// The text of a configuration with some changes, as git would write them: a value in the place of the
/// former one, a new setting at the end of its section, a new section at the end of the file.
///
/// `None` if the result would not say exactly that.
#[must_use]
pub fn with_changes(config: &Config, changes: &[Change]) -> Option<Vec<u8>> {
    let mut result = config.clone();
    for change in changes {
        result = Config::parse(&with_change(&result, change)?)?;
    }
    // Every setting has the values it should have, and no other one is there.
    let mut meant = config.by_name();
    for change in changes {
        meant.remove(&*change.name);
        if !change.after.is_empty() {
            meant.insert(&change.name, change.after.iter().collect());
        }
    }
    (result.by_name() == meant).then_some(result.text)
}

fn with_change(config: &Config, change: &Change) -> Option<Vec<u8>> {
    let mut edits = Edits { text: &config.text, edits: Vec::new() };
    let found: Vec<_> = config.settings().iter().filter(|one| one.name == change.name).collect();
    for (index, setting) in found.iter().enumerate() {
        match change.after.get(index) {
            Some(value) if *value == setting.value => {}
            Some(value) => {
                let key = &config.text[setting.spelled.clone()];
                edits.replace(setting.span.clone(), line(key, value)?);
            }
            None => edits.remove(setting.span.clone()),
        }
    }
    let added = change.after.get(found.len()..).unwrap_or_default();
    if !added.is_empty() {
        let lines: Option<Vec<_>> = added.iter().map(|value| line(&change.key, value)).collect();
        let mut lines: Vec<u8> =
            lines?.into_iter().flat_map(|line| [b"\t", &*line].concat()).collect();
        let cut = change.name.len().checked_sub(change.key.len() + 1)?;
        let section = &change.name[..cut];
        let after = match found.last() {
            Some(last) => Some(last.span.end),
            None => config.sections.iter().rposition(|one| one.name == section).map(|index| {
                let one = &config.sections[index];
                let last = config.settings().get(one.settings.clone()).and_then(<[_]>::last);
                // A comment may stand behind the head, or the head of another section.
                let next = config.sections.get(index + 1).map_or(usize::MAX, |one| one.span.start);
                last.map_or_else(
                    || end_of_line(&config.text, one.span.end).min(next),
                    |last| last.span.end,
                )
            }),
        };
        let at = after.unwrap_or(config.text.len());
        if after.is_none() {
            lines = [head(section)?, lines].concat();
        }
        if config.text[..at].last().is_some_and(|byte| *byte != b'\n') {
            lines.insert(0, b'\n');
        }
        edits.edits.push((at..at, lines));
    }
    let text = edits.apply();
    if change.after.is_empty() {
        without_empty(&text, &change.name, change.key.len())
    } else {
        Some(text)
    }
}

/// Without the heads of a section that lost its last setting, where nothing else stands below them.
fn without_empty(text: &[u8], name: &[u8], key: usize) -> Option<Vec<u8>> {
    let config = Config::parse(text)?;
    let section = &name[..name.len().checked_sub(key + 1)?];
    let mut edits = Edits { text, edits: Vec::new() };
    for (index, one) in config.sections.iter().enumerate() {
        let end = config.sections.get(index + 1).map_or(text.len(), |next| next.span.start);
        let is_bare = text[one.span.end..end].iter().all(u8::is_ascii_whitespace);
        if one.name == section && one.settings.is_empty() && is_bare {
            edits.edits.push((one.span.start..end, Vec::new()));
        }
    }
    Some(edits.apply())
}

fn end_of_line(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| from + at + 1)
}

struct Edits<'t> {
    text: &'t [u8],
    edits: Vec<(std::ops::Range<usize>, Vec<u8>)>,
}

impl Edits<'_> {
    /// The span of a setting ends with its line; the last line of a file may have no break.
    fn replace(&mut self, span: std::ops::Range<usize>, line: Vec<u8>) {
        self.edits.push((span, line));
    }

    fn remove(&mut self, span: std::ops::Range<usize>) {
        let before = &self.text[..span.start];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // What stands before it in the line may be the head of its section.
        if before[start..].iter().all(u8::is_ascii_whitespace) {
            self.edits.push((start..span.end, Vec::new()));
        } else {
            self.edits.push((span, b"\n".to_vec()));
        }
    }

    fn apply(mut self) -> Vec<u8> {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let (mut text, mut at) = (Vec::with_capacity(self.text.len()), 0);
        for (span, new) in self.edits {
            text.extend_from_slice(self.text.get(at..span.start).unwrap_or_default());
            text.extend_from_slice(&new);
            at = at.max(span.end);
        }
        text.extend_from_slice(self.text.get(at..).unwrap_or_default());
        text
    }
}

/// The head of a new section.
fn head(section: &[u8]) -> Option<Vec<u8>> {
    let Some(dot) = section.iter().position(|byte| *byte == b'.') else {
        return Some([b"[", section, b"]\n"].concat());
    };
    let (name, rest) = (&section[..dot], &section[dot + 1..]);
    let mut head = [b"[", name, b" \""].concat();
    for byte in rest {
        match byte {
            b'\n' | b'\r' | 0 => return None,
            b'"' | b'\\' => head.extend([b'\\', *byte]),
            byte => head.push(*byte),
        }
    }
    head.extend_from_slice(b"\"]\n");
    Some(head)
}

fn line(key: &[u8], value: &Value) -> Option<Vec<u8>> {
    let mut line = key.to_vec();
    if let Some(value) = value {
        let needs_quotes = value.first().is_some_and(u8::is_ascii_whitespace)
            || value.last().is_some_and(u8::is_ascii_whitespace)
            || value.iter().any(|byte| matches!(byte, b'#' | b';' | b'\t'));
        line.extend_from_slice(b" = ");
        if needs_quotes {
            line.push(b'"');
        }
        for byte in value {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\t' => line.extend_from_slice(b"\\t"),
                b'"' | b'\\' => line.extend([b'\\', *byte]),
                0..=31 | 127 => return None,
                byte => line.push(*byte),
            }
        }
        if needs_quotes {
            line.push(b'"');
        }
    }
    line.push(b'\n');
    Some(line)
}
