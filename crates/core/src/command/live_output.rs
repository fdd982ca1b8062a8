//! The output of a running command, for a reader that looks from time to time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use toolwright_exec::{Chunk, Sink, Stream};

/// How much text waits for the reader.
const MAX_WAITING: usize = 64 << 10;

/// What a command has printed since its reader last looked. The command never waits for the reader, who
/// misses the oldest text when it is slow.
#[derive(Debug, Default)]
pub struct LiveOutput {
    text: Mutex<String>,
}

impl LiveOutput {
    /// Takes the new text, stdout and stderr in the order of arrival.
    #[must_use]
    pub fn take(&self) -> String {
        std::mem::take(&mut self.text())
    }

    fn add(&self, bytes: &[u8]) {
        let mut text = self.text();
        text.push_str(&String::from_utf8_lossy(bytes));
        if text.len() > MAX_WAITING {
            let mut from = text.len() - MAX_WAITING;
            while !text.is_char_boundary(from) {
                from += 1;
            }
            text.drain(..from);
        }
    }

    fn text(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes chunks on, and shows them to the reader.
pub(super) struct LiveSink<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) live: Option<&'a LiveOutput>,
}

impl Sink for LiveSink<'_> {
    fn ready(&mut self) -> bool {
        self.sink.ready()
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        if let Some(live) = self.live {
            live.add(chunk.bytes);
        }
        self.sink.push(chunk);
    }

    fn limit(&self) -> Option<usize> {
        self.sink.limit()
    }

    fn cut(&mut self, stream: Stream) {
        self.sink.cut(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_misses_the_oldest_text_and_no_half_character() {
        let live = LiveOutput::default();
        live.add("a".as_bytes());
        live.add("é".repeat(MAX_WAITING).as_bytes());
        let text = live.take();
        assert!(text.len() <= MAX_WAITING && text.len() > MAX_WAITING - 4, "{}", text.len());
        assert!(text.chars().all(|one| one == 'é'));
        assert_eq!(live.take(), "");
        live.add(b"new");
        assert_eq!(live.take(), "new");
    }
}
