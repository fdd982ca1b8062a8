//! Next moves after failures of file operations.

use toolwright_fs::{
    FileKind, FsError, FsErrorKind, NAME_DESCRIPTOR, PUT_BACK, SYNC_DIRECTORY, WRITE_IN_PLACE,
};

/// After an attempt to write the whole of an output beside it.
pub const OUTPUT_NOT_KEPT: &str = "Ask for less output at once.";

/// For every reader, unless [`session_hint`] has another.
#[must_use]
pub fn hint(error: &FsError) -> &'static str {
    match &error.kind {
        FsErrorKind::PathInvalid { .. } => "Give the path of a file below the root directory.",
        FsErrorKind::Escape { .. } => {
            "Use a path that stays below the root directory at every step; `..` and links may not lead out of it."
        }
        FsErrorKind::Protected { .. } => {
            "Leave it as it is; the host can change sandbox.denyWrite."
        }
        FsErrorKind::Git { .. } => {
            "File tools write nothing that git runs or obeys. Use git itself, by a command; the host can change sandbox.denyWrite."
        }
        FsErrorKind::Reserved => {
            "Do without it: only the host reads and writes it, and its tools and commands do not."
        }
        FsErrorKind::NotFound => {
            "Check the spelling, list the directory, or create the file with the write tool."
        }
        FsErrorKind::Exists => {
            "No file was changed. Update the file in place of adding it, delete it first, or name another path."
        }
        FsErrorKind::TooManyFiles { .. } => "No file was changed. Make several smaller patches.",
        FsErrorKind::NotAFile { kind: FileKind::Directory } => "Name a file inside it.",
        FsErrorKind::NotAFile { .. } => "Only regular files can be read, written or edited.",
        FsErrorKind::NotADirectory => {
            "A part of the path before its end is a file; check the path."
        }
        FsErrorKind::Permission { .. } => {
            "The user running the agent lacks the right; choose another path or have the permission changed."
        }
        FsErrorKind::TooLarge { result: true, .. } => {
            "The edited file would be over the limit; split it; the limit is the host's."
        }
        FsErrorKind::TooLarge { .. } => {
            "Search it with grep or print a part of it with bash (`sed -n`); the limit is the host's."
        }
        FsErrorKind::Conflict => "Nothing was changed. Read the file again and make a new patch.",
        FsErrorKind::Busy { .. } => "Try again when the other calls on this file have finished.",
        FsErrorKind::NotReplaceable { .. } => {
            "Nothing was changed. Write to another path, or say so: the host can fix the cause, or allow overwriting in place (allowInPlace)."
        }
        FsErrorKind::Root { .. } => {
            "No call can fix this: the host sets the root directory, which has to exist."
        }
        FsErrorKind::RootChanged { .. } => {
            "No call can fix this. If this is the intended directory, the host must create the tools, context or session again."
        }
        FsErrorKind::ForkFull { .. } => {
            "No call can fix this. The host applies or discards the fork, or opens it again with a larger `maxBytes`."
        }
        FsErrorKind::Io { operation, .. } if *operation == WRITE_IN_PLACE => {
            "The file may now hold parts of the old and the new content: fix the cause, then write the whole file again."
        }
        FsErrorKind::Io { operation, .. } if *operation == PUT_BACK => {
            "Some files may hold their new content. The next change of a file puts them back: fix the cause, make one, and read the files again."
        }
        FsErrorKind::Io { operation, .. } if *operation == NAME_DESCRIPTOR => {
            "Have the host mount /proc where it runs; no path is at fault."
        }
        FsErrorKind::Io { operation, .. } if *operation == SYNC_DIRECTORY => {
            "The new content is in its place, but may not survive a loss of power; check the disk."
        }
        FsErrorKind::Io { .. } => match error.errno() {
            Some("ENOSPC" | "EDQUOT") => "Nothing was changed. Free some disk space and try again.",
            Some("EMFILE" | "ENFILE") => {
                "Too many files are open; make fewer calls at once and try again."
            }
            Some("EFBIG") => {
                "Nothing was changed. The file would be over the size limit of the process or the file system; write less."
            }
            Some("EAGAIN") => {
                "The file gives nothing now, or is being replaced all the time; try again later."
            }
            _ => "Nothing was changed. Try again; if it persists, check the disk.",
        },
        FsErrorKind::Cancelled => "",
    }
}

/// For a tool of a session, where [`hint`] would lead nowhere.
#[must_use]
pub fn session_hint(error: &FsError) -> Option<&'static str> {
    match &error.kind {
        FsErrorKind::TooLarge { result: true, .. } => Some(
            "Nothing was changed. Make the new text shorter, or divide the file; the host can raise limits.textBytes.",
        ),
        FsErrorKind::TooLarge { .. } => Some(
            "Read it in parts (offset, limit) or search it with grep, and change it with a command; the host can raise limits.textBytes.",
        ),
        FsErrorKind::Conflict => Some(
            "Nothing was changed. Read the file again, and make the change to what it holds now.",
        ),
        FsErrorKind::NotReplaceable { .. } => {
            Some("Nothing was changed. Write to another path, or have the cause fixed.")
        }
        FsErrorKind::Root { .. } => {
            Some("Go on without it; the host opens a new session when the directory is there.")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use toolwright_fs::Refusal;

    use super::*;

    fn io(operation: &'static str, errno: i32) -> FsError {
        let source = io::Error::from_raw_os_error(errno);
        FsErrorKind::Io { operation, source }.at("a")
    }

    #[test]
    fn a_hint_depends_on_what_failed_and_how_far_the_change_had_come() {
        for (operation, errno, words) in [
            ("writing", libc::ENOSPC, "Free some disk space"),
            ("writing", libc::EDQUOT, "Free some disk space"),
            ("opening", libc::EMFILE, "Too many files are open"),
            ("opening", libc::ENFILE, "Too many files are open"),
            ("writing", libc::EFBIG, "write less"),
            ("reading", libc::EAGAIN, "try again later"),
            ("reading", libc::EIO, "check the disk"),
            (PUT_BACK, libc::EIO, "puts them back"),
            (WRITE_IN_PLACE, libc::ENOSPC, "parts of the old and the new content"),
            (SYNC_DIRECTORY, libc::EIO, "The new content is in its place"),
            (NAME_DESCRIPTOR, libc::ENOENT, "mount /proc"),
        ] {
            let hint = hint(&io(operation, errno));
            assert!(hint.contains(words), "{operation}, {errno}: {hint}");
        }
    }

    #[test]
    fn options_of_the_host_are_named_at_the_door_that_has_them() {
        let path = || "a".to_owned();
        let not_replaceable = FsErrorKind::NotReplaceable {
            refusal: Refusal::MountPoint,
            source: io::Error::from_raw_os_error(libc::EBUSY),
        }
        .at(path());
        assert!(hint(&not_replaceable).contains("allowInPlace"));
        assert!(!session_hint(&not_replaceable).expect("its own").contains("allowInPlace"));
        let too_large = FsErrorKind::TooLarge { bytes: 2, limit: 1, result: false }.at(path());
        assert!(hint(&too_large).contains("grep"));
        assert!(session_hint(&too_large).expect("its own").contains("limits.textBytes"));
        let protected = FsErrorKind::Protected { protected: path() }.at(path());
        assert_eq!(hint(&protected), "Leave it as it is; the host can change sandbox.denyWrite.");
    }
}
