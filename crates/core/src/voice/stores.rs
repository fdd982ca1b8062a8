//! Next moves after failures of journals and of thread stores.

use toolwright_sqlite::SqliteErrorKind;

pub(crate) const DUPLICATE_CALL: &str =
    "Give every call of an attempt its own sequence number, and every repetition its own attempt.";
pub(crate) const CALL_MISSING: &str =
    "The row was removed or archived by another program; its outcome was not recorded.";
pub(crate) const CALL_FINISHED: &str = "Record the outcome of a call once.";
pub(crate) const TASK_LOCKED: &str =
    "Wait until it has ended; a lock goes with the process that holds it.";
pub(crate) const CALL_DIFFERS: &str =
    "The program was changed since the run began: give changed calls other ids, or end the run.";
pub(crate) const ROWS_LOST: &str = "Remove the cause; calls with side effects are not concerned.";

pub(crate) const PROCESS_DIED: &str =
    "Look at what it should have changed before it is made again.";

pub(crate) const NO_THREAD: &str = "Check the id, or create the thread first.";
pub(crate) const THREAD_LOCKED: &str =
    "Wait until it is free; the lock is released when its process ends.";
pub(crate) const NO_CALL: &str = "Check the id of the call, and that of its thread.";
pub(crate) const CALL_STATE: &str = "Begin a call once, and finish it once after that.";
pub(crate) const DUPLICATE_ID: &str =
    "Give every call and every message an id of its own, or none.";
pub(crate) const NO_ATTACHMENT: &str =
    "Use the path of an attachment of this thread, as it was given.";
pub(crate) const NAME_REFUSED: &str =
    "Give a short name of one line, for an attachment with a MIME type such as `image/png`.";
pub(crate) const NOT_BASE64: &str = "Encode the bytes with the standard alphabet and padding, without line breaks or a `data:` prefix.";
pub(crate) const TOO_LARGE: &str = "Store less, or store it in parts.";

/// After a failure of the database of a journal, and of a thread store.
pub(crate) fn hints(kind: SqliteErrorKind) -> [&'static str; 2] {
    let either = |hint| [hint; 2];
    match kind {
        SqliteErrorKind::Location => [
            "Name a file as `file:runs.db`, or `memory:`.",
            "Name a file as `file:thread.db`, or `memory:`.",
        ],
        SqliteErrorKind::NotFound => [
            "Check the path: to be read, the journal has to be there, and to be created, its directory.",
            "Check the path: to be read, the store has to be there, and to be created, its directory.",
        ],
        SqliteErrorKind::Removed => [
            "Open it again, and keep it where no command of a task removes it.",
            "Open it again, and keep it where no tool removes it.",
        ],
        SqliteErrorKind::WrongSchema => [
            "Choose another file: this one is no journal, or that of a program which keeps other columns.",
            "Choose another file: this one is no thread store, or one of its tables was made by another program.",
        ],
        SqliteErrorKind::Full => [
            "Free some disk space and try again; the rows already written are safe.",
            "Free some disk space and try again; what was written before is safe.",
        ],
        SqliteErrorKind::Lock => [
            "Check that the directory beside the journal can be written by this user.",
            "Check that the directory beside the thread store can be written by this user.",
        ],
        SqliteErrorKind::TooLarge => {
            ["Record a smaller input, for instance the size and hash of a content.", TOO_LARGE]
        }
        SqliteErrorKind::CannotOpen => {
            either("Check that the file and its directory can be read and written by this user.")
        }
        SqliteErrorKind::ReadOnly => either(
            "Make the file and its directory writable, choose another place, or open it for reading only.",
        ),
        SqliteErrorKind::NotADatabase => {
            either("Nothing was changed. Choose another path, or move the file away.")
        }
        SqliteErrorKind::Corrupt => either(
            "Nothing was changed. Move the file and those beside it (`-wal`, `-shm`) away, and recover what can be read with `sqlite3 FILE .recover`.",
        ),
        SqliteErrorKind::Busy => {
            either("Try again; if it persists, look for a program that keeps a transaction open.")
        }
        SqliteErrorKind::Closed => either("Open it again, or close it only after the last call."),
        SqliteErrorKind::Io => {
            either("Check the disk, its quota and the limits of the process, and try again.")
        }
    }
}
