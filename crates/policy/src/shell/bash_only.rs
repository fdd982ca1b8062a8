//! What bash has and a plain shell reads otherwise: `a &> f` is `a &` and then `> f` to it, so that a
//! failed command counts as a success.

use super::limits::Steps;
use super::syntax::{Command, Dialect, Kind, Script};
use super::words::Word;
use super::{check, grammar};

/// Something that only bash has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashOnly {
    /// What it looks like.
    pub syntax: &'static str,
    /// What says the same to every shell.
    pub instead: &'static str,
}

impl BashOnly {
    const fn new(syntax: &'static str, instead: &'static str) -> Self {
        Self { syntax, instead }
    }

    const BOTH: Self = Self::new("&> file", "`> file 2>&1`");
    const BOTH_APPENDED: Self = Self::new("&>> file", "`>> file 2>&1`");
    const BOTH_OLD: Self = Self::new(">& file", "`> file 2>&1`");
    const HERE_STRING: Self =
        Self::new("<<< text", "`printf '%s\\n' text | command`, or a here-document (`<<EOF`)");
    pub(super) const PROCESS: Self =
        Self::new("<(command)", "a pipe, or a file: `command > out.txt`, then `other out.txt`");
    pub(super) const BOTH_PIPED: Self = Self::new("a |& b", "`a 2>&1 | b`");
    pub(super) const TEST: Self =
        Self::new("[[ … ]]", "`[ … ]` with `=` for `==`, and `case` or `grep -q` for patterns");
    pub(super) const ARITHMETIC: Self = Self::new(
        "((…))",
        "`i=$((i + 1))` to compute, and `[ \"$i\" -lt 3 ]` to compare; with two brackets to open subshells, put a blank between them",
    );
    pub(super) const COUNTING: Self = Self::new(
        "for ((…))",
        "`for i in 1 2 3`, or `while [ \"$i\" -lt 3 ]; do …; i=$((i + 1)); done`",
    );
    pub(super) const ARRAY: Self =
        Self::new("name=(…)", "`set -- a b`, and then `\"$1\"` and `\"$@\"`");
    pub(super) const APPENDED: Self = Self::new("name+=value", "`name=\"${name}value\"`");
    pub(super) const FUNCTION: Self = Self::new("function name", "`name() { …; }`");
    pub(super) const SELECT: Self = Self::new("select", "a `for` loop");
    pub(super) const COPROC: Self = Self::new("coproc", "`command &`");
    pub(super) const ESCAPED: Self = Self::new("$'…'", "`\"$(printf '…')\"`");
    pub(super) const TRANSLATED: Self = Self::new("$\"…\"", "`\"…\"`");
    pub(super) const FALLS_THROUGH: Self =
        Self::new(";&", "`;;`, and the commands of the next branch once more");
    pub(super) const NAMED_DESCRIPTOR: Self = Self::new("{name}>", "a number from 3 to 9: `3>`");
    pub(super) const HIGH_DESCRIPTOR: Self =
        Self::new("a descriptor above 9", "a number from 3 to 9: `3>`");
    const INDIRECT: Self = Self::new("${!name}", "the variable by its own name");
    const UPPER: Self =
        Self::new("${name^^}", "`printf '%s' \"$name\" | tr '[:lower:]' '[:upper:]'`");
    const REPLACED: Self = Self::new("${name/a/b}", "`printf '%s\\n' \"$name\" | sed 's/a/b/'`");
    const SLICE: Self = Self::new("${name:1:2}", "`printf '%s\\n' \"$name\" | cut -c2-3`");
    const ELEMENT: Self = Self::new("${name[0]}", "`set -- a b`, and then `\"$1\"` and `\"$@\"`");
    const TRANSFORMED: Self = Self::new("${name@Q}", "`printf`");
    const BRACES: Self = Self::new(
        "{a,b}",
        "the words one by one, or `$(seq 1 3)` for numbers; in quotes where the braces are meant",
    );
    const SOURCE: Self = Self::new("source file", "`. ./file`");
    const PIPEFAIL: Self =
        Self::new("pipefail", "each command by itself: `a > out.txt && b < out.txt`");
    const ECHO: Self = Self::new("echo -e", "`printf 'a\\tb\\n'`");
    const EQUALS: Self = Self::new("[ a == b ]", "`[ a = b ]`");

    pub(super) fn redirection(operator: &str, target: &Word<'_>) -> Option<Self> {
        let is_file = |value: &str| value.contains(|c: char| c.is_ascii_alphabetic() || c == '/');
        match operator {
            "&>" => Some(Self::BOTH),
            "&>>" => Some(Self::BOTH_APPENDED),
            "<<<" => Some(Self::HERE_STRING),
            ">&" if target.value().is_some_and(is_file) => Some(Self::BOTH_OLD),
            _ => None,
        }
    }

    /// Of what stands behind `${`.
    pub(super) fn expansion(inside: &str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if inside.strip_prefix('!').is_some_and(|rest| rest.starts_with(is_name)) {
            return Some(Self::INDIRECT);
        }
        let inside = match inside.strip_prefix('#') {
            Some(rest) if rest.starts_with(is_name) => rest,
            _ => inside,
        };
        let name = inside.len() - inside.trim_start_matches(is_name).len();
        let rest = match (name, inside.as_bytes().first()) {
            (0, Some(b'@' | b'*')) => &inside[1..],
            (0, _) => return None,
            _ => &inside[name..],
        };
        let mut rest = rest.bytes();
        match (rest.next()?, rest.next()) {
            (b'^' | b',', _) => Some(Self::UPPER),
            (b'/', _) => Some(Self::REPLACED),
            (b'[', _) => Some(Self::ELEMENT),
            (b'@', Some(letter)) if letter.is_ascii_alphabetic() => Some(Self::TRANSFORMED),
            (b':', Some(next)) if !b"-=?+".contains(&next) => Some(Self::SLICE),
            _ => None,
        }
    }
}

/// The first thing in a line that bash has and a plain shell does not, or reads otherwise. What is
/// handed to another shell, as in `bash -c '…'`, is not looked at.
#[must_use]
pub fn bash_only(line: &str) -> Option<BashOnly> {
    check(line).ok()?;
    let mut steps = Steps::default();
    let (script, syntax) = first(line, &mut steps);
    syntax.or_else(|| script.lines.iter().find_map(|inner| first(inner, &mut steps).1))
}

fn first<'s>(line: &'s str, steps: &mut Steps) -> (Script<'s>, Option<BashOnly>) {
    let (script, noted) = grammar::read_noting(line, Dialect::Bash, steps);
    let syntax = noted.or_else(|| script.commands.iter().find_map(in_command));
    (script, syntax)
}

fn in_command(command: &Command<'_>) -> Option<BashOnly> {
    let words = command.words.as_slice();
    if !matches!(command.kind, Kind::Simple | Kind::Loop(_)) {
        return None;
    }
    if words.iter().any(|word| !word.is_known && has_braces(word.source)) {
        return Some(BashOnly::BRACES);
    }
    if command.kind != Kind::Simple {
        return None;
    }
    let (name, arguments) = words.split_first()?;
    let has = |text: &str| arguments.iter().any(|word| word.value() == Some(text));
    match name.value()? {
        "source" => Some(BashOnly::SOURCE),
        "set" if has("pipefail") => Some(BashOnly::PIPEFAIL),
        "echo" if arguments.first().is_some_and(interprets) => Some(BashOnly::ECHO),
        "[" | "test" if arguments.iter().any(|word| word.source == "==") => Some(BashOnly::EQUALS),
        _ => None,
    }
}

/// `-e`, `-ne`
fn interprets(option: &Word<'_>) -> bool {
    let letters = option.value().and_then(|text| text.strip_prefix('-'));
    letters.is_some_and(|letters| {
        letters.contains('e') && letters.bytes().all(|byte| b"neE".contains(&byte))
    })
}

/// Whether a word has braces that bash expands: `{a,b}`, `{1..3}`, and not `{}` or `${a}`.
fn has_braces(source: &str) -> bool {
    let mut bytes = source.bytes();
    let (mut open, mut quote, mut before) = (Vec::new(), None, b' ');
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => {
                bytes.next();
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(end), byte) if end == byte => quote = None,
            (None, b'{') => open.push((before == b'$', false)),
            (None, b',' | b'.') if byte == b',' || before == b'.' => {
                if let Some((_, separates)) = open.last_mut() {
                    *separates = true;
                }
            }
            (None, b'}') => {
                if let Some((false, true)) = open.pop() {
                    return true;
                }
            }
            _ => {}
        }
        before = byte;
    }
    false
}
