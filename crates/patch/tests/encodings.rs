//! A change of a file in another encoding than UTF-8 is written in that encoding, or refused. Nothing is mixed.
#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, KOI8_R, SHIFT_JIS, WINDOWS_1252};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolwright_patch::{
    DiffMode, PatchError, ReplaceError, apply_by_content, apply_diff, keep_form, parse_patch,
    replace,
};

/// How the bytes of a file are made from its text.
#[derive(Debug, Clone, Copy)]
enum Form {
    Utf16 { little: bool },
    Other(&'static Encoding),
}

impl Form {
    fn bytes(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf16 { little } => {
                let bytes =
                    |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                Some(std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect())
            }
            Self::Other(encoding) => {
                let (bytes, _, has_errors) = encoding.encode(text);
                (!has_errors).then(|| bytes.into_owned())
            }
        }
    }
}

/// A line, and letters that most of the encodings have somewhere.
fn line() -> impl Strategy<Value = String> {
    let words = select(vec![
        "a",
        "x = 1",
        "caf\u{e9}",
        "日本語",
        "表\\",
        "ソ",
        "жук",
        "中文",
        "한국",
        "\u{df}",
    ]);
    (words, 0_u32..1000).prop_map(|(word, number)| format!("{number} {word}"))
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        any::<bool>().prop_map(|little| Form::Utf16 { little }),
        select(vec![WINDOWS_1252, SHIFT_JIS, EUC_JP, GBK, BIG5, EUC_KR, KOI8_R])
            .prop_map(Form::Other),
    ]
}

type Outcome = Result<Vec<u8>, String>;

/// The change of one line through every door. `shown` is the line as its author has seen it.
fn through_every_door(
    old: &[u8],
    shown: &str,
    new: &str,
    at: usize,
) -> Vec<(&'static str, Outcome)> {
    let hunk = format!("-{shown}\n+{new}\n");
    let numbered = format!("@@ -{0},1 +{0},1 @@\n{hunk}", at + 1);
    let by_content = format!("@@\n{hunk}");
    let unified = format!("--- a/f\n+++ b/f\n{numbered}");
    let envelope = format!("*** Begin Patch\n*** Update File: f\n{by_content}*** End Patch\n");
    let patched = |result: Result<toolwright_patch::Applied, PatchError>| {
        result.map(|applied| applied.bytes).map_err(|error| {
            let is_typed = matches!(error, PatchError::OtherEncoding { .. });
            if is_typed { "other encoding".to_owned() } else { error.to_string() }
        })
    };
    let files = |patch: &str| parse_patch(patch).unwrap()[0].apply(old);
    let replaced = replace(old, shown, new, false, 1 << 20).map(|replaced| replaced.bytes);
    let replaced = replaced.map_err(|error| match error {
        ReplaceError::OtherEncoding { .. } => "other encoding".to_owned(),
        error => error.to_string(),
    });
    vec![
        ("edit", patched(apply_by_content(old, &numbered))),
        ("edit by content", patched(apply_by_content(old, &by_content))),
        ("unified", patched(files(&unified))),
        ("envelope", patched(files(&envelope))),
        ("diff", patched(apply_diff(old, &by_content, DiffMode::Update))),
        ("replace", replaced),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// A file that shows its encoding.
    #[test]
    fn a_change_is_written_in_the_encoding_that_a_file_shows(
        form in form(),
        lines in vec(line(), 1..8),
        new in line(),
        at in any::<Index>(),
        crlf in any::<bool>(),
        knows in any::<bool>(),
    ) {
        let first = match form {
            Form::Utf16 { .. } => "first".to_owned(),
            Form::Other(encoding) => format!("# coding: {}", encoding.name()),
        };
        let has = |line: &String| form.bytes(line).is_some();
        let lines: Vec<String> = std::iter::once(first).chain(lines.into_iter().filter(has)).enumerate()
            .map(|(at, line)| if at == 0 { line } else { format!("{at}: {line}") }).collect();
        prop_assume!(lines.len() > 1);
        let at = 1 + at.index(lines.len() - 1);
        let end = if crlf { "\r\n" } else { "\n" };
        let text = |lines: &[String]| lines.iter().fold(String::new(), |text, line| text + line + end);
        let old = form.bytes(&text(&lines)).unwrap();
        prop_assume!(old.is_ascii() || str::from_utf8(&old).is_err());
        let mut changed = lines.clone();
        changed[at].clone_from(&new);
        let expected = form.bytes(&text(&changed));
        // The author has seen the letters, or what stands for bytes that are not UTF-8.
        let is_utf16 = matches!(form, Form::Utf16 { .. });
        let bytes = form.bytes(&lines[at]).unwrap();
        let shown = if knows || is_utf16 { lines[at].clone() } else { String::from_utf8_lossy(&bytes).into_owned() };
        prop_assume!(shown != new);
        for (door, outcome) in through_every_door(&old, &shown, &new, at) {
            match (outcome, &expected) {
                (Ok(bytes), Some(expected)) => prop_assert_eq!(&bytes, expected, "{}", door),
                (Ok(bytes), None) => prop_assert!(false, "{door} writes {bytes:?}"),
                (Err(error), None) => prop_assert!(
                    error == "other encoding" || error.contains("U+FFFD") || error.contains("not found"), "{}: {}", door, error),
                // A text to be replaced is compared with the bytes.
                (Err(error), Some(_)) => prop_assert!(
                    door == "replace" && shown != lines[at], "{}: {}", door, error),
            }
        }
    }

    /// A file that does not show its encoding: letters are refused, and everything else is done.
    #[test]
    fn nothing_is_mixed_into_a_file_that_does_not_show_its_encoding(
        encoding in select(vec![WINDOWS_1252, SHIFT_JIS, EUC_JP, GBK, BIG5, EUC_KR, KOI8_R]),
        lines in vec(line(), 1..8),
        new in line(),
        at in any::<Index>(),
    ) {
        let form = Form::Other(encoding);
        let lines: Vec<String> = lines.into_iter().filter(|line| form.bytes(line).is_some()).enumerate()
            .map(|(at, line)| format!("{at}: {line}")).collect();
        prop_assume!(!lines.is_empty());
        let at = at.index(lines.len());
        let bytes: Vec<Vec<u8>> = lines.iter().map(|line| form.bytes(line).unwrap()).collect();
        let joined = |lines: &[Vec<u8>]| lines.iter().fold(Vec::new(), |text, line| [&text[..], line, b"\n"].concat());
        let old = joined(&bytes);
        prop_assume!(str::from_utf8(&old).is_err());
        let shown = String::from_utf8_lossy(&bytes[at]).into_owned();
        prop_assume!(shown != new);
        let mut changed = bytes.clone();
        changed[at] = new.clone().into_bytes();
        let changed = joined(&changed);
        let is_mixed = !new.is_ascii() && str::from_utf8(&changed).is_err();
        for (door, outcome) in through_every_door(&old, &shown, &new, at) {
            match outcome {
                Ok(bytes) => {
                    prop_assert!(!is_mixed, "{door} mixes");
                    prop_assert_eq!(&bytes, &changed, "{}", door);
                }
                Err(error) => prop_assert!(
                    (is_mixed && error == "other encoding") || (door == "replace" && shown.contains('\u{fffd}')),
                    "{}: {}", door, error),
            }
        }
    }

    /// A whole new content, in the form of the file before.
    #[test]
    fn a_new_content_gets_the_form_of_the_old_one(form in form(), lines in vec(line(), 1..6), new in vec(line(), 1..6), crlf in any::<bool>()) {
        let first = match form {
            Form::Utf16 { .. } => "first".to_owned(),
            Form::Other(encoding) => format!("# coding: {}", encoding.name()),
        };
        let end = if crlf { "\r\n" } else { "\n" };
        let text = |lines: &[String], end: &str| lines.iter().fold(first.clone() + end, |text, line| text + line + end);
        let Some(old) = form.bytes(&text(&lines, end)) else { return Ok(()) };
        prop_assume!(matches!(form, Form::Utf16 { .. }) || str::from_utf8(&old).is_err());
        let content = text(&new, "\n");
        let kept = keep_form(&old, &content);
        let in_form = form.bytes(&text(&new, end)).filter(|_| matches!(form, Form::Utf16 { .. }) || !content.is_ascii());
        prop_assert_eq!(kept.encoding.is_some(), in_form.is_some());
        prop_assert_eq!(kept.content.into_owned(), in_form.unwrap_or_else(|| text(&new, end).into_bytes()));
        prop_assert_eq!(kept.has_crlf, crlf);
    }
}

fn utf16(text: &str) -> Vec<u8> {
    Form::Utf16 { little: true }.bytes(text).unwrap()
}

#[test]
fn the_mark_of_utf16_stays_whatever_is_changed() {
    let old = utf16("one\ntwo\n");
    let patch = "@@ -1,1 +1,1 @@\n-\u{feff}one\n+1\n";
    assert_eq!(apply_by_content(&old, patch).unwrap().bytes, utf16("1\ntwo\n"));
    let replaced = replace(&old, "\u{feff}one\n", "", false, 100).unwrap();
    assert_eq!(replaced.bytes, utf16("two\n"));
}

#[test]
fn halves_of_pairs_stay_as_they_are() {
    let mut old = utf16("one\n");
    old.extend_from_slice(&[0x00, 0xd8, b'\n', 0, b'x', 0, b'\n', 0]);
    let patch = "@@ -2,2 +2,2 @@\n \u{fffd}\u{fffd}\u{fffd}\n-x\n+y\n";
    let new = apply_by_content(&old, patch).unwrap().bytes;
    assert_eq!(new[..old.len() - 4], old[..old.len() - 4]);
    assert_eq!(new[old.len() - 4..], [b'y', 0, b'\n', 0]);
}

#[test]
fn a_patch_that_changes_the_name_of_the_encoding_mixes_nothing() {
    let old = b"# coding: latin-1\n# caf\xe9\nx\n";
    let patch =
        "@@ -1,3 +1,3 @@\n-# coding: latin-1\n+# coding: utf-8\n # caf\u{fffd}\n-x\n+\u{e9}\n";
    let refused = apply_by_content(old, patch);
    assert!(
        matches!(refused, Err(PatchError::OtherEncoding { encoding: None, .. })),
        "{refused:?}"
    );
    let whole =
        "@@ -1,3 +1,3 @@\n-# coding: latin-1\n-# caf\u{fffd}\n+# coding: utf-8\n+# caf\u{e9}\n x\n";
    let new = apply_by_content(old, whole).unwrap().bytes;
    assert_eq!(String::from_utf8(new).unwrap(), "# coding: utf-8\n# caf\u{e9}\nx\n");
}

#[test]
fn a_letter_is_not_cut_where_the_encoding_is_shown() {
    // The second byte of the letter is that of a backslash.
    let old = [b"# coding: shift_jis\n", &SHIFT_JIS.encode("表a \\a").0[..]].concat();
    let replaced = replace(&old, "\\a", "日", false, 100).unwrap();
    let new = [b"# coding: shift_jis\n", &SHIFT_JIS.encode("表a 日").0[..]].concat();
    assert_eq!((replaced.bytes, replaced.replacements), (new, 1));
    // Also where nothing but ASCII is replaced.
    let replaced = replace(&old, "\\", "/", false, 100).unwrap();
    let new = [b"# coding: shift_jis\n", &SHIFT_JIS.encode("表a /a").0[..]].concat();
    assert_eq!((replaced.bytes, replaced.replacements), (new, 1));
}

#[test]
fn the_limit_is_that_of_the_file() {
    let (utf16, shift_jis) = (utf16("a\n"), b"# coding: shift_jis\na\n".to_vec());
    for (old, room) in [(utf16, 20), (shift_jis, 40)] {
        let long = "日".repeat(10);
        let error = replace(&old, "a\n", &long, false, room - 1).unwrap_err();
        let ReplaceError::TooLarge { bytes, limit } = error else { panic!("{error}") };
        assert!(bytes > limit && limit == room - 1);
        assert!(replace(&old, "a\n", &long, false, 3 * room).is_ok());
    }
}
