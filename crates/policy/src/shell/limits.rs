//! How much is looked into. All that one line leads to, by `$(…)`, `eval`, `sh -c` and programs that
//! run others, has one budget together: the work that a line makes is bounded whatever it holds.

/// A longer line is not looked into.
pub const LINE_LIMIT: usize = 32 << 10;
/// More commands than these are not looked into either.
pub(super) const MAX_COMMANDS: usize = 1024;
/// So many bytes their texts, words and redirections may have, all together.
pub(super) const MAX_OUTPUT: usize = 8 * LINE_LIMIT;
/// Lines in lines, all together.
pub(super) const MAX_LINES: usize = 256;
/// And the bytes of them.
pub(super) const MAX_LINE_BYTES: usize = 8 * LINE_LIMIT;
/// Commands in commands, by `eval`, `sh -c` and backquotes.
pub(super) const MAX_LINE_DEPTH: usize = 12;
/// How deep the parser goes into brackets, compound commands and expansions: its only recursion.
pub(super) const MAX_DEPTH: usize = 48;
/// Characters that the parser may read, again and again included. A line is read once for each
/// dialect; only `((` is looked at beforehand, to the bracket that closes it.
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
