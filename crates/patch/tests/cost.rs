//! The cost of a patch that is large or made to be slow.
//!
//! The limits are loose, because debug builds on busy machines run this too. `npm run bench:crates`
//! gives figures.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use toolwright_patch::{Applied, PatchError, apply};

/// Far more than a linear run takes in a debug build, far less than a quadratic one.
const LIMIT: Duration = Duration::from_secs(10);

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
