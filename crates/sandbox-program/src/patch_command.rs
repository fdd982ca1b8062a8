//! `apply_patch`: the program under the name by which commands call it.
//!
//! It is started by a command and confined like every other program of one: the tree, Landlock and the
//! filter say what it may change. It makes all changes of a patch or none, as the tool of that name
//! does, in the directory that it is started in, and tells the host about it.

mod notes;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{
    Before, Change, ChangeLimits, ChangeSet, FileChange, FsError, Place, Root, UpdateError,
    WriteOptions,
};
use toolwright_patch::{FilePatch, PatchError, parse_patch};
use toolwright_patch_voice::applied::{
    self, MAX_FILES, PatchKind, PatchedFile, after_no_change, failed_file, refused, summary,
};
use toolwright_patch_voice::{files, patches};
use toolwright_process::ShortId;

use notes::Notes;

/// The most bytes of a patch.
const MAX_BYTES: usize = 10 << 20;

const USAGE: &str = "Usage: apply_patch 'PATCH', or apply_patch <<'EOF' with the patch in the lines below. Paths begin at the working directory.";

const HERE: &str = "Run apply_patch in a directory that commands may write to, and name the files from there: a plan of the changes lies in it for a moment.";

/// Applies the patch that is the one argument, or comes in by standard input.
#[must_use]
pub fn apply_patch(arguments: &[OsString]) -> ExitCode {
    // The host cannot look this process up by its pid.
    ShortId::use_locks();
    let patch = match arguments {
        [] => match read(io::stdin().lock()) {
            Ok(patch) if patch.is_empty() => {
                return refuse(&Refusal::new("There is no patch", USAGE));
            }
            Ok(patch) => patch,
            Err(error) => {
                let what = format!("The patch cannot be read: {error}");
                return refuse(&Refusal::new(&what, USAGE));
            }
        },
        [patch] => patch.as_encoded_bytes().to_vec(),
        _ => return refuse(&Refusal::new("There is more than one argument", USAGE)),
    };
    let notes = Notes::begin(&patch);
    let applied = check(patch).and_then(|patch| apply(&patch, notes.as_ref()));
    if let Some(notes) = notes {
        notes.end(applied.as_ref().err());
    }
    match applied {
        Ok(text) => {
            let _ = writeln!(io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(refusal) => refuse(&refusal),
    }
}

/// Why a patch was not applied.
struct Refusal {
    /// Whether the patch makes no sense or does not fit its files.
    is_mismatch: bool,
    what: String,
    /// The next move.
    hint: String,
}

impl Refusal {
    fn new(what: &str, hint: &str) -> Self {
        Self { is_mismatch: false, what: what.to_owned(), hint: hint.to_owned() }
    }

    fn mismatch(path: Option<&str>, error: &PatchError) -> Self {
        let (path, error) = failed_file(path, error);
        let hint = after_no_change(&patches::hint(error));
        Self { is_mismatch: true, what: applied::failed(path, error), hint }
    }
}

fn check(patch: Vec<u8>) -> Result<String, Refusal> {
    if patch.len() > MAX_BYTES {
        let hint = "Send the hunks in several smaller patches.";
        return Err(Refusal::new(&format!("Patch too large: limit {MAX_BYTES} bytes"), hint));
    }
    String::from_utf8(patch).map_err(|_| {
        let hint = "Change a file of another encoding by a program.";
        Refusal::new("The patch is not UTF-8", hint)
    })
}

fn read(stdin: impl Read) -> io::Result<Vec<u8>> {
    let mut patch = Vec::new();
    stdin.take(MAX_BYTES as u64 + 1).read_to_end(&mut patch)?;
    Ok(patch)
}

fn refuse(Refusal { what, hint, .. }: &Refusal) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", format!("{what}\n{hint}").trim_end());
    ExitCode::FAILURE
}

/// What was done.
fn apply(patch: &str, notes: Option<&Notes>) -> Result<String, Refusal> {
    let files = parse_patch(patch).map_err(|error| Refusal::mismatch(None, &error))?;
    let mut planned: Vec<PatchedFile> = files.iter().map(PatchedFile::of).collect();
    if let Some(notes) = notes {
        notes.plan(&planned);
    }
    let changes: Vec<FileChange<'_>> = planned.iter().map(change).collect();
    let options = WriteOptions::default();
    let limits = ChangeLimits { files: MAX_FILES, ..ChangeLimits::default() };
    let here = std::env::current_dir().map_err(|error| {
        Refusal::new(&format!("The working directory cannot be used: {error}"), HERE)
    })?;
    let in_words = |error: FsError| {
        let hint: Cow<'_, str> = if here.as_os_str() == &*error.path {
            after_no_change(HERE).into()
        } else {
            refused(&error).unwrap_or_else(|| files::hint(&error).into())
        };
        Refusal::new(&error.to_string(), &hint)
    };
    let root = Root::open(&here).map_err(in_words)?;
    let set = ChangeSet { root: &root, changes: &changes, emptied: &[], limits };
    let mut told = vec![Vec::new(); files.len()];
    let apply = |index: usize, old: Before<'_>| -> Result<_, (usize, PatchError)> {
        let Before { bytes, is_link } = old;
        let file: &FilePatch<'_> = &files[index];
        let applied = if is_link { file.apply_to_link(bytes) } else { file.apply(bytes) };
        applied
            .map(|applied| {
                told[index] = applied.notes();
                applied.bytes
            })
            .map_err(|error| (index, error))
    };
    let cancel = AtomicBool::new(false);
    let done = if files.first().is_some_and(|file| file.replaces) {
        set.run_replacing(&options, &cancel, apply)
    } else {
        set.run(&options, &cancel, apply)
    };
    match done {
        Ok(done) => {
            PatchedFile::tell(&mut planned, &done, told);
            Ok(summary(&planned))
        }
        Err(UpdateError::Fs(error)) => Err(in_words(error)),
        Err(UpdateError::Refused((index, error))) => {
            Err(Refusal::mismatch(Some(&planned[index].path), &error))
        }
    }
}

fn change(file: &PatchedFile) -> FileChange<'_> {
    let change = match (file.kind, &file.moved_to) {
        (PatchKind::Add, _) => Change::Create { mode: None },
        (PatchKind::Delete, _) => Change::Delete,
        (_, Some(to)) => Change::Move { to: Place::Path(to) },
        (PatchKind::Update | PatchKind::Move, None) => Change::Update,
    };
    FileChange { place: Place::Path(&file.path), change }
}
