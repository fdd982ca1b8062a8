//! Numbers of lines that a listing puts in front of them, and that are no part of the file.

/// What stands between a number and its line: in the output of `cat -n`, `grep -n`, `nl`, and of editors.
const MARKS: [&str; 7] = ["\t", "\u{2192}", " | ", "| ", "|", ": ", ":"];

/// A line without the number in front of it. `None` if it has none.
pub(crate) fn without_number(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(' ');
    let rest = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == number.len() {
        return None;
    }
    MARKS.iter().find_map(|mark| rest.strip_prefix(mark))
}

/// A text without the numbers in front of its lines. `None` unless each line that is not blank has one.
pub(crate) fn without_numbers(text: &str) -> Option<String> {
    let is_numbered = |line: &str| {
        line.trim().is_empty() || without_number(line.trim_end_matches('\n')).is_some()
    };
    if text.trim().is_empty() || !text.split_inclusive('\n').all(is_numbered) {
        return None;
    }
    Some(text.split_inclusive('\n').map(|line| without_number(line).unwrap_or(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_a_listing_puts_in_front() {
        for line in ["     9\t  a", "9:  a", "12|  a", " 9 |   a", "9\u{2192}  a"] {
            assert_eq!(without_number(line).map(str::trim_start), Some("a"), "{line:?}");
        }
        for line in ["a", "9", "9 a", "", "\t9\ta", "x9: a"] {
            assert_eq!(without_number(line), None, "{line:?}");
        }
        assert_eq!(without_numbers("1\ta\n\n2\tb").as_deref(), Some("a\n\nb"));
        assert_eq!(without_numbers("1\ta\nb\n"), None);
        assert_eq!(without_numbers("\n"), None);
    }
}
