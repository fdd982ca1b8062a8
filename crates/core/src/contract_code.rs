//! The codes of the tool contract: what the `metadata.code` of an envelope can be.

/// Which side a failure comes from, and so what the model can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// No failure.
    Ok,
    /// The arguments are wrong; other arguments may work.
    Input,
    /// A rule, a user or the host does not want the call to be made.
    Refused,
    /// What the call needs is absent, whatever its arguments are.
    Unavailable,
    /// The call was made and went wrong.
    Backend,
    /// The call was stopped from outside.
    Stopped,
}

impl Class {
    /// The class as programs read it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Input => "input",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Backend => "backend",
            Self::Stopped => "stopped",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $name:ident = $text:literal $class:ident,)+) => {
        /// The `metadata.code` of an envelope.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ContractCode {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl ContractCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as programs and models read it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// What the code says, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($meaning),+).trim_ascii(),)+
                }
            }

            /// Which side the failure comes from.
            #[must_use]
            pub const fn class(self) -> Class {
                match self {
                    $(Self::$name => Class::$class,)+
                }
            }
        }
    };
}

codes! {
    /// The call did what it should.
    Ok = "ok" Ok,
    /// The arguments do not fit the tool's schema, or contradict each other.
    InvalidArguments = "invalid_arguments" Input,
    /// No tool of the session has this id.
    UnknownTool = "unknown_tool" Input,
    /// Nothing exists at the path.
    NotFound = "not_found" Input,
    /// The path is a directory, a pipe, a device.
    NotAFile = "not_a_file" Input,
    /// A component of the path is a file.
    NotADirectory = "not_a_directory" Input,
    /// The file is not text.
    BinaryFile = "binary_file" Input,
    /// More text than the host lets a call take or give.
    TooLarge = "too_large" Input,
    /// The text to replace is not in the file.
    Conflict = "conflict" Input,
    /// The text to replace is in the file more than once.
    Ambiguous = "ambiguous" Input,
    /// The pattern is malformed.
    InvalidPattern = "invalid_pattern" Input,
    /// Outside of the capabilities of the session.
    CapabilityRefused = "capability_refused" Refused,
    /// A permission rule says no.
    PermissionDenied = "permission_denied" Refused,
    /// The user would have to be asked, and no one is there.
    PermissionUnattended = "permission_unattended" Refused,
    /// The user said no.
    PermissionRejected = "permission_rejected" Refused,
    /// The user did not answer in time.
    PermissionTimeout = "permission_timeout" Refused,
    /// The watchdog says no, failed, or did not answer in time.
    WatchdogDenied = "watchdog_denied" Refused,
    /// The sandbox of the operating system says no.
    SandboxRefused = "sandbox_refused" Refused,
    /// The host does not offer what the tool needs.
    Unavailable = "unavailable" Unavailable,
    /// The session's calls of this tool are used up.
    LimitReached = "limit_reached" Unavailable,
    /// No one is there to answer a question.
    QuestionUnavailable = "question_unavailable" Unavailable,
    /// The session has been closed.
    SessionClosed = "session_closed" Unavailable,
    /// The call could not be recorded, and so was not made.
    RecordingFailed = "recording_failed" Unavailable,
    /// The tool failed.
    ToolFailed = "tool_failed" Backend,
    /// The system failed to read or write.
    IoFailed = "io_failed" Backend,
    /// A host could not be reached, or what it answers cannot be used.
    NetworkFailed = "network_failed" Backend,
    /// The user that runs the session may not do this.
    OsDenied = "os_denied" Backend,
    /// Another program changed the file meanwhile.
    Stale = "stale" Backend,
    /// Too many calls wait for the same file.
    Busy = "busy" Backend,
    /// The tool gave something that JSON cannot hold.
    InvalidOutput = "invalid_output" Backend,
    /// The host's answer to a question does not fit the question.
    InvalidAnswer = "invalid_answer" Backend,
    /// It took too long.
    Timeout = "timeout" Stopped,
    /// It was aborted.
    Aborted = "aborted" Stopped,
    /// The process died during the call: how far it had come is unknown.
    Interrupted = "interrupted" Stopped,
}
