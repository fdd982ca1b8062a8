//! The cost of a patch that is large or made to be slow.
//!
//! The limits are loose, because debug builds on busy machines run this too. `npm run bench:crates`
//! gives figures.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use toolwright_patch::{
    Applied, DiffMode, PatchError, ReplaceError, apply, apply_diff, parse_patch, replace,
};

/// Far more than a linear run takes in a debug build, far less than a quadratic one.
const LIMIT: Duration = Duration::from_secs(40);

fn timed(file: &str, patch: &str) -> Result<Applied, PatchError> {
    let start = Instant::now();
    let result = apply(file.as_bytes(), patch);
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    result
}

/// 4,432 lines in 190 KB, and 500 hunks whose headers are `shift` lines off.
fn large(shift: usize) -> (String, String) {
    let mut file = String::new();
    for number in 0..4_432 {
        let _ = writeln!(file, "    let value_{number} = compute(input, {}); // step", number % 97);
    }
    let lines: Vec<&str> = file.lines().collect();
    let mut patch = String::from("--- a/f\n+++ b/f\n");
    for hunk in 0..500 {
        let at = hunk * 8 + 3;
        let start = at + 1 + shift;
        let _ = writeln!(patch, "@@ -{start},7 +{start},7 @@");
        for (offset, line) in lines[at..at + 7].iter().enumerate() {
            let sign = if offset == 3 { '-' } else { ' ' };
            let _ = writeln!(patch, "{sign}{line}");
            if offset == 3 {
                let _ = writeln!(patch, "+{line} changed");
            }
        }
    }
    (file, patch)
}

fn changed(file: &str) -> String {
    let mut new = String::new();
    for (at, line) in file.lines().enumerate() {
        let change = at >= 6 && (at - 6).is_multiple_of(8) && at < 4_000;
        let _ = writeln!(new, "{line}{}", if change { " changed" } else { "" });
    }
    new
}

#[test]
fn five_hundred_hunks_in_place_and_shifted() {
    for shift in [0, 40] {
        let (file, patch) = large(shift);
        let new = timed(&file, &patch).unwrap();
        assert_eq!(new.hunks, 500);
        assert_eq!(String::from_utf8(new.bytes).unwrap(), changed(&file));
    }
}

#[test]
fn hunks_of_blank_lines_in_a_file_of_blank_lines() {
    let file = "\n".repeat(200_000);
    let mut patch = String::new();
    for hunk in 0..6_000 {
        let start = (hunk * 7_919) % 190_000 + 1;
        let _ = write!(patch, "@@ -{start},5 +{start},6 @@\n \n \n+\n \n \n \n");
    }
    let _ = timed(&file, &patch);
}

#[test]
fn hunks_that_are_all_far_from_their_headers() {
    // Each hunk fits at the next line of the upper half and points to the end.
    let mut file: String = (0..5_000).fold(String::new(), |mut file, number| {
        let _ = write!(file, "{number}\na\n");
        file
    });
    file.push_str(&"a\n".repeat(90_000));
    let mut patch = String::new();
    for number in 0..5_000 {
        let start = 100_000 + (number % 2) * 1_000;
        let _ = write!(patch, "@@ -{start},2 +{start},2 @@\n-{number}\n+x\n a\n");
    }
    assert_eq!(timed(&file, &patch).unwrap().hunks, 5_000);
}

#[test]
fn a_long_hunk_that_nearly_fits_everywhere() {
    let file = "a\n".repeat(100_000);
    let mut patch = String::from("@@ -1,40001 +1,40001 @@\n");
    patch.push_str(&" a\n".repeat(40_000));
    patch.push_str("-b\n+c\n");
    assert!(matches!(timed(&file, &patch), Err(PatchError::StaleContext(_))));
}

#[test]
fn one_line_of_megabytes() {
    let line = "x".repeat(4_000_000);
    let error = timed(&format!("{line}a\n"), &format!("@@ -1 +1 @@\n-{line}b\n+c\n")).unwrap_err();
    assert!(error.to_string().len() < 1_500);
}

fn timed_diff(file: &str, diff: &str) -> Result<Applied, PatchError> {
    let start = Instant::now();
    let result = apply_diff(file.as_bytes(), diff, DiffMode::Update);
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    result
}

#[test]
fn ten_megabytes_for_ten_thousand_files() {
    let (mut envelope, mut unified) = ("*** Begin Patch\n".to_owned(), String::new());
    let body: String = (0..12).fold(String::new(), |mut body, number| {
        let text = "x".repeat(70);
        let _ = writeln!(body, " {number} {text}");
        body
    });
    for number in 0..10_000 {
        let _ = write!(envelope, "*** Update File: d/{number}.txt\n@@\n{body}-old\n+new\n");
        let name = format!("d/{number}.txt");
        let _ =
            write!(unified, "--- a/{name}\n+++ b/{name}\n@@ -1,13 +1,13 @@\n{body}-old\n+new\n");
    }
    envelope.push_str("*** End Patch\n");
    let file = format!("{}old\n", body.replace("\n ", "\n").trim_start());
    for patch in [envelope, unified] {
        assert!(patch.len() > 9_000_000, "{}", patch.len());
        let start = Instant::now();
        let files = parse_patch(&patch).unwrap();
        assert_eq!(files.len(), 10_000);
        for file_patch in &files {
            let new = file_patch.apply(file.as_bytes()).unwrap();
            assert!(new.bytes.ends_with(b"new\n"));
        }
        assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    }
}

#[test]
fn ten_thousand_hunks_without_numbers() {
    let (mut file, mut diff) = (String::new(), String::new());
    for number in 0..10_000 {
        let _ = write!(file, "fn f{number}() {{\n    same\n    x\n}}\n\n");
        let _ = write!(diff, "@@ fn f{number}() {{\n     same\n-    x\n+    y\n }}\n");
    }
    let new = timed_diff(&file, &diff).unwrap();
    assert_eq!(new.hunks, 10_000);
    assert_eq!(String::from_utf8(new.bytes).unwrap(), file.replace("    x", "    y"));
}

#[test]
fn anchors_that_are_everywhere() {
    // Every chain of every hunk would have to be followed.
    let file = "a\nb\n".repeat(50_000);
    let mut diff = String::new();
    for _ in 0..5_000 {
        diff.push_str("@@ a\n@@ b\n@@ a\n-b\n+c\n");
    }
    assert!(timed_diff(&file, &diff).is_err());
    let mut diff = "@@ a\n@@ b\n".repeat(50_000);
    diff.push_str("-a\n+c\n");
    assert!(timed_diff(&file, &diff).is_err());
}

#[test]
fn a_long_hunk_that_nearly_fits_everywhere_is_given_up() {
    let file = "a\n".repeat(100_000);
    let mut diff = " a\n".repeat(40_000);
    diff.push_str("-b\n+c\n");
    assert!(matches!(timed_diff(&file, &diff), Err(PatchError::StaleContext(_))));
    let diff = format!("@@\n{}+c\n*** End of File\n", " a\n".repeat(40_000));
    assert!(timed_diff(&file, &diff).is_ok());
    let mut file = format!("{}b\n", "a\n".repeat(30_000));
    file = file.repeat(3);
    let mut diff = String::new();
    for _ in 0..20 {
        let _ = write!(diff, "@@\n{}-b\n+c\n", " a\n".repeat(20_000));
    }
    assert!(timed_diff(&file, &diff).is_err());
}

#[test]
fn anchors_that_the_hunk_repeats_at_its_end() {
    let (anchors, body) = ("@@ a\n".repeat(200_000), " b\n".repeat(200_000));
    assert!(timed_diff("a\nb\n", &format!("{anchors}{body} a\n-c\n")).is_err());
}

#[test]
fn sections_that_update_one_file_are_bounded() {
    let section = "*** Update File: a\n@@\n-x\n+x\n";
    let file = "x\n".to_owned() + &"y\n".repeat(10_000);
    for (count, is_read) in [(100, true), (100_000, false)] {
        let patch = format!("*** Begin Patch\n{}*** End Patch\n", section.repeat(count));
        let start = Instant::now();
        let files = parse_patch(&patch);
        assert_eq!(files.is_ok(), is_read);
        if let Ok(files) = files {
            assert_eq!(files[0].apply(file.as_bytes()).unwrap().hunks, 100);
        }
        assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    }
}

/// What explains that a text is not there reads it in a dozen ways.
#[test]
fn a_text_of_the_largest_size_that_is_not_there() {
    let file = "const a = \"b &amp; c\"; // \\n and 'more'\n".repeat(8 << 20 >> 6);
    for old in [
        "let a = \"b &amp; c\"; // \\n and 'more'\n".repeat(10 << 20 >> 6),
        "let a = \"b & c\";\t'more' \\\\ \u{e9}\n".repeat(10 << 20 >> 6),
        "1\tlet a\n".repeat(1 << 20),
        "\\n".repeat(5 << 20),
        "x".repeat(10 << 20),
        "let a = \"b & c\";\t'more' \\\\ \u{e9}\n".repeat(1 << 20 >> 6),
    ] {
        let start = Instant::now();
        let failed = replace(file.as_bytes(), &old, "x", false, 64 << 20);
        assert!(matches!(failed, Err(ReplaceError::NotFound { .. })));
        assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    }
}
