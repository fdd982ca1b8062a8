//! What a line is made of. The tree is kept flat: which commands there are matters, and not when
//! one of them is run.

use std::borrow::Cow;

use super::words::Word;

/// Which shell's syntax a line is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// bash, with the options of a shell that runs a script.
    Bash,
    /// A shell that knows what POSIX says and no more, such as dash.
    Posix,
}

impl Dialect {
    /// The syntax of a shell by its name, if it is known: `sh` may be any shell.
    #[must_use]
    pub fn of_shell(name: Option<&str>) -> Option<Self> {
        (name == Some("bash")).then_some(Self::Bash)
    }
}

/// Why a line cannot be read.
pub(super) type Problem = &'static str;
pub(super) type Parsed<T> = Result<T, Problem>;

/// A line in one dialect.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script<'s> {
    /// In the order in which they stand; those of substitutions behind the others.
    pub(super) commands: Vec<Command<'s>>,
    /// Compound commands with redirections of their own, by number. The first one is the line.
    pub(super) groups: Vec<Group<'s>>,
    /// Lines that are read only when it runs: backquotes, and what may be arithmetic or not.
    pub(super) lines: Vec<Cow<'s, str>>,
    /// Why the rest of it cannot be read.
    pub(super) problem: Option<Problem>,
    /// Why shells of one dialect may read it differently.
    pub(super) ambiguous: Option<Problem>,
    /// Whether it depends on something which of its commands run.
    pub(super) branches: bool,
}

/// A simple command, or what is like one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) words: Vec<Word<'s>>,
    /// Assignments in front of them.
    pub(super) assigned: Vec<Word<'s>>,
    pub(super) redirects: Vec<Redirect<'s>>,
    /// The innermost compound command around it.
    pub(super) group: usize,
    /// In how many substitutions it stands.
    pub(super) level: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'s> {
    Simple,
    /// `for NAME in WORDS`, and `select`.
    Loop(Word<'s>),
    /// `[[ WORDS ]]`
    Test,
    /// `((WORD))`
    Arithmetic,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group<'s> {
    pub(super) parent: usize,
    pub(super) redirects: Vec<Redirect<'s>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect<'s> {
    pub(super) operator: &'static str,
    /// A file, a descriptor, the text of `<<<`, or what ends a here-document.
    pub(super) target: Word<'s>,
}

/// Words that mean something at the beginning of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Not,
    OpenBrace,
    CloseBrace,
    Case,
    Do,
    Done,
    Elif,
    Else,
    Esac,
    Fi,
    For,
    If,
    In,
    Then,
    Until,
    While,
    Test,
    Function,
    Select,
    Time,
    Coproc,
}

impl Keyword {
    /// The longest has this many characters.
    pub(super) const MAX_LENGTH: usize = 8;

    pub(super) fn of(word: &[u8], dialect: Dialect) -> Option<Self> {
        Some(match word {
            b"!" => Self::Not,
            b"{" => Self::OpenBrace,
            b"}" => Self::CloseBrace,
            b"case" => Self::Case,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"esac" => Self::Esac,
            b"fi" => Self::Fi,
            b"for" => Self::For,
            b"if" => Self::If,
            b"in" => Self::In,
            b"then" => Self::Then,
            b"until" => Self::Until,
            b"while" => Self::While,
            _ if dialect == Dialect::Posix => return None,
            b"[[" => Self::Test,
            b"function" => Self::Function,
            b"select" => Self::Select,
            b"time" => Self::Time,
            b"coproc" => Self::Coproc,
            _ => return None,
        })
    }

    /// Whether it ends a list of commands.
    pub(super) fn closes(self) -> bool {
        use Keyword::{CloseBrace, Do, Done, Elif, Else, Esac, Fi, Then};
        matches!(self, CloseBrace | Do | Done | Elif | Else | Esac | Fi | Then)
    }
}
