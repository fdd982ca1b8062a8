//! Patches and replacements of a text of 190 KB, in memory.

use std::sync::LazyLock;

use divan::{Bencher, black_box};
use toolwright_benches::{patch, source_lines, text};

static LINES: LazyLock<Vec<String>> = LazyLock::new(|| source_lines(1, 190_000));
static TEXT: LazyLock<String> = LazyLock::new(|| text(&LINES));

fn main() {
    divan::main();
}

#[divan::bench(args = [1, 50, 500])]
fn apply(bencher: Bencher<'_, '_>, hunks: usize) {
    let patch = patch(&LINES, hunks, 0);
    bencher.bench(|| toolwright_patch::apply(TEXT.as_bytes(), black_box(&patch)).expect("it fits"));
}

/// Every hunk is looked for: the first one's offset serves the others.
#[divan::bench(args = [1, 500])]
fn apply_with_headers_off_by_40(bencher: Bencher<'_, '_>, hunks: usize) {
    let patch = patch(&LINES, hunks, 40);
    bencher.bench(|| toolwright_patch::apply(TEXT.as_bytes(), black_box(&patch)).expect("it fits"));
}

/// The last of 500 hunks does not fit, and the error says what is where.
#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    let mut lines = LINES.clone();
    let last = lines.len() / 500 * 499 + 3;
    "something else".clone_into(&mut lines[last]);
    let patch = patch(&lines, 500, 0);
    bencher.bench(|| {
        toolwright_patch::apply(TEXT.as_bytes(), black_box(&patch)).expect_err("it does not fit")
    });
}

#[divan::bench]
fn replace(bencher: Bencher<'_, '_>) {
    let old = text(&LINES[LINES.len() / 2..LINES.len() / 2 + 20]);
    bencher.bench(|| {
        toolwright_patch::replace(TEXT.as_bytes(), black_box(&old), "new text\n", false, u64::MAX)
            .expect("it is there once")
    });
}
