//! How much of a line is analysed. Everything that one line leads to, by `$(…)`, `eval`, `sh -c` and
//! programs that run others, shares one budget, so any line takes a bounded amount of work.

/// A longer line is not looked into.
pub const LINE_LIMIT: usize = 32 << 10;
/// More commands than these are not looked into either.
pub(super) const MAX_COMMANDS: usize = 1024;
/// The most bytes of all their texts, words and redirections.
pub(super) const MAX_OUTPUT: usize = 8 * LINE_LIMIT;
/// The most nested lines in all.
pub(super) const MAX_LINES: usize = 256;
/// The most bytes of all nested lines.
pub(super) const MAX_LINE_BYTES: usize = 8 * LINE_LIMIT;
/// How deep lines are nested by `eval`, `sh -c` and backquotes.
pub(super) const MAX_LINE_DEPTH: usize = 12;
/// How deep the parser goes into brackets, compound commands and expansions: its only recursion.
pub(super) const MAX_DEPTH: usize = 48;
/// The most bytes that the parser reads, repeated reads included. It reads a line once for each
/// dialect; only after `((` does it look ahead, to the bracket that closes it.
const MAX_STEPS: usize = 64 * LINE_LIMIT;

pub(super) const TOO_DEEP: &str = "it is nested too deeply";
const TOO_LONG: &str = "it takes too long to read";

/// What is left of the work that a line may make.
#[derive(Debug)]
pub(super) struct Steps(usize);

impl Default for Steps {
    fn default() -> Self {
        Self(MAX_STEPS)
    }
}

impl Steps {
    pub(super) fn take(&mut self, count: usize) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(count).ok_or(TOO_LONG)?;
        Ok(())
    }
}
