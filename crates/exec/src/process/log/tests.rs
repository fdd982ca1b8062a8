use proptest::prelude::*;

use super::*;

fn limits(head_bytes: usize, tail_bytes: usize, holds: bool) -> LogLimits {
    LogLimits { head_bytes, tail_bytes, holds, ..LogLimits::default() }
}

fn whole(chunks: &[Vec<u8>]) -> Vec<u8> {
    chunks.concat()
}

proptest! {
    /// A piece is a part of what was written, at the place that it names.
    #[test]
    fn every_piece_is_where_it_says(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        (head, tail) in (0..30_usize, 1..50_usize),
        asks in proptest::collection::vec((0..400_u64, 0..60_usize), 0..20),
    ) {
        let written = whole(&chunks);
        let mut log = Log::new(limits(head, tail, false), None);
        for chunk in &chunks {
            log.push(chunk);
        }
        log.end();
        for (from, max) in asks {
            let piece = log.read(from, max);
            let at = usize::try_from(piece.at).expect("small");
            prop_assert_eq!(&piece.bytes[..], &written[at..at + piece.bytes.len()]);
            prop_assert!(piece.bytes.len() <= max);
            prop_assert!(piece.at >= from.min(piece.total));
            prop_assert_eq!(piece.is_ended, piece.next() == piece.total);
            // What was asked for is left out only if it is neither at the beginning nor at the end.
            if piece.at > from {
                prop_assert!(from >= size(head.min(written.len())));
                prop_assert!(from < piece.total - size(tail));
            }
        }
    }

    /// A reader that follows gets everything, and no more than the limit waits for it.
    #[test]
    fn a_log_that_holds_loses_nothing(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..30),
        tail in 1..50_usize,
        max in 1..60_usize,
    ) {
        let mut log = Log::new(limits(0, tail, true), None);
        let (mut next, mut seen) = (0, Vec::new());
        for chunk in &chunks {
            let mut rest = &chunk[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(log.room().min(rest.len()));
                log.push(now);
                prop_assert!(log.tail.len() <= tail);
                rest = later;
                let piece = log.read(next, max);
                prop_assert_eq!(piece.at, next);
                seen.extend_from_slice(&piece.bytes);
                next = piece.next();
                // The question for the next piece says that this one has arrived.
                log.read(next, 0);
            }
        }
        while next < log.total {
            let piece = log.read(next, max);
            seen.extend_from_slice(&piece.bytes);
            next = piece.next();
        }
        prop_assert_eq!(seen, whole(&chunks));
    }

    /// The file has the beginning, so that only what it does not take is missing.
    #[test]
    fn a_file_gives_what_memory_has_forgotten(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        file_bytes in 0..300_u64,
    ) {
        let written = whole(&chunks);
        let file = Some(tempfile::tempfile().expect("a file"));
        let mut log = Log::new(LogLimits { file, file_bytes, ..limits(0, 10, false) }, None);
        for chunk in &chunks {
            log.push(chunk);
        }
        let (mut next, mut seen, mut missed) = (0, Vec::new(), 0);
        while next < log.total {
            let piece = log.read(next, 25);
            missed += piece.at - next;
            seen.extend_from_slice(&piece.bytes);
            next = piece.next();
        }
        let length = size(written.len());
        prop_assert_eq!(missed, length.saturating_sub(10).saturating_sub(file_bytes));
        prop_assert_eq!(size(seen.len()), length - missed);
        prop_assert!(written.starts_with(&seen[..seen.len().saturating_sub(10)]) || missed > 0);
    }
}

/// A file that is closed takes what only it has; the end in memory stays, at its place.
#[test]
fn a_closed_file_leaves_what_is_in_memory() {
    let file = unnamed_file(&std::env::temp_dir()).expect("made");
    let mut log =
        Log::new(LogLimits { file: Some(file), file_bytes: 1000, ..limits(2, 3, false) }, None);
    log.push(b"0123456789");
    assert_eq!(log.read(4, 3).bytes, b"456");
    log.close_file();
    log.push(b"ab");
    log.end();
    assert_eq!(log.read(0, 10).bytes, b"01");
    let piece = log.read(4, 10);
    assert_eq!((piece.at, &piece.bytes[..], piece.is_ended), (9, &b"9ab"[..], true));
}
