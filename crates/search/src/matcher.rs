//! The regular expression, set up as ripgrep sets it up without flags.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::error::GrepError;
use crate::kept::Kept;

/// A lazy DFA starts afresh when its cache is full, so this bounds memory and changes no result.
/// ripgrep's own bound, 1 GB, is for a program that has the machine to itself.
const DFA_CACHE: usize = 32 << 20;

/// An automaton is at most so large; twice as much is asked for while it is built. ripgrep's bound, 100 MB,
/// lets one pattern of twenty characters (counts of counts) ask for more than a small host has.
const AUTOMATON: usize = 16 << 20;

/// So many patterns are kept compiled: one with a class of Unicode takes milliseconds.
const KEPT: usize = 8;
/// A pattern with a larger automaton is not kept: with all that is built from it, one of this size
/// has taken up to 2 MB.
const KEPT_SIZE: usize = 256 << 10;
/// Nor is one that is longer itself.
const KEPT_LENGTH: usize = 1024;

/// As they were compiled: what a search learns about a pattern stays with the search.
static PATTERNS: Kept<(bool, String), RegexMatcher> = Kept::new(KEPT);

/// Longer ones are no patterns: what is made of one before its automaton is too large takes hundreds of
/// times its own size.
const LONGEST: usize = 64 << 10;

/// A message longer than this is cut in the middle: it repeats the pattern, and says what is wrong
/// at its end.
const MESSAGE_LIMIT: usize = 4096;

pub(crate) fn matcher(pattern: &str, case_insensitive: bool) -> Result<RegexMatcher, GrepError> {
    if pattern.len() > LONGEST {
        let message =
            format!("the pattern is too long ({} bytes, {LONGEST} are taken)", pattern.len());
        return Err(GrepError::Pattern { pattern: beginning(pattern), message });
    }
    let is_it = |(known, text): &(bool, String)| *known == case_insensitive && text == pattern;
    if let Some(kept) = PATTERNS.find(is_it) {
        return Ok(kept);
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(case_insensitive)
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .line_terminator(Some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte(Some(b'\0'))
        .size_limit(AUTOMATON)
        .dfa_size_limit(DFA_CACHE);
    if pattern.len() <= KEPT_LENGTH
        && let Ok(small) = builder.clone().size_limit(KEPT_SIZE).build_many(&[pattern])
    {
        PATTERNS.keep((case_insensitive, pattern.to_owned()), small.clone(), 1);
        return Ok(small);
    }
    // Without ripgrep's advice on flags, of which there are none here.
    builder.build_many(&[pattern]).map_err(|error| GrepError::Pattern {
        pattern: pattern.to_owned(),
        message: shortened(error.to_string()),
    })
}

fn beginning(pattern: &str) -> String {
    pattern.chars().take(100).collect()
}

fn shortened(message: String) -> String {
    if message.len() <= MESSAGE_LIMIT {
        return message;
    }
    let half = MESSAGE_LIMIT / 2;
    let head = (0..=half).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    let tail = (message.len() - half..=message.len())
        .find(|&at| message.is_char_boundary(at))
        .unwrap_or(message.len());
    format!("{} … {}", &message[..head], &message[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &str) -> String {
        matcher(pattern, false).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn what_would_take_much_memory_is_refused() {
        for pattern in ["(x{1000}){1000}", "(((((x{99}){99}){99}){99}){99})", "(\\w{100}){100}"] {
            assert!(words(pattern).contains("size limit"), "{pattern}: {}", words(pattern));
        }
        let long = words(&"x".repeat(LONGEST + 1));
        assert_eq!(long, "the pattern is too long (65537 bytes, 65536 are taken)");
        assert_eq!(words(&"x".repeat(LONGEST)), "");
        assert_eq!(words("\\w{100}\\pL{100}"), "");
    }

    #[test]
    fn speaks_as_ripgrep_does_without_its_flags() {
        assert_eq!(words("("), "regex parse error:\n    (?:()\n    ^\nerror: unclosed group");
        assert_eq!(words("a\\nb"), "the literal \"\\n\" is not allowed in a regex");
        assert_eq!(words("a\nb"), "the literal \"\\n\" is not allowed in a regex");
        assert_eq!(words("a\\x00b"), "pattern contains \"\\0\" but it is impossible to match");
        assert!(words("(?=x)").ends_with("look-ahead and look-behind, is not supported"));
        assert!(words("(a)\\1").ends_with("error: backreferences are not supported"));
        assert_eq!(words("-n"), "");
        assert_eq!(words(""), "");
    }

    #[test]
    fn a_long_pattern_makes_a_short_message() {
        let message = words(&format!("{}(", "ä".repeat(30_000)));
        assert!(message.len() <= MESSAGE_LIMIT + 8);
        assert!(message.ends_with("error: unclosed group"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        assert!(words(&format!("{}{}", "(".repeat(30_000), ")".repeat(30_000))).contains("nest"));
    }
}
