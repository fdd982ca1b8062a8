//! The parser's own limits, and its two readings of a line.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::set_hook;
use std::panic::take_hook;
use std::sync::Once;

use brush_parser::ParserOptions;
use brush_parser::Token;
use brush_parser::ast::Program;

use super::LINE_LIMIT;

/// So deep the parser may have to go. It goes back and tries again at every level, so that its time
/// doubles with each.
const DEEPEST: usize = 24;
/// The same for those levels of which it tries several readings.
const DEEPEST_DOUBTFUL: usize = 8;

/// What a line means to one shell and to the other.
pub(super) struct Line {
    pub(super) bash: Program,
    /// `None` when it is no syntax for a plain shell.
    pub(super) plain: Option<Program>,
}

impl Line {
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        if line.len() > LINE_LIMIT {
            return Err(format!("it is longer than {LINE_LIMIT} bytes"));
        }
        if line.contains('\0') {
            return Err("it holds a NUL byte".to_owned());
        }
        // What separates words is not the same for the parser and for every shell.
        if let Some(odd) = line.chars().find(|c| is_odd_space(*c)) {
            return Err(format!("it holds the character U+{:04X}", u32::from(odd)));
        }
        let (brackets, expansions) = nesting(line);
        if brackets > DEEPEST || expansions > DEEPEST_DOUBTFUL {
            return Err("it is nested too deeply".to_owned());
        }
        let bash = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        let plain = ParserOptions { sh_mode: true, posix_mode: true, ..bash.clone() };
        Ok(Self { bash: read(line, &bash)?, plain: read(line, &plain).ok() })
    }
}

fn is_odd_space(c: char) -> bool {
    match c {
        ' ' | '\t' | '\n' => false,
        c => c.is_whitespace() || c.is_control(),
    }
}

/// How deep brackets go, quoted ones too, and how deep those of expansions: no more than that is
/// asked of the parser.
fn nesting(line: &str) -> (usize, usize) {
    let mut open: Vec<bool> = Vec::new();
    let (mut expansions, mut most, mut most_expansions) = (0usize, 0, 0);
    let mut before = ' ';
    for c in line.chars() {
        match c {
            '(' | '{' | '[' => {
                let is_expansion = before == '$';
                open.push(is_expansion);
                expansions += usize::from(is_expansion);
                most = most.max(open.len());
                most_expansions = most_expansions.max(expansions);
            }
            ')' | '}' | ']' => {
                let was_expansion = open.pop().unwrap_or_default();
                expansions -= usize::from(was_expansion);
            }
            _ => {}
        }
        before = c;
    }
    (most, most_expansions)
}

fn read(line: &str, options: &ParserOptions) -> Result<Program, String> {
    let reading = || {
        let tokens = brush_parser::uncached_tokenize_str(line, &options.tokenizer_options())
            .map_err(|error| error.to_string())?;
        shallow(&tokens)?;
        brush_parser::parse_tokens(&tokens, options).map_err(|error| error.to_string())
    };
    // The parser has places at which it gives up by a panic.
    quietly(reading).unwrap_or_else(|| Err("the parser gave up on it".to_owned()))
}

/// `None` for a panic, of which nothing is printed: a line that a model makes up must not write to
/// the host's terminal.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    QUIET.set(false);
    done
}

fn shallow(tokens: &[Token]) -> Result<(), String> {
    let (mut brackets, mut cases, mut groups) = (0usize, 0usize, 0usize);
    for token in tokens {
        match token.to_str() {
            "(" => brackets += 1,
            // One stands behind each pattern of a `case`, too.
            ")" => brackets = brackets.saturating_sub(1),
            "case" => cases += 1,
            "esac" => cases = cases.saturating_sub(1),
            "{" | "if" | "while" | "until" | "for" | "select" | "function" | "[[" => groups += 1,
            "}" | "fi" | "done" | "]]" => groups = groups.saturating_sub(1),
            _ => {}
        }
        let doubtful = brackets + 2 * cases;
        if doubtful > DEEPEST_DOUBTFUL || doubtful + groups > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
    }
    Ok(())
}
