//! The public error codes: the one place where a code is text.
//!
//! The build writes `ts/core/codes.ts` and the index of `docs/errors.md` from this file.

use std::fmt;

use crate::contract_code::ContractCode;

macro_rules! codes {
    ($($area:literal {
        $($(#[doc = $meaning:literal])+ $name:ident = $text:literal => $contract:ident $($acted:ident)?,)+
    })+) => {
        /// A stable name for a kind of failure, for programs to decide by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($($(#[doc = $meaning])+ $name,)+)+
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$($(Self::$name,)+)+];

            /// The code as programs and models read it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$name => $text,)+)+
                }
            }

            /// What the code says, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($(Self::$name => concat!($($meaning),+).trim_ascii(),)+)+
                }
            }

            /// The section of `docs/errors.md` that describes it.
            #[must_use]
            pub const fn area(self) -> &'static str {
                match self {
                    $($(Self::$name)|+ => $area,)+
                }
            }

            /// The code of an envelope whose call failed with it. No built-in tool of a session fails
            /// with a code whose counterpart is `ToolFailed`.
            #[must_use]
            pub const fn contract_code(self) -> ContractCode {
                match self {
                    $($(Self::$name => ContractCode::$contract,)+)+
                }
            }

            /// Whether a built-in tool that fails with it has done nothing. A retry is not warned
            /// of such a call. Codes that can also follow a partial effect are marked `acted`.
            #[must_use]
            pub const fn is_refusal(self) -> bool {
                match self {
                    $($(Self::$name => true $(&& codes!(@$acted))?,)+)+
                }
            }
        }
    };
    (@acted) => { false };
}

codes! {
    "Paths" {
        /// The path is empty, too long, no text, or goes through too many links.
        PathInvalid = "TOOL_PATH_INVALID" => InvalidArguments,
        /// The path leaves the root directory at some step.
        PathEscape = "TOOL_PATH_ESCAPE" => CapabilityRefused,
        /// Nothing exists at the path.
        FileNotFound = "TOOL_FILE_NOT_FOUND" => NotFound,
        /// A patch creates a file, or moves one, where something exists.
        FileExists = "TOOL_FILE_EXISTS" => Conflict,
        /// The path names a directory or a special file.
        NotAFile = "TOOL_NOT_A_FILE" => NotAFile,
        /// A component of the path is a file.
        NotADirectory = "TOOL_NOT_A_DIRECTORY" => NotADirectory,
        /// The operating system refuses access to the file.
        PermissionDenied = "TOOL_PERMISSION_DENIED" => OsDenied,
        /// The root directory cannot be opened.
        RootInvalid = "TOOL_ROOT_INVALID" => Unavailable,
        /// A granted directory is no longer the one that was granted.
        RootChanged = "TOOL_ROOT_CHANGED" => Unavailable,
    }
    "Sizes" {
        /// The file is larger than the limit, or an edit would make it so.
        FileTooLarge = "TOOL_FILE_TOO_LARGE" => TooLarge,
        /// The content to write is larger than the limit.
        ContentTooLarge = "TOOL_CONTENT_TOO_LARGE" => TooLarge,
        /// The patch is larger than the limit.
        PatchTooLarge = "TOOL_PATCH_TOO_LARGE" => ToolFailed,
        /// The file is not text.
        FileBinary = "TOOL_FILE_BINARY" => BinaryFile,
    }
    "Edits and writes" {
        /// The patch is malformed or does not fit the file.
        PatchFailed = "TOOL_PATCH_FAILED" => ToolFailed,
        /// Another program changed the file during the edit.
        // The file was exchanged and exchanged back.
        EditConflict = "TOOL_EDIT_CONFLICT" => Stale acted,
        /// Others have changed the file since it was read, and the call would undo that.
        FileChanged = "TOOL_FILE_CHANGED" => Stale,
        /// The file does not contain the text to replace.
        EditNoMatch = "TOOL_EDIT_NO_MATCH" => Conflict,
        /// The file contains the text to replace more than once.
        EditAmbiguous = "TOOL_EDIT_AMBIGUOUS" => Ambiguous,
        /// Other calls kept the file busy for longer than the timeout.
        FileBusy = "TOOL_FILE_BUSY" => Busy,
        /// The host protects the path.
        PathProtected = "TOOL_PATH_PROTECTED" => SandboxRefused,
        /// The file cannot be replaced in one step.
        ReplaceRefused = "TOOL_REPLACE_REFUSED" => IoFailed,
        /// The system failed to read or write.
        // The file may already be replaced: synchronising its directory can still fail.
        IoFailed = "TOOL_IO_FAILED" => IoFailed acted,
    }
    "grep" {
        /// The pattern is invalid, or the search could not run.
        GrepFailed = "TOOL_GREP_FAILED" => InvalidPattern,
    }
    "bash" {
        /// The command failed, or a signal killed it.
        // The command ran.
        CommandFailed = "TOOL_COMMAND_FAILED" => ToolFailed acted,
        /// The command needs the network, which is blocked.
        NetworkDisabled = "TOOL_NETWORK_DISABLED" => SandboxRefused,
        /// The command needs a git remote while the network is blocked.
        GitRemoteDisabled = "TOOL_GIT_REMOTE_DISABLED" => SandboxRefused,
        /// The command asked for a path or host that is not granted to it.
        GrantRefused = "TOOL_GRANT_REFUSED" => SandboxRefused,
        /// A language server does not start, has ended, or gives no answer.
        LanguageServerFailed = "TOOL_LANGUAGE_SERVER_FAILED" => Unavailable,
        /// A required layer of the sandbox is not available.
        SandboxUnavailable = "TOOL_SANDBOX_UNAVAILABLE" => Unavailable,
        /// The call took longer than its timeout.
        // The command ran, and a delayed write may still happen.
        ProcessTimeout = "PROCESS_TIMEOUT" => Timeout acted,
        /// The command could not be started.
        ProcessFailed = "PROCESS_FAILED" => ToolFailed,
        /// The process ended before it recorded the outcome of the call.
        // How far the call had come is unknown.
        ProcessDied = "PROCESS_DIED" => ToolFailed acted,
    }
    "Processes that are kept running" {
        /// No process has this id.
        ProcessNotFound = "PROCESS_NOT_FOUND" => NotFound,
        /// The process has ended, or takes no input any longer.
        ProcessEnded = "PROCESS_ENDED" => Conflict,
        /// The process has not taken its earlier input yet.
        ProcessBusy = "PROCESS_BUSY" => Busy,
        /// As many processes run as the host allows.
        ProcessLimit = "PROCESS_LIMIT" => Unavailable,
    }
    "Tasks and replays" {
        /// Earlier attempts left effects that a retry would repeat.
        ReplayUnsafe = "REPLAY_UNSAFE" => ToolFailed,
        /// The recorded output of a call is incomplete.
        ReplayIncomplete = "REPLAY_INCOMPLETE" => ToolFailed,
        /// The program's calls differ from those of the recorded run.
        ReplayDiffers = "REPLAY_DIFFERS" => ToolFailed,
        /// An earlier process began the call, and it is not known whether it was made.
        OutcomeUnknown = "OUTCOME_UNKNOWN" => ToolFailed acted,
        /// The task of the call has ended.
        TaskEnded = "TASK_ENDED" => ToolFailed,
    }
    "The journal" {
        /// The location is neither a file nor `memory:`.
        JournalLocationInvalid = "JOURNAL_LOCATION_INVALID" => ToolFailed,
        /// The journal does not exist and is not created.
        JournalNotFound = "JOURNAL_NOT_FOUND" => ToolFailed,
        /// The journal or a file beside it cannot be opened.
        JournalOpenFailed = "JOURNAL_OPEN_FAILED" => ToolFailed,
        /// A file of the journal was removed or replaced while it was open.
        JournalRemoved = "JOURNAL_REMOVED" => ToolFailed,
        /// The journal cannot be written.
        JournalReadOnly = "JOURNAL_READ_ONLY" => ToolFailed,
        /// The file is not a database.
        JournalNotADatabase = "JOURNAL_NOT_A_DATABASE" => ToolFailed,
        /// The file is damaged.
        JournalCorrupt = "JOURNAL_CORRUPT" => ToolFailed,
        /// The table of calls has another schema.
        JournalSchemaMismatch = "JOURNAL_SCHEMA_MISMATCH" => ToolFailed,
        /// No space is left for the journal.
        JournalDiskFull = "JOURNAL_DISK_FULL" => ToolFailed,
        /// Other processes held the journal for longer than the timeout.
        JournalBusy = "JOURNAL_BUSY" => ToolFailed,
        /// The journal already has a row for the call.
        JournalDuplicateCall = "JOURNAL_DUPLICATE_CALL" => ToolFailed,
        /// The journal has no row for the call.
        JournalCallMissing = "JOURNAL_CALL_MISSING" => ToolFailed,
        /// The row of the call already has its outcome.
        JournalCallFinished = "JOURNAL_CALL_FINISHED" => ToolFailed,
        /// Another attempt of the task is running.
        JournalTaskLocked = "JOURNAL_TASK_LOCKED" => ToolFailed,
        /// A lock file of the journal cannot be used.
        JournalLockFailed = "JOURNAL_LOCK_FAILED" => ToolFailed,
        /// A row is larger than the database can hold.
        JournalRowTooLarge = "JOURNAL_ROW_TOO_LARGE" => ToolFailed,
        /// Another process has taken over the calls of this one, which may record nothing any more.
        JournalOwnerFenced = "JOURNAL_OWNER_FENCED" => ToolFailed,
        /// The database server does not answer.
        JournalUnreachable = "JOURNAL_UNREACHABLE" => ToolFailed,
        /// Rows that are written later could not be written.
        JournalRowsLost = "JOURNAL_ROWS_LOST" => ToolFailed,
        /// The journal is closed.
        JournalClosed = "JOURNAL_CLOSED" => ToolFailed,
        /// Another failure of the system or the database.
        JournalIoFailed = "JOURNAL_IO_FAILED" => ToolFailed,
    }
    "Checkpoints" {
        /// There is no such checkpoint, or it was removed.
        CheckpointNotFound = "CHECKPOINT_NOT_FOUND" => NotFound,
        /// No changes are known of a call or a turn.
        CheckpointCallUnknown = "CHECKPOINT_CALL_UNKNOWN" => NotFound,
        /// Somebody else changed what would be restored.
        CheckpointConflict = "CHECKPOINT_CONFLICT" => Conflict,
        /// A file could not be prepared for its restoration.
        CheckpointRestoreFailed = "CHECKPOINT_RESTORE_FAILED" => ToolFailed,
        /// The store would lie in the directory that it keeps.
        CheckpointStoreInside = "CHECKPOINT_STORE_INSIDE" => ToolFailed,
        /// The store keeps another directory.
        CheckpointOtherRoot = "CHECKPOINT_OTHER_ROOT" => ToolFailed,
        /// The files are more than the store may keep.
        CheckpointTooLarge = "CHECKPOINT_TOO_LARGE" => TooLarge,
        /// No space is left, for the store or for a file.
        CheckpointDiskFull = "CHECKPOINT_DISK_FULL" => ToolFailed,
        /// Other processes held the store for longer than the timeout.
        CheckpointBusy = "CHECKPOINT_BUSY" => ToolFailed,
        /// The store is damaged, or is no store.
        CheckpointCorrupt = "CHECKPOINT_CORRUPT" => ToolFailed,
        /// The store is closed.
        CheckpointClosed = "CHECKPOINT_CLOSED" => ToolFailed,
        /// Another failure of the store.
        CheckpointStoreFailed = "CHECKPOINT_STORE_FAILED" => ToolFailed,
    }
    "Forks" {
        /// No fork can be made of the directory here.
        ForkUnavailable = "FORK_UNAVAILABLE" => Unavailable,
        /// There is no such fork, or it was discarded.
        ForkNotFound = "FORK_NOT_FOUND" => NotFound,
        /// Another process has the fork open, or a command still runs in it.
        ForkBusy = "FORK_BUSY" => Busy,
        /// The machine went down while the fork was open, or its program right after it was made.
        ForkDamaged = "FORK_DAMAGED" => ToolFailed,
        /// The fork has no change at a path.
        ForkChangeNotFound = "FORK_CHANGE_NOT_FOUND" => NotFound,
        /// The directory has changed where the fork has, and nothing was applied.
        ForkConflict = "FORK_CONFLICT" => Conflict,
        /// The fork has more bytes than it may.
        ForkFull = "FORK_FULL" => TooLarge,
        /// Nothing that the fork has applied can be taken back.
        ForkNotApplied = "FORK_NOT_APPLIED" => NotFound,
        /// The fork is closed.
        ForkClosed = "FORK_CLOSED" => ToolFailed,
        /// Another failure of the system while a fork was made, compared or applied.
        ForkFailed = "FORK_FAILED" => IoFailed acted,
    }
    "Thread stores" {
        /// The location is neither a file nor `memory:`.
        ThreadLocationInvalid = "THREAD_LOCATION_INVALID" => ToolFailed,
        /// The store does not exist and is not created.
        ThreadStoreNotFound = "THREAD_STORE_NOT_FOUND" => ToolFailed,
        /// The store or a file beside it cannot be opened.
        ThreadOpenFailed = "THREAD_OPEN_FAILED" => ToolFailed,
        /// A file of the store was removed or replaced while it was open.
        ThreadRemoved = "THREAD_REMOVED" => ToolFailed,
        /// The store cannot be written.
        ThreadReadOnly = "THREAD_READ_ONLY" => ToolFailed,
        /// The file is not a database.
        ThreadNotADatabase = "THREAD_NOT_A_DATABASE" => ToolFailed,
        /// The file is damaged, or another program changed it.
        ThreadCorrupt = "THREAD_CORRUPT" => ToolFailed,
        /// The tables have another schema.
        ThreadSchemaMismatch = "THREAD_SCHEMA_MISMATCH" => ToolFailed,
        /// No space is left for the store.
        ThreadDiskFull = "THREAD_DISK_FULL" => ToolFailed,
        /// Other processes held the store for longer than the timeout.
        ThreadBusy = "THREAD_BUSY" => ToolFailed,
        /// A lock file of the store cannot be used.
        ThreadLockFailed = "THREAD_LOCK_FAILED" => ToolFailed,
        /// Another owner works on the thread.
        ThreadLocked = "THREAD_LOCKED" => ToolFailed,
        /// The store is closed.
        ThreadClosed = "THREAD_CLOSED" => ToolFailed,
        /// Another failure of the system or the database.
        ThreadIoFailed = "THREAD_IO_FAILED" => ToolFailed,
        /// No thread has this id.
        ThreadNotFound = "THREAD_NOT_FOUND" => ToolFailed,
        /// The thread has no call with this id.
        ThreadCallNotFound = "THREAD_CALL_NOT_FOUND" => ToolFailed,
        /// The call is not in the state that the step needs.
        ThreadCallState = "THREAD_CALL_STATE" => ToolFailed,
        /// The thread already has this id.
        ThreadDuplicateId = "THREAD_DUPLICATE_ID" => ToolFailed,
        /// The thread has no such attachment.
        ThreadAttachmentNotFound = "THREAD_ATTACHMENT_NOT_FOUND" => ToolFailed,
        /// An id, a name or a path is malformed.
        ThreadNameRefused = "THREAD_NAME_REFUSED" => ToolFailed,
        /// A key is malformed, or the call has too many.
        ThreadKeyRefused = "THREAD_KEY_REFUSED" => ToolFailed,
        /// The value cannot be stored.
        ThreadValueRefused = "THREAD_VALUE_REFUSED" => ToolFailed,
        /// The data of an attachment is not base64.
        ThreadEncodingInvalid = "THREAD_ENCODING_INVALID" => ToolFailed,
        /// An attachment or a text is larger than the limit.
        ThreadTooLarge = "THREAD_TOO_LARGE" => ToolFailed,
        /// One call led to too many queued calls.
        ThreadQueueLimit = "THREAD_QUEUE_LIMIT" => ToolFailed,
    }
    "The tool contract" {
        /// The session has no capability for the call.
        CapabilityDenied = "CAPABILITY_DENIED" => CapabilityRefused,
        /// A hook of the host refuses the call.
        RefusedByHook = "TOOL_REFUSED_BY_HOOK" => WatchdogDenied,
        /// The manifest is invalid.
        ContractManifestInvalid = "CONTRACT_MANIFEST_INVALID" => ToolFailed,
        /// A permission rule is invalid.
        ContractRuleInvalid = "CONTRACT_RULE_INVALID" => ToolFailed,
        /// A file was used after its call had ended.
        TargetClosed = "TOOL_TARGET_CLOSED" => ToolFailed,
    }
    "Everything else" {
        /// An argument or an option is invalid.
        InvalidInput = "INVALID_INPUT" => InvalidArguments,
        /// The native addon cannot be loaded.
        NativeUnavailable = "NATIVE_UNAVAILABLE" => Unavailable,
        /// Native code has a defect.
        // A defect can show itself at any time.
        InternalError = "INTERNAL_ERROR" => ToolFailed acted,
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
