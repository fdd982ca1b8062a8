//! What the patches of a command report about themselves.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub use toolwright_sandbox::wire::{NotedFile, PatchRefusal};

/// The most patches of one command that are kept.
#[cfg(target_os = "linux")]
const MAX_REPORTS: usize = 100;

/// What the program `apply_patch` has told the host about one patch. Any program of the command could
/// have told the same, so this is what the command says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchReport {
    /// Where its paths begin, as the command sees it; empty if that is not known.
    pub directory: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// The first of its files, in its order.
    pub files: Vec<NotedFile>,
    /// How many files it has.
    pub total: u32,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// How it ended.
    pub end: PatchEnd,
}

/// How a patch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchEnd {
    /// All of it was applied.
    Applied {
        /// In milliseconds since 1970.
        at_ms: u64,
    },
    /// Nothing of it was.
    Refused {
        /// In milliseconds since 1970.
        at_ms: u64,
        /// Why.
        refusal: PatchRefusal,
    },
    /// The program was killed before it could tell. The next change of a file there finishes or undoes
    /// the patch.
    Unknown,
}

/// Collects the reports of one command, however that ends.
#[derive(Debug, Default)]
pub struct PatchReports(Mutex<Vec<PatchReport>>);

impl PatchReports {
    /// The reports so far, in the order in which the patches began.
    #[must_use]
    pub fn take(&self) -> Vec<PatchReport> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(target_os = "linux")]
    fn add(&self, bytes: &[u8]) {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reports.extend(read(bytes));
        reports.truncate(MAX_REPORTS);
    }
}

#[cfg(target_os = "linux")]
pub(crate) use pipe::NotesPipe;

#[cfg(target_os = "linux")]
mod pipe {
    use std::io::{self, PipeReader, PipeWriter};

    use rustix::fs::{Mode, OFlags, fchmod, fcntl_getfl, fcntl_setfl};
    use rustix::io::{Errno, read};
    use rustix::pipe::fcntl_setpipe_size;
    use toolwright_sandbox::wire::NOTES_MODE;

    use super::PatchReports;

    /// Enough for the notes of a hundred patches.
    const PIPE_BYTES: usize = 256 << 10;

    /// The reading end of the pipe that one command has for notes.
    pub(crate) struct NotesPipe(PipeReader);

    impl NotesPipe {
        /// Neither end blocks: a full pipe holds up no patch.
        pub(crate) fn open() -> io::Result<(Self, PipeWriter)> {
            let (reader, writer) = io::pipe()?;
            fchmod(&writer, Mode::from_raw_mode(NOTES_MODE))?;
            // A user's pipes may have reached their limit; a smaller one has room for fewer patches.
            let _ = fcntl_setpipe_size(&writer, PIPE_BYTES);
            fcntl_setfl(&reader, fcntl_getfl(&reader)? | OFlags::NONBLOCK)?;
            fcntl_setfl(&writer, fcntl_getfl(&writer)? | OFlags::NONBLOCK)?;
            Ok((Self(reader), writer))
        }

        /// Reads what is there. The command has ended.
        pub(crate) fn read_into(self, reports: &PatchReports) {
            let mut bytes = vec![0; PIPE_BYTES];
            let mut filled = 0;
            while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match read(&self.0, rest) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            reports.add(&bytes[..filled]);
        }
    }
}

#[cfg(target_os = "linux")]
fn read(bytes: &[u8]) -> Vec<PatchReport> {
    use toolwright_sandbox::wire::PatchNote;
    let mut reports: Vec<(u64, PatchReport)> = Vec::new();
    for note in PatchNote::read_all(bytes) {
        let of = |id: u64, reports: &mut Vec<(u64, PatchReport)>| -> Option<usize> {
            reports.iter().rposition(|(known, _)| *known == id)
        };
        match note {
            PatchNote::Began(began) if reports.len() < MAX_REPORTS => {
                let is_hash = began.sha256.len() == 64
                    && began.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
                let report = PatchReport {
                    directory: began.directory,
                    bytes: began.bytes,
                    sha256: if is_hash { began.sha256 } else { String::new() },
                    files: Vec::new(),
                    total: 0,
                    began_ms: began.at_ms,
                    end: PatchEnd::Unknown,
                };
                reports.push((began.id, report));
            }
            PatchNote::Began(_) => {}
            PatchNote::Files(files) => {
                if let Some(index) = of(files.id, &mut reports) {
                    let report = &mut reports[index].1;
                    report.total = files.total;
                    report.files.extend(files.files);
                }
            }
            PatchNote::Ended(ended) => {
                if let Some(index) = of(ended.id, &mut reports) {
                    let at_ms = ended.at_ms;
                    reports[index].1.end = match ended.refusal {
                        None => PatchEnd::Applied { at_ms },
                        Some(refusal) => PatchEnd::Refused { at_ms, refusal },
                    };
                }
            }
        }
    }
    reports.into_iter().map(|(_, report)| report).collect()
}
