//! What searches say of what they have not shown, each with the next move. The moves are arguments that the
//! searches of every door have: `pattern` and `path`, and the `glob` of a session's grep.

use toolwright_search::Why;

use crate::voice::Door;

/// A path for the reader, and why it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path, as the tools take it.
    pub path: String,
    /// Why.
    pub why: Why,
}

/// The argument that is a pattern for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// `pattern` of glob.
    Pattern,
    /// `glob` of grep.
    Glob,
}

/// Why no name matches a pattern, and what does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoName {
    /// These match and are left out. The directory shows them if it is the start.
    LeftOut {
        /// The first ones.
        named: Vec<Named>,
        /// How many there are.
        total: u64,
        /// The path from which they are shown, if there is one.
        from: Option<String>,
    },
    /// The pattern is the name of a directory.
    Directory {
        /// Its path as the tools take it.
        path: String,
        /// A pattern for what is in it.
        inside: String,
        /// Why it is left out, if it is.
        why: Option<Why>,
    },
    /// It is a regular expression; a glob like it finds this file, if any.
    Regex {
        /// The glob.
        glob: String,
        /// What it finds.
        finds: Option<String>,
    },
    /// A wider pattern finds this file.
    Wider {
        /// The pattern.
        glob: String,
        /// What it finds.
        finds: String,
    },
    /// A file has the name in another case.
    OtherCase {
        /// Its path, as a pattern.
        glob: String,
    },
    /// It leads out of the directory that is searched; this is the rest of it, if it leads back in.
    Outside {
        /// The pattern inside.
        inside: Option<String>,
    },
    /// Nothing is known.
    Nothing,
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Ignored => "ignored",
        Why::Hidden => "hidden",
        Why::Git => "git's own",
    }
}

fn listed(named: &[Named], total: u64) -> String {
    let texts: Vec<_> =
        named.iter().map(|one| format!("`{}` ({})", one.path, why(one.why))).collect();
    let rest = total.saturating_sub(named.len() as u64);
    match (texts.split_last(), rest) {
        (None, _) => String::new(),
        (Some((one, [])), 0) => one.clone(),
        (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
        _ => format!("{} and {rest} more", texts.join(", ")),
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// A sentence as its door has it: in parentheses in place of a text, or among the notes.
#[must_use]
pub fn at_door(sentence: &str, door: Door) -> String {
    match door {
        Door::Tools => format!("({sentence})"),
        Door::Session => {
            let mut characters = sentence.chars();
            let first = characters.next().map(|first| first.to_uppercase().to_string());
            format!("{}{}.", first.unwrap_or_default(), characters.as_str())
        }
    }
}

/// How a pattern differs from the one that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// It is plain text, and was taken for an expression.
    Literal,
    /// The files have marks of typography.
    Typographic,
    /// The files have it in another case.
    AnyCase,
}

/// A search for lines without a match.
#[derive(Debug, Clone, Copy)]
pub struct NoLines<'a> {
    /// The regular expression.
    pub pattern: &'a str,
    /// How many files were searched.
    pub searched: u64,
    /// Some of what was not searched.
    pub left_out: &'a [Named],
    /// How much was not searched.
    pub total: u64,
    /// A pattern that was most likely meant, and finds something.
    pub meant: Option<(Meant, &'a str)>,
}

/// After a search for lines without a match, in files that were searched.
#[must_use]
pub fn no_lines(search: &NoLines<'_>) -> String {
    let NoLines { pattern, searched, left_out, total, meant } = *search;
    if let Some((meant, other)) = meant {
        let why = match meant {
            Meant::Literal => {
                "some characters of the pattern are special, and as plain text it is there; to search for the text, escape them"
            }
            Meant::Typographic => "with the quotes and dashes of typography it is there",
            Meant::AnyCase => "in another case it is there",
        };
        return format!("no matches: {why}: `{other}`");
    }
    if let Some(flag) = flag(pattern) {
        let advice = match flag {
            "-i" | "--ignore-case" => "to ignore case, begin it with (?i)",
            _ => "leave it out, and quotes around the rest; give a file or directory as `path`",
        };
        return format!(
            "no matches: `{flag}` was searched for as text, since the pattern takes no flags; {advice}"
        );
    }
    if let Some(plain) = plain_alternatives(pattern) {
        return format!(
            "no matches: `\\|` stands for the character | here, and | alone for alternatives; search for `{plain}`"
        );
    }
    if let Some(bare) = within_quotes(pattern) {
        return format!(
            "no matches: the {} around the pattern were searched for as text; search for `{bare}`",
            if pattern.starts_with('/') { "slashes" } else { "quotes" }
        );
    }
    let files = files(searched);
    if left_out.is_empty() {
        return match searched {
            0 => "no matches: there is no file to search; give another `path`, or leave it out"
                .to_owned(),
            1 => {
                "no matches in 1 file; none is looked for in a binary one; search for a part of it"
                    .to_owned()
            }
            _ => format!("no matches in {files}; search for a part of it"),
        };
    }
    let listed = listed(left_out, total);
    format!(
        "no matches in {files}; not searched: {listed}; give one of them as `path` to search it"
    )
}

/// The flag with which a pattern begins.
fn flag(pattern: &str) -> Option<&str> {
    let word = pattern.split_whitespace().next().filter(|word| pattern.starts_with(word))?;
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    (begins && name.bytes().all(is_name)).then_some(word)
}

/// What is between quotes, or between the slashes that other languages put around a pattern.
fn within_quotes(pattern: &str) -> Option<&str> {
    let bare = ['"', '\'', '`'].iter().find_map(|quote| {
        pattern.strip_prefix(*quote)?.strip_suffix(*quote).filter(|bare| !bare.contains(*quote))
    });
    let between = || {
        let (bare, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
        let is_flags = flags.len() <= 3 && flags.chars().all(|flag| "dgimsuvy".contains(flag));
        (is_flags && !bare.contains('/')).then_some(bare)
    };
    bare.or_else(between).filter(|bare| !bare.is_empty())
}

/// The pattern with alternatives as they are written here, if it has those of grep.
fn plain_alternatives(pattern: &str) -> Option<String> {
    let has = |what: &str| pattern.contains(what);
    if !has("\\|") {
        return None;
    }
    // Literal backslashes are no part of an escape.
    let kept = pattern.replace("\\\\", "\0");
    let mut plain = kept.replace("\\|", "|");
    if plain == kept {
        return None;
    }
    if has("\\(") && has("\\)") {
        plain = plain.replace("\\(", "(").replace("\\)", ")");
    }
    Some(plain.replace('\0', "\\\\"))
}

/// After a search that no file name matches.
#[must_use]
pub fn no_names(pattern: &str, argument: Argument, reason: &NoName) -> String {
    let none = match argument {
        Argument::Pattern => "no files".to_owned(),
        Argument::Glob => format!("no file was searched: none matches the `glob` `{pattern}`"),
    };
    let (is_glob, name) = match argument {
        Argument::Pattern => (true, "pattern"),
        Argument::Glob => (false, "glob"),
    };
    let separator = if is_glob { ": " } else { "; " };
    let rest = match reason {
        NoName::LeftOut { named, total, from } => {
            let listed = listed(named, *total);
            let verb = if *total == 1 { "matches and is" } else { "match and are" };
            match (from, is_glob) {
                (Some(from), true) => format!(
                    "{listed} {verb} left out; to list there, give `{from}` as `path`, with a pattern relative to it such as `**`"
                ),
                (Some(from), false) => format!(
                    "{listed} {verb} left out; to search there, give `{from}` as `path`, without `glob`"
                ),
                (None, true) => {
                    format!("{listed} {verb} left out; to list one, give its own path as `pattern`")
                }
                (None, false) => {
                    format!(
                        "{listed} {verb} left out; to search one, give it as `path`, without `glob`"
                    )
                }
            }
        }
        NoName::Directory { path, why: Some(reason), .. } => {
            let without = if is_glob { ", with the pattern `**`" } else { ", without `glob`" };
            format!("`{path}` is a directory and {}; give it as `path`{without}", why(*reason))
        }
        NoName::Directory { path, inside, why: None } => {
            format!("`{path}` is a directory; give `{inside}` for the files in it")
        }
        NoName::Regex { glob, finds: Some(finds) } => {
            format!("this is a glob and no regular expression; `{glob}` finds `{finds}`")
        }
        NoName::Regex { glob, finds: None } => format!(
            "this is a glob and no regular expression, and `*` stands for any text; give one such as `{glob}`"
        ),
        NoName::Wider { glob, finds } => {
            format!("a {name} has to match the whole path or name; `{glob}` finds `{finds}`")
        }
        NoName::OtherCase { glob } => format!("the case of letters counts; give `{glob}`"),
        NoName::Outside { inside: Some(inside) } => {
            format!("a {name} is relative to the directory that is searched; give `{inside}`")
        }
        NoName::Outside { inside: None } => format!(
            "a {name} is relative to the directory that is searched; give one such as `src/**/*.ts`, and the directory as `path`"
        ),
        NoName::Nothing if is_glob => {
            format!("none matches `{pattern}`; the pattern `**` lists all that there are")
        }
        NoName::Nothing => "leave it out to search all files".to_owned(),
    };
    format!("{none}{separator}{rest}")
}

/// What was named by a pattern and is left out of a result with other files in it.
#[must_use]
pub fn asked(named: &[Named], total: u64) -> String {
    format!("left out: {}; give one of them as `path` to see what is in it", listed(named, total))
}

/// What is shown only because it was named.
#[must_use]
pub fn by_name(named: &[Named], total: u64) -> String {
    let them = if total == 1 { "it" } else { "them" };
    format!("{}: shown by name; other patterns leave {them} out", listed(named, total))
}

/// Of what belongs to a repository itself.
pub const GIT: &str = "nothing in `.git` is listed or searched; its files are read by their paths, such as `.git/HEAD`";

/// Of lines that are not whole.
pub const WINDOWS: &str = "Of a line over 1000 bytes, text is the part around its first match, \
                           which begins at the byte `column` of the line.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_the_alternatives_of_other_programs_are_seen() {
        for (pattern, expected) in [
            ("-i foo", Some("-i")),
            ("--ignore-case sum", Some("--ignore-case")),
            ("-n", Some("-n")),
            ("- item", None),
            ("->x", None),
            ("--", None),
            ("a -i", None),
            ("-1", None),
        ] {
            assert_eq!(flag(pattern), expected, "{pattern}");
        }
        for (pattern, expected) in [
            ("\"main\"", Some("main")),
            ("'a b'", Some("a b")),
            ("/sum/", Some("sum")),
            ("/sum/gi", Some("sum")),
            ("\"a\" \"b\"", None),
            ("/etc/hosts", None),
            ("\"\"", None),
            ("a", None),
        ] {
            assert_eq!(within_quotes(pattern), expected, "{pattern}");
        }
        for (pattern, expected) in [
            ("main\\|helper", Some("main|helper")),
            ("\\(a\\|b\\)c", Some("(a|b)c")),
            ("a\\\\|b", None),
            ("a\\\\\\|b", Some("a\\\\|b")),
            ("a|b", None),
        ] {
            assert_eq!(plain_alternatives(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
