//! Laws for every patch, checked with random ones. `TOOLWRIGHT_SOAK_FACTOR` multiplies the number
//! of cases.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::process::Command;
use std::{env, fs};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolwright_patch::{PatchError, apply, apply_by_content};

fn cases(count: u32) -> ProptestConfig {
    let factor = env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|text| text.parse().ok());
    let cases = count.saturating_mul(factor.unwrap_or(1));
    ProptestConfig {
        cases,
        max_global_rejects: cases,
        // A soak rejects more cases than the usual run makes.
        max_local_rejects: cases.saturating_mul(50),
        // Failures are printed with their seed. A case worth keeping becomes a fixture.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const MARK: &str = "\u{feff}";

/// Few different lines, so that many are equal, and some that look like parts of a patch.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(vec![
            "", "}", "    }", "a", "b", "return;", "\tlet x = 1;", "-- x", "++ x", "--- a/f", "+++ b/f",
            "@@ -1 +1 @@", "\\ No newline at end of file", "```", " ", "é", "日本語",
        ])
        .prop_map(str::to_owned),
        3 => "[a-z \t]{1,12}",
        1 => (0_usize..3_000).prop_map(|length| "long ".repeat(length / 5)),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Endings {
    Lf,
    Crlf,
    Mixed,
}

fn endings() -> impl Strategy<Value = Endings> {
    select(vec![Endings::Lf, Endings::Crlf, Endings::Mixed])
}

/// What to do with one line of the old text.
#[derive(Clone, Debug)]
enum Change {
    Keep,
    Remove,
    Replace(String, bool),
    Insert(String, bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => Just(Change::Keep),
        1 => Just(Change::Remove),
        1 => (line(), any::<bool>()).prop_map(|(line, crlf)| Change::Replace(line, crlf)),
        1 => (line(), any::<bool>()).prop_map(|(line, crlf)| Change::Insert(line, crlf)),
    ]
}

/// A text, an edited version of it, and the number of context lines for their diff.
#[derive(Clone, Debug)]
struct Pair {
    old: String,
    new: String,
    context: usize,
}

fn pair() -> impl Strategy<Value = Pair> {
    let lines = vec((line(), any::<bool>(), change()), 0..40);
    let ends = (any::<bool>(), any::<bool>(), any::<bool>());
    (lines, endings(), ends, 1_usize..5).prop_map(
        |(lines, endings, (mark, old_end, new_end), context)| {
            let mut pair = Pair { old: String::new(), new: String::new(), context };
            if mark && !lines.is_empty() {
                pair.old.push_str(MARK);
                pair.new.push_str(MARK);
            }
            let ended = |line: &str, crlf: bool| {
                let crlf = match endings {
                    Endings::Lf => false,
                    Endings::Crlf => true,
                    Endings::Mixed => crlf,
                };
                format!("{line}{}", if crlf { "\r\n" } else { "\n" })
            };
            for (line, crlf, change) in lines {
                let line = ended(&line, crlf);
                pair.old.push_str(&line);
                match change {
                    Change::Keep => pair.new.push_str(&line),
                    Change::Remove => {}
                    Change::Replace(by, crlf) => pair.new.push_str(&ended(&by, crlf)),
                    Change::Insert(by, crlf) => {
                        pair.new.push_str(&line);
                        pair.new.push_str(&ended(&by, crlf));
                    }
                }
            }
            for (text, end) in [(&mut pair.old, old_end), (&mut pair.new, new_end)] {
                if !end {
                    text.truncate(text.trim_end_matches(['\r', '\n']).len());
                }
            }
            pair
        },
    )
}

fn diffed(pair: &Pair) -> String {
    diffy::DiffOptions::new()
        .set_context_len(pair.context)
        .create_patch(&pair.old, &pair.new)
        .to_string()
}

/// Headers with small numbers, lines with and without a sign, and other text.
const LIKE_A_PATCH: &str = concat!(
    r"(@@ -[0-9]{1,2},[0-3] \+[0-9]{1,2},[0-3] @@\n",
    r"([ +-]?\PC{0,3}\r?\n){0,4}|\PC{0,20}\n){0,4}",
);

/// Only `\n` ends a line, as in a file. The ending stays with it.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_diff_applied_to_the_old_text_gives_the_new(pair in pair()) {
        prop_assume!(pair.old != pair.new);
        let patch = diffed(&pair);
        let applied = apply(pair.old.as_bytes(), &patch);
        prop_assert_eq!(applied.map(|new| new.bytes), Ok(pair.new.into_bytes()), "{}", patch);
    }

    #[test]
    fn a_diff_applies_below_inserted_lines(pair in pair(), count in 1_usize..60) {
        // The marker would be in the middle of the file, where it is text.
        let pair = Pair {
            old: pair.old.trim_start_matches(MARK).to_owned(),
            new: pair.new.trim_start_matches(MARK).to_owned(),
            ..pair
        };
        prop_assume!(pair.old != pair.new && pair.old.contains('\n'));
        // Lines that do not occur in the texts, so that they cannot make a hunk fit elsewhere.
        let ending = if pair.old.contains("\r\n") { "\r\n" } else { "\n" };
        let above: Vec<String> = (0..count).map(|at| format!("inserted {at}{ending}")).collect();
        let above = above.concat();
        match apply(format!("{above}{}", pair.old).as_bytes(), &diffed(&pair)) {
            Ok(new) => {
                // A nearer place may fit too, and is then right by the rules. If each hunk has one
                // place, it must be the shifted one.
                let unique = split(&pair.old).len() == {
                    let mut lines: Vec<_> =
                        split(&pair.old).iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect();
                    lines.sort_unstable();
                    lines.dedup();
                    lines.len()
                };
                if unique {
                    prop_assert_eq!(new.bytes, format!("{above}{}", pair.new).into_bytes());
                }
            }
            Err(PatchError::Ambiguous { .. } | PatchError::OutOfOrder { .. }) => {}
            Err(PatchError::InsertionOutside { .. } | PatchError::NotAtEnd { .. })
                if pair.old.is_empty() => {}
            Err(other) => prop_assert!(false, "{}\n{}", other, diffed(&pair)),
        }
    }

    #[test]
    fn lines_outside_of_hunks_are_untouched(
        lines in vec((vec(any::<u8>().prop_filter("one line", |&byte| byte != b'\n'), 0..12), any::<bool>()), 3..40),
        at in any::<Index>(),
        word in "[a-z]{1,8}",
    ) {
        let file: Vec<Vec<u8>> = lines
            .iter()
            .map(|(line, crlf)| [line.as_slice(), if *crlf { b"\r\n" } else { b"\n" }].concat())
            .collect();
        let at = at.index(file.len());
        let visible = |at: usize| {
            let line = String::from_utf8_lossy(&file[at]).into_owned();
            let line = line.strip_suffix('\n').unwrap();
            line.strip_suffix('\r').unwrap_or(line).to_owned()
        };
        prop_assume!(!(at == 0 && visible(0).starts_with(MARK)));
        let patch = format!("@@ -{0} +{0} @@\n-{1}\n+{word}\n", at + 1, visible(at));
        // A carriage return that is text at the end of a line would read as part of the ending.
        prop_assume!(!visible(at).ends_with('\r'));
        let new = apply(&file.concat(), &patch).unwrap().bytes;
        let ending: &[u8] = if file[at].ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
        let want = [&file[..at].concat(), word.as_bytes(), ending, &file[at + 1..].concat()].concat();
        prop_assert_eq!(new, want);
    }

    #[test]
    fn a_changed_context_or_removed_line_is_refused(pair in pair(), at in any::<Index>()) {
        prop_assume!(pair.old != pair.new);
        let patch = diffed(&pair);
        let parsed = diffy::Patch::from_str(&patch).unwrap();
        let old: Vec<String> = parsed
            .hunks()
            .iter()
            .flat_map(diffy::Hunk::lines)
            .filter_map(|line| match line {
                diffy::Line::Context(line) => Some(format!(" {line}")),
                diffy::Line::Delete(line) => Some(format!("-{line}")),
                diffy::Line::Insert(_) => None,
            })
            .collect();
        prop_assume!(!old.is_empty());
        let line = &old[at.index(old.len())];
        let (sign, rest) = line.split_at(1);
        // Only inside a hunk's body, at the beginning of a line.
        let head = patch.find("\n@@ ").unwrap() + 1;
        let body = head + patch[head..].find('\n').unwrap();
        let Some(position) = patch[body..].find(&format!("\n{line}")) else { return Ok(()) };
        let mut damaged = patch.clone();
        damaged.replace_range(body + position + 1..=body + position + line.len(), &format!("{sign}nowhere {rest}"));
        let result = apply(pair.old.as_bytes(), &damaged);
        prop_assert!(result.is_err(), "{}", damaged);
    }

    #[test]
    fn damaged_patches_never_panic_and_errors_are_short(
        pair in pair(),
        damage in vec((any::<Index>(), any::<Index>(), 0_u8..8, any::<char>()), 1..6),
    ) {
        let mut patch = diffed(&pair);
        for (at, other, kind, char) in damage {
            let mut lines: Vec<String> = split(&patch).into_iter().map(str::to_owned).collect();
            if lines.is_empty() {
                break;
            }
            let (at, other) = (at.index(lines.len()), other.index(lines.len()));
            match kind {
                0 => drop(lines.remove(at)),
                1 => lines.swap(at, other),
                2 => lines.insert(at, lines[other].clone()),
                3 => lines[at] = lines[at].trim().to_owned(),
                4 => lines[at].insert(0, char),
                5 => lines[at].push(char),
                6 => lines.truncate(at),
                _ => lines[at] = lines[at].replace(|char: char| char.is_ascii_digit(), "9"),
            }
            patch = lines.concat();
        }
        check(pair.old.as_bytes(), &patch)?;
    }

    #[test]
    fn by_content_a_header_may_say_anything_and_the_right_lines_change(
        pair in pair(),
        counts in vec((0_u8..9, 0_u8..9), 40),
        bare in any::<bool>(),
    ) {
        prop_assume!(pair.old != pair.new);
        let patch = diffed(&pair);
        let parsed = diffy::Patch::from_str(&patch).unwrap();
        let mut headers: Vec<String> = parsed
            .hunks()
            .iter()
            .map(|hunk| {
                let (old, new) = (hunk.old_range(), hunk.new_range());
                let counted = |range: &diffy::HunkRange| match range.len() {
                    1 => format!("{}", range.start()),
                    len => format!("{},{len}", range.start()),
                };
                format!("@@ -{} +{} @@\n", counted(&old), counted(&new))
            })
            .collect();
        let mut damaged = String::new();
        for line in split(&patch) {
            match headers.first() {
                Some(header) if header == line => {
                    let (old, new) = counts[headers.len() % counts.len()];
                    let start = line.split([' ', ',']).nth(1).unwrap().trim_start_matches('-');
                    let numbered = format!("@@ -{start},{old} +{start},{new} @@\n");
                    damaged += if bare { "@@\n" } else { &numbered };
                    headers.remove(0);
                }
                _ => damaged += line,
            }
        }
        if let Ok(new) = apply_by_content(pair.old.as_bytes(), &damaged) {
            prop_assert_eq!(String::from_utf8_lossy(&new.bytes), pair.new, "{}", damaged);
        }
    }

    #[test]
    fn any_text_and_any_bytes_are_taken(file in vec(any::<u8>(), 0..200), patch in LIKE_A_PATCH) {
        check(&file, &patch)?;
    }
}

/// The laws for any patch.
fn check(file: &[u8], patch: &str) -> Result<(), TestCaseError> {
    let (strict, by_content) = (apply(file, patch), apply_by_content(file, patch));
    if let Ok(strict) = &strict {
        match &by_content {
            // With all lines that its headers promise, a patch says more.
            Ok(by_content) if by_content.damage.is_some() => {}
            Ok(by_content) => prop_assert_eq!(by_content, strict),
            Err(error) => prop_assert!(
                matches!(
                    error,
                    PatchError::OtherEncoding { .. }
                        | PatchError::BinaryFile
                        | PatchError::UnsignedLine { .. }
                ),
                "{}",
                error
            ),
        }
    }
    check_result(file, patch, strict)?;
    check_result(file, patch, by_content)
}

fn check_result(
    file: &[u8],
    patch: &str,
    result: Result<toolwright_patch::Applied, PatchError>,
) -> Result<(), TestCaseError> {
    match result {
        Ok(new) => {
            prop_assert!(new.hunks > 0);
            prop_assert!(new.bytes.len() <= file.len() + 2 * patch.len() + 2);
            if let Ok(text) = str::from_utf8(file) {
                let lines: Vec<_> = split(text).into_iter().map(str::trim_end).collect();
                for line in split(str::from_utf8(&new.bytes).unwrap()) {
                    // Every line comes from the file or from the patch.
                    let line = line.trim_end();
                    let line = line.strip_prefix(MARK).unwrap_or(line);
                    prop_assert!(
                        patch.contains(line) || lines.iter().any(|lines| lines.ends_with(line)),
                        "{:?}",
                        line
                    );
                }
            }
        }
        Err(error) => {
            prop_assert!(error.to_string().len() <= 1_500, "{}", error);
            prop_assert!(!error.details().is_empty());
        }
    }
    Ok(())
}

#[test]
fn git_diffs_of_random_texts_apply() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("git is not on PATH, so its diffs are not tried");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(cases(120));
    runner
        .run(&pair(), |pair| {
            prop_assume!(pair.old != pair.new);
            // Git calls a file with NUL binary; the texts have none.
            fs::write(folder.path().join("old"), &pair.old).unwrap();
            fs::write(folder.path().join("new"), &pair.new).unwrap();
            let output = Command::new("git")
                .args([
                    "-c",
                    "core.autocrlf=false",
                    "diff",
                    "--no-index",
                    "--no-color",
                    "--no-ext-diff",
                ])
                .arg(format!("-U{}", pair.context))
                .args(["old", "new"])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let patch = String::from_utf8(output.stdout).unwrap();
            let applied = apply(pair.old.as_bytes(), &patch);
            prop_assert_eq!(applied.map(|new| new.bytes), Ok(pair.new.into_bytes()), "{}", patch);
            Ok(())
        })
        .unwrap();
}
