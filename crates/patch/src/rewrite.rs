//! Builds the edited file from its own lines and the added ones.

use toolwright_encoding::Declared;

use crate::hunk::{BodyLine, Patch, Sign, old_lines};
use crate::indentation::respaced;
use crate::lines::Lines;
use crate::newline::FinalNewline;
use crate::placement::Placement;
use crate::spacing::Spacing;

/// Writes the file with the hunks of `patch` at `places`, and added lines in `encoding`, which has all of their letters.
pub(crate) fn rewrite(
    file: &Lines<'_>,
    patch: &Patch<'_>,
    places: &[Placement],
    newline: &FinalNewline,
    encoding: Option<Declared>,
) -> Vec<u8> {
    let added: usize = patch
        .lines
        .iter()
        .filter(|line| line.sign == Sign::Added)
        .map(|line| line.text.len() + 2)
        .sum();
    let bodies: Vec<_> = patch
        .hunks
        .iter()
        .zip(places)
        .map(|(hunk, place)| (place.body(patch, hunk), place))
        .collect();
    let evidence: Vec<_> =
        bodies.iter().map(|&(body, place)| endings_agree(file, body, place.at)).collect();
    // If a hunk shows no ending, the rest of the patch decides.
    let otherwise = patch.mixes_endings()
        || (evidence.contains(&Some(true)) && !evidence.contains(&Some(false)));
    let out = Vec::with_capacity(file.bytes.len() + added);
    let mut writer = Writer { file, out, next: 0, open: false, encoding };
    for ((body, place), agree) in bodies.into_iter().zip(evidence) {
        writer.hunk(body, *place, agree.unwrap_or(otherwise));
    }
    writer.copy_to(file.len());
    if newline.stays_missing(file) && !writer.open {
        drop_ending(&mut writer.out);
    }
    writer.out
}

/// Whether the old lines of a hunk have the endings of the file. Then its author saw them, and
/// means the endings of the added lines. `None` if nothing can be compared.
fn endings_agree(file: &Lines<'_>, body: &[BodyLine<'_>], at: usize) -> Option<bool> {
    old_lines(body)
        .zip(at..)
        .filter_map(|(line, at)| file.get(at).map(|own| (line, own)))
        .filter(|(line, own)| own.lf || line.unterminated)
        .map(|(line, own)| line.cr == own.cr)
        .reduce(|left, right| left && right)
}

fn drop_ending(out: &mut Vec<u8>) {
    if out.last() == Some(&b'\n') {
        out.pop();
        if out.last() == Some(&b'\r') {
            out.pop();
        }
    }
}

struct Writer<'a> {
    file: &'a Lines<'a>,
    out: Vec<u8>,
    /// The first file line that is neither copied nor removed so far.
    next: usize,
    /// Whether the last line written still lacks its newline.
    open: bool,
    /// The encoding of added lines, if not UTF-8.
    encoding: Option<Declared>,
}

/// A run of removed and added lines, as far as it was written.
struct Block {
    /// The first line that it removes.
    from: usize,
    removed: usize,
    added: usize,
}

impl Writer<'_> {
    fn hunk(&mut self, body: &[BodyLine<'_>], place: Placement, literal: bool) {
        let mut at = place.at;
        let texts = if place.spacing == Spacing::Exact {
            Vec::new()
        } else {
            respaced(self.file, body, at, place.shift).unwrap_or_default()
        };
        let mut texts = texts.into_iter();
        let mut block = None;
        for line in body {
            if line.sign == Sign::Context {
                block = None;
                at += 1;
                continue;
            }
            self.copy_to(at);
            let block = block.get_or_insert(Block { from: at, removed: 0, added: 0 });
            if line.sign == Sign::Removed {
                at += 1;
                self.next = at;
                block.removed += 1;
            } else {
                let crlf =
                    if literal { line.cr } else { self.neighbour(block, at).unwrap_or(line.cr) };
                self.add(line, texts.next().as_deref(), literal, crlf);
                block.added += 1;
            }
        }
    }

    /// Copies the file up to line `to`, byte for byte.
    fn copy_to(&mut self, to: usize) {
        if self.next < to {
            let copied = self.file.raw(self.next..to);
            self.out.extend_from_slice(copied);
            self.open = copied.last().is_some_and(|&last| last != b'\n');
            self.next = to;
        }
    }

    fn add(&mut self, line: &BodyLine<'_>, text: Option<&str>, literal: bool, crlf: bool) {
        let ending: &[u8] = if crlf { b"\r\n" } else { b"\n" };
        if self.open {
            // A file that was cut within its last ending has the first half of it already.
            let halved = crlf && self.out.last() == Some(&b'\r');
            self.out.extend_from_slice(if halved { b"\n" } else { ending });
        }
        let text = text.unwrap_or(line.text);
        match self.encoding.and_then(|encoding| encoding.encode(text)) {
            Some(bytes) => self.out.extend_from_slice(&bytes),
            None => self.out.extend_from_slice(text.as_bytes()),
        }
        self.open = line.unterminated;
        if !line.unterminated {
            self.out.extend_from_slice(ending);
        } else if literal && line.cr {
            // A line that ends in a carriage return alone.
            self.out.push(b'\r');
        }
    }

    /// The ending of an added line: that of the removed line which it replaces, otherwise of the
    /// line before it, otherwise of the line after it.
    fn neighbour(&self, block: &Block, at: usize) -> Option<bool> {
        let replaced = (block.added < block.removed).then_some(block.from + block.added);
        // Only the last line of a file can lack its ending, so one step further back is enough.
        [replaced, at.checked_sub(1), at.checked_sub(2), Some(at)]
            .into_iter()
            .flatten()
            .filter_map(|at| self.file.get(at))
            .find(|line| line.lf)
            .map(|line| line.cr)
    }
}
