//! Masks a stream whose pieces end anywhere.

use std::sync::Arc;

use crate::counts::Counts;
use crate::formats::{Cursor, Formats, MAX_UNFINISHED, Rest};
use crate::literals::{Literals, Place};
use crate::searches::Searches;

/// Masks a stream. It keeps back what may be the beginning of a secret, until the next piece or the end tells: at most the
/// length of the longest value, and 16 KiB for formats.
#[derive(Debug)]
pub struct Masker {
    searches: Arc<Searches>,
    known: Stage,
    formats: Stage,
    /// What the first stage has passed on.
    between: Vec<u8>,
    counts: Counts,
}

impl Masker {
    pub(crate) fn of(searches: Arc<Searches>) -> Self {
        let (known, formats, between, counts) = Default::default();
        Self { searches, known, formats, between, counts }
    }

    /// Takes a piece, and appends to `out` what is known to hold no secret.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.pass(piece, out, false);
    }

    /// The stream has ended: appends the rest.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.pass(&[], out, true);
    }

    /// What was masked so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The same, which counts from here on again.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// How much is kept back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.known.held.len() + self.formats.held.len()
    }

    fn pass(&mut self, piece: &[u8], out: &mut Vec<u8>, is_end: bool) {
        let Self { searches, known, formats, between, counts } = self;
        match (&searches.known, searches.formats) {
            (None, None) => out.extend_from_slice(piece),
            (Some(values), None) => {
                known.pass(piece, &Values(values, &searches.names), is_end, out, counts);
            }
            (None, Some(tokens)) => formats.pass(piece, &Tokens(tokens), is_end, out, counts),
            (Some(values), Some(tokens)) => {
                between.clear();
                known.pass(piece, &Values(values, &searches.names), is_end, between, counts);
                formats.pass(between, &Tokens(tokens), is_end, out, counts);
            }
        }
    }
}

/// Something that finds secrets.
trait Search {
    /// The first one at `from` or behind it. `before` stands in front of all.
    fn find(
        &self,
        bytes: &[u8],
        from: usize,
        before: Option<u8>,
        cursor: &mut Cursor,
    ) -> Option<Place>;
    /// The start of a match that may go on after the end of the input. Further bytes of this kind decide nothing.
    fn unfinished(&self, bytes: &[u8], before: Option<u8>) -> (usize, Option<Rest>);
    /// Where to look for the next one.
    fn after(&self, place: Place) -> usize;
    /// The most that is kept back.
    fn longest(&self) -> usize;
    fn name(&self, owner: usize) -> &str;
    /// What may follow one that ends where the bytes end.
    fn rest(&self, owner: usize, bytes: &[u8]) -> Option<Rest>;
}

struct Values<'m>(&'m Literals, &'m [String]);

impl Search for Values<'_> {
    fn find(&self, bytes: &[u8], from: usize, _: Option<u8>, _: &mut Cursor) -> Option<Place> {
        self.0.find(bytes, from)
    }

    fn unfinished(&self, bytes: &[u8], _: Option<u8>) -> (usize, Option<Rest>) {
        (self.0.unfinished(bytes), None)
    }

    /// One that overlaps it is masked too.
    fn after(&self, place: Place) -> usize {
        place.start + 1
    }

    fn longest(&self) -> usize {
        usize::MAX
    }

    fn name(&self, owner: usize) -> &str {
        self.1.get(owner).map_or("SECRET", String::as_str)
    }

    fn rest(&self, _: usize, _: &[u8]) -> Option<Rest> {
        None
    }
}

struct Tokens(&'static Formats);

impl Search for Tokens {
    fn find(
        &self,
        bytes: &[u8],
        from: usize,
        before: Option<u8>,
        cursor: &mut Cursor,
    ) -> Option<Place> {
        self.0.find(bytes, from, before, cursor)
    }

    fn unfinished(&self, bytes: &[u8], before: Option<u8>) -> (usize, Option<Rest>) {
        let (open, rest) = self.0.unfinished(bytes, before);
        (open, Some(rest))
    }

    fn after(&self, place: Place) -> usize {
        place.end
    }

    fn longest(&self) -> usize {
        MAX_UNFINISHED
    }

    fn name(&self, owner: usize) -> &str {
        Formats::name(owner)
    }

    fn rest(&self, owner: usize, bytes: &[u8]) -> Option<Rest> {
        Formats::rest(owner, bytes)
    }
}

/// One search over the stream.
#[derive(Debug, Default)]
struct Stage {
    held: Vec<u8>,
    /// The length of its beginning that is masked already. It stays because another secret may begin in it.
    covered: usize,
    /// The last byte before it.
    before: Option<u8>,
    /// What follows belongs to a token that was masked before its end.
    rest: Option<Rest>,
    /// The class of the bytes by which the held token may go on.
    goes_on: Option<Rest>,
}

impl Stage {
    fn pass(
        &mut self,
        piece: &[u8],
        search: &impl Search,
        is_end: bool,
        out: &mut Vec<u8>,
        counts: &mut Counts,
    ) {
        let piece = self.without_rest(piece);
        // A program that writes byte by byte does not have the same token looked at for each.
        if let Some(rest) = self.goes_on
            && !is_end
            && self.held.len() + piece.len() <= MAX_UNFINISHED
            && piece.iter().all(|byte| rest.has(*byte))
        {
            self.held.extend_from_slice(piece);
        } else if self.held.is_empty() {
            let kept = self.scan(piece, search, is_end, out, counts);
            self.held.extend_from_slice(&piece[kept..]);
        } else {
            let mut bytes = std::mem::take(&mut self.held);
            bytes.extend_from_slice(piece);
            let kept = self.scan(&bytes, search, is_end, out, counts);
            bytes.drain(..kept);
            self.held = bytes;
            // A long piece leaves no memory behind.
            self.held.shrink_to(2 * MAX_UNFINISHED);
        }
    }

    /// Drops the rest of a token that was masked before its end.
    fn without_rest<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let Some(rest) = self.rest else { return piece };
        let count = piece.iter().take_while(|byte| rest.has(**byte)).count();
        if count < piece.len() {
            self.rest = None;
        }
        &piece[count..]
    }

    /// Masks what is decided, and returns where the undecided part begins.
    fn scan(
        &mut self,
        bytes: &[u8],
        search: &impl Search,
        is_end: bool,
        out: &mut Vec<u8>,
        counts: &mut Counts,
    ) -> usize {
        let (mut open, goes_on) =
            if is_end { (bytes.len(), None) } else { search.unfinished(bytes, self.before) };
        if bytes.len() - open > search.longest() {
            open = bytes.len();
        }
        self.goes_on = goes_on.filter(|_| open < bytes.len());
        let (mut done, mut from, mut cursor) = (self.covered, 0, Cursor::default());
        while let Some(place) = search.find(bytes, from, self.before, &mut cursor)
            && place.start < open
        {
            if place.start >= done {
                out.extend_from_slice(&bytes[done..place.start]);
                let name = search.name(place.owner);
                out.push(b'[');
                out.extend_from_slice(name.as_bytes());
                out.push(b']');
                counts.add(name);
            }
            done = done.max(place.end);
            // One that was too long to be kept back: whatever follows belongs to it.
            if !is_end && place.end == bytes.len() {
                self.rest = search.rest(place.owner, bytes);
            }
            from = search.after(place);
        }
        if open > done {
            out.extend_from_slice(&bytes[done..open]);
        }
        self.covered = done.saturating_sub(open);
        self.before = open.checked_sub(1).map_or(self.before, |last| Some(bytes[last]));
        open
    }
}
