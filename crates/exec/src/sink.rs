//! Output while the command runs.

use toolwright_fs::whole_characters;

/// Which pipe something came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// stdout and stderr in one pipe, see [`Streams::Joined`](crate::Streams::Joined).
    Joined,
    /// stdout alone.
    Stdout,
    /// stderr alone.
    Stderr,
}

/// A piece of output; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Where it was written.
    pub stream: Stream,
    /// The bytes. A character is never split between two chunks; bytes that are not UTF-8 pass
    /// unchanged.
    pub bytes: &'a [u8],
}

/// Takes output while the command runs; see [`run_streaming`](crate::run_streaming).
///
/// A sink gets at most `max_output_bytes` of each stream, or [`limit`](Self::limit) if there is
/// one. Until a stream exceeds the limit, its chunks together are the final output. When it does,
/// the sink has got what fits, up to the last whole character, and [`cut`](Self::cut) is called
/// once. From then on the stream is read whether or not the sink is ready, so that the command
/// continues and the end of its output is known. From a limit of 1,024 on, the final output is then
/// not the pushed text but the beginning and the end around a line about the omission: show it in
/// place of the chunks.
pub trait Sink {
    /// Whether a chunk may be pushed. Until then nothing is read, and the command blocks as soon as
    /// its pipe is full.
    ///
    /// It is called again every 10 ms, and at once after the waker of the request's
    /// [`CancelSource`](crate::CancelSource) was woken. After the end of the command the rest
    /// within the limit is pushed without asking.
    fn ready(&mut self) -> bool;

    /// Takes a chunk.
    fn push(&mut self, chunk: Chunk<'_>);

    /// How much of each stream is pushed, if that is not as much as is captured. Asked once.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// The stream has passed the limit.
    fn cut(&mut self, stream: Stream) {
        let _ = stream;
    }
}

/// Cuts one stream into chunks.
pub(crate) struct Feed {
    stream: Stream,
    /// The bytes that may still be pushed.
    room: usize,
    /// The beginning of a character whose end has not been read.
    carry: Vec<u8>,
    full: bool,
}

impl Feed {
    pub(crate) fn new(stream: Stream, limit: usize) -> Self {
        Self { stream, room: limit, carry: Vec::new(), full: false }
    }

    /// Whether nothing more will be pushed.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn push(&mut self, sink: &mut dyn Sink, piece: &[u8]) {
        if self.full {
            return;
        }
        let over = piece.len() > self.room;
        let mut piece = &piece[..piece.len().min(self.room)];
        self.room -= piece.len();
        while !self.carry.is_empty()
            && let Some((&next, rest)) = piece.split_first()
        {
            piece = rest;
            self.carry.push(next);
            let whole = whole_characters(&self.carry);
            self.give(sink, &self.carry[..whole]);
            self.carry.drain(..whole);
        }
        let whole = whole_characters(piece);
        self.give(sink, &piece[..whole]);
        self.carry.extend_from_slice(&piece[whole..]);
        if over {
            self.full = true;
            sink.cut(self.stream);
        }
    }

    /// The stream has ended: a character that was begun will not be completed.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        if !self.full {
            self.give(sink, &self.carry);
            self.full = true;
        }
    }

    fn give(&self, sink: &mut dyn Sink, bytes: &[u8]) {
        if !bytes.is_empty() {
            sink.push(Chunk { stream: self.stream, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Seen {
        chunks: Vec<Vec<u8>>,
        cuts: usize,
    }

    impl Sink for Seen {
        fn ready(&mut self) -> bool {
            true
        }

        fn push(&mut self, chunk: Chunk<'_>) {
            assert_eq!(chunk.stream, Stream::Stderr);
            assert!(!chunk.bytes.is_empty());
            assert_eq!(self.cuts, 0, "pushed after the cut");
            self.chunks.push(chunk.bytes.to_vec());
        }

        fn cut(&mut self, _: Stream) {
            self.cuts += 1;
        }
    }

    fn fed<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
        let (mut seen, mut feed) = (Seen::default(), Feed::new(Stream::Stderr, limit));
        for piece in pieces {
            feed.push(&mut seen, piece);
            assert!(feed.carry.len() < 4);
        }
        feed.finish(&mut seen);
        seen
    }

    proptest! {
        #[test]
        fn text_comes_in_whole_characters(
            text in vec(prop_oneof![Just('a'), Just('é'), Just('漢'), Just('😀')], 0..60),
            size in 1usize..9,
            limit in 0usize..200,
        ) {
            let text: String = text.into_iter().collect();
            let seen = fed(limit, text.as_bytes().chunks(size));
            for chunk in &seen.chunks {
                prop_assert!(std::str::from_utf8(chunk).is_ok(), "{chunk:?}");
            }
            let all = seen.chunks.concat();
            prop_assert_eq!(seen.cuts, usize::from(text.len() > limit));
            prop_assert!(text.as_bytes().starts_with(&all) && all.len() <= limit);
            prop_assert!(all.len() + 3 >= text.len().min(limit));
            if seen.cuts == 0 {
                prop_assert_eq!(all, text.as_bytes());
            }
        }

        #[test]
        fn any_bytes_come_as_they_are(input in vec(any::<u8>(), 0..80), size in 1usize..9) {
            prop_assert_eq!(fed(80, input.chunks(size)).chunks.concat(), input);
        }
    }

    #[test]
    fn a_character_in_four_pieces_is_one_chunk() {
        let seen = fed(10, "a😀b".as_bytes().chunks(1));
        assert_eq!(seen.chunks, [b"a".as_slice(), "😀".as_bytes(), b"b"]);
    }
}
