//! Command lines that are usual, and lines that are made to take long.

use divan::{Bencher, black_box};
use toolwright_policy::shell::{LINE_LIMIT, parse};

fn main() {
    divan::main();
}

#[divan::bench(args = [
    "git status -s",
    "cd src && git log --oneline | head -3",
    "sh -c 'npm test; npm run lint'",
])]
fn usual(bencher: Bencher<'_, '_>, line: &str) {
    bencher.bench(|| parse(black_box(line), None));
}

/// One text, repeated up to the longest line that is looked into.
#[divan::bench(args = ["((", "$(", "`", "{ ", "${x:-", "a|", "a;", "eval ", "env ", "xargs a b c;"])]
fn hostile(bencher: Bencher<'_, '_>, text: &str) {
    let line = text.repeat(LINE_LIMIT / text.len());
    bencher.bench(|| parse(black_box(&line), None));
}
