//! What the program `apply_patch` of a command tells the host about a patch.
//!
//! The notes go through a pipe that every process of the command can write to. So a note is what the
//! command says of itself, and proves nothing.

use std::path::PathBuf;

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum, wire_struct};
use super::message::{FRAME_HEADER, framed};

/// The descriptor of the pipe in a command that names the program.
pub const NOTES_DESCRIPTOR: i32 = 198;
/// The mode of the pipe, which no other one has: a script may have put a file of its own there.
pub const NOTES_MODE: u32 = 0o1200;
/// No note is longer, so the system writes each in one piece.
pub const MAX_NOTE_BYTES: usize = 4096;

/// A part of the report on one patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchNote {
    /// There is a patch. Nothing has been changed.
    Began(PatchBegan),
    /// Some of its files.
    Files(PatchFiles),
    /// How it ended.
    Ended(PatchEnded),
}

/// A patch, before anything is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchBegan {
    /// Its number, different for every patch of a command.
    pub id: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// Where its paths begin.
    pub directory: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its hash, in hexadecimal digits.
    pub sha256: String,
}

/// Files of a patch, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFiles {
    /// The patch.
    pub id: u64,
    /// How many files the patch has.
    pub total: u32,
    /// The next of them.
    pub files: Vec<NotedFile>,
}

/// A file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedFile {
    /// The file, as the patch names it.
    pub path: String,
    /// What happens to it: the first letter of its line in the summary.
    pub letter: u8,
    /// Its new path, if it is moved.
    pub moved_to: Option<String>,
}

/// How a patch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchEnded {
    /// The patch.
    pub id: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// Why it was not applied.
    pub refusal: Option<PatchRefusal>,
}

/// Why a patch was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchRefusal {
    /// 1 if the patch makes no sense or does not fit its files.
    pub is_mismatch: u8,
    /// What happened.
    pub what: String,
    /// The next move.
    pub hint: String,
}

wire_enum!(PatchNote { 1 = Began(began), 2 = Files(files), 3 = Ended(ended) });
wire_struct!(PatchBegan { id, at_ms, directory, bytes, sha256 });
wire_struct!(PatchFiles { id, total, files });
wire_struct!(NotedFile { path, letter, moved_to });
wire_struct!(PatchEnded { id, at_ms, refusal });
wire_struct!(PatchRefusal { is_mismatch, what, hint });

impl PatchNote {
    /// The frame for it; `None` if it is too long.
    #[must_use]
    pub fn frame(&self) -> Option<Vec<u8>> {
        let mut frame = vec![0; FRAME_HEADER];
        self.write(&mut frame);
        (frame.len() <= MAX_NOTE_BYTES).then(|| framed(frame))
    }

    /// The notes in what came through the pipe, up to the first that makes no sense.
    #[must_use]
    pub fn read_all(mut bytes: &[u8]) -> Vec<Self> {
        let mut notes = Vec::new();
        while let Ok((note, rest)) = Self::read_first(bytes) {
            notes.push(note);
            bytes = rest;
        }
        notes
    }

    fn read_first(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = bytes.split_first_chunk::<FRAME_HEADER>().ok_or(Malformed)?;
        let length = usize::try_from(u32::from_le_bytes(*header)).map_err(|_| Malformed)?;
        let (content, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        Ok((read_whole(content)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> Vec<PatchNote> {
        vec![
            PatchNote::Began(PatchBegan {
                id: 1,
                at_ms: 2,
                directory: "/root".into(),
                bytes: 3,
                sha256: "ab".repeat(32),
            }),
            PatchNote::Files(PatchFiles {
                id: 1,
                total: 1,
                files: vec![NotedFile {
                    path: "a".to_owned(),
                    letter: b'R',
                    moved_to: Some("b".to_owned()),
                }],
            }),
            PatchNote::Ended(PatchEnded {
                id: 1,
                at_ms: 4,
                refusal: Some(PatchRefusal {
                    is_mismatch: 1,
                    what: "no".to_owned(),
                    hint: "yes".to_owned(),
                }),
            }),
        ]
    }

    #[test]
    fn what_was_written_is_read_up_to_the_first_nonsense() {
        let bytes: Vec<u8> = notes().iter().flat_map(|note| note.frame().expect("short")).collect();
        assert_eq!(PatchNote::read_all(&bytes), notes());
        for end in 0..bytes.len() {
            let read = PatchNote::read_all(&bytes[..end]);
            assert!(read.len() < 3 && notes().starts_with(&read), "{end}");
        }
        assert_eq!(PatchNote::read_all(&[&bytes[..], &[255; 9], &bytes].concat()), notes());
    }

    #[test]
    fn a_note_that_the_system_would_divide_has_no_frame() {
        let Some(PatchNote::Began(began)) = notes().into_iter().next() else { panic!("the first") };
        let directory = "/x".repeat(MAX_NOTE_BYTES / 2).into();
        assert_eq!(PatchNote::Began(PatchBegan { directory, ..began }).frame(), None);
    }
}
