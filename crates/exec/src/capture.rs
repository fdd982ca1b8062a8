//! Bounded capture: the beginning and the end of a stream of any length, in flat memory.

use std::collections::VecDeque;
use std::io;

use toolwright_fs::whole_characters;

use crate::screen::held_from;

/// From this limit on, cut output keeps its end too, after a line that states what is missing.
/// Below it, that line would be most of the output.
const BOTH_ENDS_FROM: usize = 1024;

/// The output of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// stdout and stderr in arrival order, never longer than the limit. Not always UTF-8; but
    /// where it was cut, no character is split.
    pub bytes: Vec<u8>,
    /// How many bytes the command wrote, kept or not.
    pub total_bytes: u64,
    /// Whether something was left out.
    pub truncated: bool,
}

/// Takes a stream in pieces and keeps the part of it that will be shown.
pub(crate) struct Capture {
    limit: usize,
    /// All output, until it exceeds the limit; then only the bytes of the beginning that fit.
    head: Vec<u8>,
    head_room: usize,
    /// The last bytes that are not in `head`: a ring.
    tail: VecDeque<u8>,
    is_cut: bool,
    total: u64,
}

impl Capture {
    pub(crate) fn new(limit: usize) -> Self {
        let head_room = if limit < BOTH_ENDS_FROM { limit } else { limit / 2 };
        let (head, tail) = Default::default();
        Self { limit, head, head_room, tail, is_cut: false, total: 0 }
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let room = if self.is_cut { 0 } else { self.limit - self.head.len() };
        let (first, rest) = piece.split_at(piece.len().min(room));
        self.reserve(first.len());
        self.head.extend_from_slice(first);
        if !rest.is_empty() {
            self.cut();
            self.push_tail(rest);
        }
    }

    /// Reads once by `read`, which appends to its argument, and returns the new bytes. As long as a
    /// whole `block` fits, it reads straight into place, so that nothing is copied.
    pub(crate) fn read<'c>(
        &'c mut self,
        block: &'c mut Vec<u8>,
        read: impl FnOnce(&mut Vec<u8>) -> io::Result<usize>,
    ) -> io::Result<&'c [u8]> {
        let old = self.head.len();
        if self.is_cut || self.limit - old < block.capacity() {
            block.clear();
            read(block)?;
            self.push(block);
            return Ok(block);
        }
        self.reserve(block.capacity());
        self.total += read(&mut self.head)? as u64;
        if self.head.len() <= self.limit {
            return Ok(&self.head[old..]);
        }
        // There may be more memory than room.
        block.clear();
        block.extend_from_slice(&self.head[old..]);
        let surplus = self.head.split_off(self.limit);
        self.cut();
        self.push_tail(&surplus);
        Ok(block)
    }

    /// Reserves room for `more` bytes: doubling as usual, but not far past the limit.
    fn reserve(&mut self, more: usize) {
        let needed = self.head.len() + more;
        if needed > self.head.capacity() {
            let capacity = (self.head.capacity() * 2).min(self.limit).max(needed);
            self.head.reserve_exact(capacity - self.head.len());
        }
    }

    /// Switches to keeping the beginning and the end, once the output exceeds the limit.
    fn cut(&mut self) {
        if !self.is_cut {
            self.is_cut = true;
            self.tail = self.head.split_off(self.head_room.min(self.head.len())).into();
            self.head.shrink_to_fit();
        }
    }

    fn push_tail(&mut self, piece: &[u8]) {
        let room = self.limit - self.head_room;
        let piece = &piece[piece.len().saturating_sub(room)..];
        let surplus = (self.tail.len() + piece.len()).saturating_sub(room);
        self.tail.drain(..surplus);
        let needed = self.tail.len() + piece.len();
        if needed > self.tail.capacity() {
            // Doubling as usual, but not past the limit.
            let capacity = (self.tail.capacity() * 2).max(needed).min(room);
            self.tail.reserve_exact(capacity - self.tail.len());
        }
        self.tail.extend(piece);
    }

    /// Takes the end of it out again, as far as it can still be drawn over.
    pub(crate) fn take_back(&mut self) -> Vec<u8> {
        let taken: Vec<u8> = if self.is_cut {
            let from = held_from(self.tail.make_contiguous());
            self.tail.drain(from..).collect()
        } else {
            self.head.split_off(held_from(&self.head))
        };
        self.total -= taken.len() as u64;
        taken
    }

    pub(crate) fn finish(self) -> Output {
        let (limit, total) = (self.limit, self.total);
        if !self.is_cut {
            return Output { bytes: self.head, total_bytes: total, truncated: false };
        }
        let mut bytes = self.head;
        bytes.truncate(whole_characters(&bytes));
        if limit >= BOTH_ENDS_FROM {
            let head = bytes.len();
            if bytes.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
            // The number of missing bytes has no more digits than that of all bytes.
            let room = limit - bytes.len() - marker(total).len();
            let mut start = self.tail.len().saturating_sub(room);
            start += self.tail.range(start..).take(3).take_while(|&&byte| continues(byte)).count();
            let tail = self.tail.len() - start;
            bytes.extend_from_slice(marker(total - (head + tail) as u64).as_bytes());
            bytes.extend(self.tail.range(start..));
        }
        Output { bytes, total_bytes: total, truncated: true }
    }

    #[cfg(test)]
    fn capacity(&self) -> usize {
        self.head.capacity() + self.tail.capacity()
    }
}

fn marker(missing: u64) -> String {
    format!("[output cut: {missing} bytes left out here]\n")
}

/// Whether a byte can only stand inside a character.
fn continues(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> Output {
        let mut capture = Capture::new(limit);
        for piece in pieces {
            capture.push(piece);
            assert!(capture.capacity() <= limit.saturating_mul(3).saturating_add(64));
        }
        capture.finish()
    }

    /// The same, with reads of each of `sizes` in turn, and with `more` memory at first than
    /// needed, as the allocator may return it.
    fn read(limit: usize, more: usize, block: usize, input: &[u8], sizes: &[usize]) -> Output {
        let (mut capture, mut block) = (Capture::new(limit), Vec::with_capacity(block));
        if more > 0 {
            capture.head.reserve_exact(limit + more);
        }
        let mut left = input;
        for size in sizes.iter().cycle() {
            let came = capture.read(&mut block, |into| {
                let room = into.capacity() - into.len();
                assert!(room > 0, "nothing could be read");
                let (piece, rest) = left.split_at(left.len().min(room).min(*size));
                into.extend_from_slice(piece);
                left = rest;
                Ok(piece.len())
            });
            let came = came.expect("read").to_vec();
            assert_eq!(came, input[input.len() - left.len() - came.len()..][..came.len()]);
            if came.is_empty() {
                break;
            }
        }
        capture.finish()
    }

    /// The laws of a capture of `input`.
    fn check(limit: usize, input: &[u8], output: &Output) {
        assert!(output.bytes.len() <= limit, "{} bytes for {limit}", output.bytes.len());
        assert_eq!(output.total_bytes, input.len() as u64);
        assert_eq!(output.truncated, input.len() > limit);
        if std::str::from_utf8(input).is_ok() {
            assert!(std::str::from_utf8(&output.bytes).is_ok(), "a character was split");
        }
        if !output.truncated {
            assert_eq!(output.bytes, input);
        } else if limit < BOTH_ENDS_FROM {
            assert!(input.starts_with(&output.bytes));
            assert!(output.bytes.len() >= limit - 3.min(limit), "more was left out than needed");
        } else {
            let sign: &[u8] = b"[output cut: ";
            let at = (0..output.bytes.len())
                .find(|&at| output.bytes[at..].starts_with(sign))
                .expect("marker");
            let line_end = at + output.bytes[at..].iter().position(|&b| b == b'\n').expect("end");
            let tail = &output.bytes[line_end + 1..];
            assert!(input.ends_with(tail));
            let text = String::from_utf8(output.bytes[at..line_end].to_vec()).expect("ascii");
            let missing: usize = text
                .trim_start_matches("[output cut: ")
                .trim_end_matches(" bytes left out here]")
                .parse()
                .expect("number");
            let head = input.len() - tail.len() - missing;
            assert_eq!(output.bytes[..head], input[..head]);
            assert!(at == head && input[head - 1] == b'\n' || at == head + 1);
            assert_eq!(output.bytes[at - 1], b'\n', "the marker begins a line");
            assert!(output.bytes.len() >= limit - 16, "more was left out than needed");
        }
    }

    fn cases() -> u32 {
        let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
        120 * factor.unwrap_or(1)
    }

    fn limits() -> impl Strategy<Value = usize> {
        prop_oneof![0usize..=5, 0usize..40, 1000usize..1100, 1024usize..5000]
    }

    fn split(input: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| input[pair[0]..pair[1]].to_vec()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]

        #[test]
        fn text(
            characters in vec(prop_oneof![Just('a'), Just('\n'), Just('é'), Just('漢'), Just('😀')], 0..3000),
            cuts in vec(any::<usize>(), 0..40),
            limit in limits(),
        ) {
            let input = characters.into_iter().collect::<String>().into_bytes();
            let pieces = split(&input, &cuts);
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            check(limit, &input, &captured(limit, &pieces));
        }

        #[test]
        fn any_bytes(
            input in vec(any::<u8>().prop_map(|b| if b == b'[' { 0xbf } else { b }), 0..6000),
            cuts in vec(any::<usize>(), 0..40),
            limit in limits(),
        ) {
            let pieces = split(&input, &cuts);
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            check(limit, &input, &captured(limit, &pieces));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]

        #[test]
        fn what_is_read_is_what_is_pushed(
            input in vec(any::<u8>(), 0..6000),
            sizes in vec(1usize..3000, 1..20),
            limit in prop_oneof![0usize..10, 1000usize..1100, 1024usize..9000],
            more in prop_oneof![Just(0), 1usize..2000],
            block in 1usize..2000,
        ) {
            prop_assert_eq!(read(limit, more, block, &input, &sizes), captured(limit, &[&input]));
        }
    }

    #[test]
    fn every_small_limit_and_every_limit_around_the_threshold() {
        let input = "ab😀é漢\n".repeat(400).into_bytes();
        for limit in (0..=70).chain(990..1100).chain([input.len() - 1, input.len(), usize::MAX]) {
            check(limit, &input, &captured(limit, &[&input]));
            let bytes: Vec<&[u8]> = input.chunks(1).collect();
            check(limit, &input, &captured(limit, &bytes));
        }
    }

    #[test]
    fn a_cut_leaves_no_hole() {
        assert_eq!(captured(6, &["😀😀".as_bytes(), b"ab"]).bytes, "😀".as_bytes());
        let (left, right) = "a😀".as_bytes().split_at(3);
        assert_eq!(captured(4, &[left, right]).bytes, b"a");
        assert_eq!(captured(3, &[b"a\xff\xff\xff"]).bytes, b"a\xff\xff");
    }
}
