//! What the benchmarks of the crates work on: a text, patches for it, and a tree of files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Lines of context on either side of a hunk.
const CONTEXT: usize = 3;
/// A line like this one is in every file of a [`tree`].
pub const FREQUENT: &str = "has to drain before";

/// Lines that look like a program, the same ones for the same seed, with `bytes` bytes together.
#[must_use]
pub fn source_lines(seed: usize, bytes: usize) -> Vec<String> {
    const NOUNS: [&str; 8] =
        ["account", "buffer", "channel", "ledger", "packet", "session", "ticket", "worker"];
    let (mut lines, mut length, mut number) = (Vec::new(), 0, seed);
    while length < bytes {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (noun, other) = (NOUNS[number >> 33 & 7], NOUNS[number >> 40 & 7]);
        let line = match number >> 50 & 7 {
            0 => "  }".to_owned(),
            1 => String::new(),
            2 => format!("  // The {noun} {FREQUENT} its {other} does"),
            3 => format!("  if ({noun}.length > {}) return next({other})", number >> 53),
            _ => format!("    const {noun}{} = await {other}.load({noun}, options)", number >> 57),
        };
        length += line.len() + 1;
        lines.push(line);
    }
    lines
}

/// The lines as a text.
#[must_use]
pub fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// A patch that changes `hunks` lines. Its headers are wrong by `off` lines.
///
/// # Panics
/// If the hunks would touch each other.
#[must_use]
pub fn patch(lines: &[String], hunks: usize, off: usize) -> String {
    let gap = lines.len() / hunks;
    assert!(gap > 2 * CONTEXT + 1, "hunks would touch each other");
    let size = 2 * CONTEXT + 1;
    let mut patch = String::from("--- a/file\n+++ b/file\n");
    for at in (0..hunks).map(|hunk| hunk * gap + CONTEXT) {
        let start = at - CONTEXT + 1 + off;
        let _ = writeln!(patch, "@@ -{start},{size} +{start},{size} @@");
        for line in &lines[at - CONTEXT..at] {
            let _ = writeln!(patch, " {line}");
        }
        let _ = writeln!(patch, "-{}\n+  // line {at} was changed", lines[at]);
        for line in &lines[at + 1..=at + CONTEXT] {
            let _ = writeln!(patch, " {line}");
        }
    }
    patch
}

/// Writes `files` files of some kilobytes into directories of 50, and ignores another tenth.
///
/// # Errors
/// Those of writing.
pub fn tree(root: &Path, files: usize) -> std::io::Result<()> {
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "node_modules/\n")?;
    for number in 0..files {
        let part = if number % 10 == 9 { "node_modules/part" } else { "src/part" };
        let directory = root.join(format!("{part}-{}", number / 50));
        fs::create_dir_all(&directory)?;
        let lines = source_lines(number, 1_000 + number % 7 * 1_000);
        fs::write(directory.join(format!("file-{number}.ts")), text(&lines))?;
    }
    Ok(())
}
