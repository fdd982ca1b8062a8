//! Lines that stand for others in the answers of models, such as `// ... existing code ...`. A file that gets one has lost
//! what it stands for.

/// What such a line speaks of.
const WORDS: [&str; 10] = [
    "existing code",
    "rest of",
    "remaining code",
    "remaining lines",
    "unchanged",
    "previous code",
    "same as before",
    "other code",
    "code omitted",
    "lines omitted",
];

/// No longer line is one.
const MAX_LENGTH: usize = 120;

/// The first such line of `new` that `now` does not have.
pub(super) fn added<'a>(now: &[u8], new: &'a [u8]) -> Option<&'a str> {
    let line = new.split(|&byte| byte == b'\n').find_map(|line| {
        let line = std::str::from_utf8(line).ok().map(str::trim)?;
        is_placeholder(line).then_some(line)
    })?;
    let has = |one: &[u8]| one.trim_ascii() == line.as_bytes();
    (!now.split(|&byte| byte == b'\n').any(has)).then_some(line)
}

/// Whether a line is a comment with dots that speaks of code which is not there.
fn is_placeholder(line: &str) -> bool {
    if line.len() > MAX_LENGTH {
        return false;
    }
    let is_mark = |letter: char| "/#*-<>!{};%\"'() \t".contains(letter);
    let comment = line.trim_start_matches(is_mark);
    let words = comment.trim_end_matches(is_mark);
    let has_dots =
        ["...", "\u{2026}"].iter().any(|dots| words.starts_with(dots) || words.ends_with(dots));
    let is_comment = comment.len() < line.len() || words.starts_with(['.', '\u{2026}']);
    let words = words.to_lowercase();
    has_dots && is_comment && WORDS.iter().any(|one| words.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_comment_with_dots_stands_for_code() {
        for line in [
            "// ... existing code ...",
            "  # ... rest of the file unchanged ...",
            "<!-- ... existing code ... -->",
            "/* … remaining code … */",
            "... rest of the code ...",
            "{/* ... existing code ... */}",
        ] {
            assert_eq!(added(b"a\n", format!("a\n{line}\nb\n").as_bytes()), Some(line.trim()));
        }
        for line in [
            "const { a, ...rest } = existing",
            "return [...existing, code]",
            "// the rest of the file is unchanged",
            "log('existing code ...')",
            "...",
            "// TODO ...",
        ] {
            assert_eq!(added(b"a\n", format!("a\n{line}\n").as_bytes()), None, "{line}");
        }
        let text = b"x\n// ... existing code ...\n";
        assert_eq!(added(text, text), None, "the file had it");
    }
}
