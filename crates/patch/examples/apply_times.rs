//! How long 500 hunks take: `cargo run --release -p toolwright-patch --example apply_times`.

#![expect(clippy::unwrap_used, reason = "a program to be read, with input of its own")]
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use toolwright_patch::apply;

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

fn main() {
    for (name, (file, patch)) in [("headers right", large(0)), ("headers 40 off", large(40))] {
        let mut runs: Vec<Duration> = (0..400)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(apply(file.as_bytes(), &patch).unwrap().hunks, 500);
                start.elapsed()
            })
            .collect();
        runs.sort_unstable();
        println!(
            "500 hunks, {name}: {} B file, {} B patch: median {:?}, fastest {:?}",
            file.len(),
            patch.len(),
            runs[200],
            runs[0]
        );
    }
}
