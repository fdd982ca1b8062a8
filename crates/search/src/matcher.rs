//! The regular expression, compiled as ripgrep compiles it without flags.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::error::GrepError;
use crate::lru_cache::LruCache;

/// A lazy DFA starts afresh when its cache is full, so this bounds memory and changes no result.
/// ripgrep's own bound, 1 GB, is for a program that has the machine to itself.
const DFA_CACHE_BYTES: usize = 32 << 20;

/// The largest automaton. Building it takes twice as much memory. With ripgrep's bound, 100 MB, one
/// pattern of twenty characters (counts of counts) could allocate more than a small host has.
const MAX_AUTOMATON_BYTES: usize = 16 << 20;

/// How many compiled patterns are cached: compiling one with a Unicode class takes milliseconds.
const MAX_CACHED: usize = 8;
/// A pattern with a larger automaton is not cached. With everything that is built from it, one of this
/// size has taken up to 2 MB.
const MAX_CACHED_AUTOMATON_BYTES: usize = 256 << 10;
/// A longer pattern is not cached.
const MAX_CACHED_LENGTH: usize = 1024;

/// Patterns as they were compiled. Each search clones one, so its lazy DFA stays with the search.
static CACHE: LruCache<(MatchRules, String), RegexMatcher> = LruCache::new(MAX_CACHED);

/// How a pattern is matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MatchRules {
    /// Upper and lower case are the same.
    pub(crate) case_insensitive: bool,
    /// A match may go over the ends of lines.
    pub(crate) multiline: bool,
}

/// The longest pattern. Parsing takes hundreds of times the pattern's size, before the automaton can be
/// found to be too large.
const MAX_LENGTH: usize = 64 << 10;

/// A longer message is cut in the middle: it begins with the pattern and ends with the reason.
const MAX_MESSAGE_BYTES: usize = 4096;

pub(crate) fn matcher(pattern: &str, rules: MatchRules) -> Result<RegexMatcher, GrepError> {
    if pattern.len() > MAX_LENGTH {
        let message =
            format!("the pattern is too long ({} bytes, {MAX_LENGTH} are taken)", pattern.len());
        return Err(GrepError::Pattern { pattern: beginning(pattern), message });
    }
    let is_key = |(known, text): &(MatchRules, String)| *known == rules && text == pattern;
    if let Some(cached) = CACHE.get(is_key) {
        return Ok(cached);
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(rules.case_insensitive)
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .line_terminator((!rules.multiline).then_some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte(Some(b'\0'))
        .size_limit(MAX_AUTOMATON_BYTES)
        .dfa_size_limit(DFA_CACHE_BYTES);
    if pattern.len() <= MAX_CACHED_LENGTH
        && let Ok(small) =
            builder.clone().size_limit(MAX_CACHED_AUTOMATON_BYTES).build_many(&[pattern])
    {
        CACHE.insert((rules, pattern.to_owned()), small.clone(), 1);
        return Ok(small);
    }
    // The advice of ripgrep on flags is left out: a search takes none.
    builder.build_many(&[pattern]).map_err(|error| GrepError::Pattern {
        pattern: pattern.to_owned(),
        message: shortened(error.to_string()),
    })
}

fn beginning(pattern: &str) -> String {
    pattern.chars().take(100).collect()
}

fn shortened(message: String) -> String {
    if message.len() <= MAX_MESSAGE_BYTES {
        return message;
    }
    let half = MAX_MESSAGE_BYTES / 2;
    let head = (0..=half).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    let tail = (message.len() - half..=message.len())
        .find(|&at| message.is_char_boundary(at))
        .unwrap_or(message.len());
    format!("{} … {}", &message[..head], &message[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(pattern: &str) -> String {
        matcher(pattern, MatchRules::default())
            .err()
            .map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn patterns_that_take_much_memory_are_refused() {
        for pattern in ["(x{1000}){1000}", "(((((x{99}){99}){99}){99}){99})", "(\\w{100}){100}"] {
            assert!(message(pattern).contains("size limit"), "{pattern}: {}", message(pattern));
        }
        let long = message(&"x".repeat(MAX_LENGTH + 1));
        assert_eq!(long, "the pattern is too long (65537 bytes, 65536 are taken)");
        assert_eq!(message(&"x".repeat(MAX_LENGTH)), "");
        assert_eq!(message("\\w{100}\\pL{100}"), "");
    }

    #[test]
    fn messages_are_those_of_ripgrep_without_its_flags() {
        assert_eq!(message("("), "regex parse error:\n    (?:()\n    ^\nerror: unclosed group");
        assert_eq!(message("a\\nb"), "the literal \"\\n\" is not allowed in a regex");
        assert_eq!(message("a\nb"), "the literal \"\\n\" is not allowed in a regex");
        assert_eq!(message("a\\x00b"), "pattern contains \"\\0\" but it is impossible to match");
        assert!(message("(?=x)").ends_with("look-ahead and look-behind, is not supported"));
        assert!(message("(a)\\1").ends_with("error: backreferences are not supported"));
        assert_eq!(message("-n"), "");
        assert_eq!(message(""), "");
    }

    #[test]
    fn a_long_pattern_makes_a_short_message() {
        let text = message(&format!("{}(", "ä".repeat(30_000)));
        assert!(text.len() <= MAX_MESSAGE_BYTES + 8);
        assert!(text.ends_with("error: unclosed group"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        assert!(message(&format!("{}{}", "(".repeat(30_000), ")".repeat(30_000))).contains("nest"));
    }
}
