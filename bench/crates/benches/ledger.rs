//! What is noted of a read and a write of 1 KB, and asked before the write.

use std::path::Path;

use divan::{Bencher, black_box};
use toolwright_benches::{source_lines, text};
use toolwright_ledger::{Ledger, Shown};

fn main() {
    divan::main();
}

#[divan::bench(args = [1_000, 20_000])]
fn read(bencher: Bencher<'_, '_>, bytes: usize) {
    let (ledger, text) = (Ledger::default(), text(&source_lines(1, bytes)));
    let path = Path::new("/srv/project/src/file.ts");
    bencher.bench(|| {
        let since = ledger.now();
        ledger.shown(black_box(path), since, Shown::Whole(text.as_bytes()));
    });
}

#[divan::bench(args = [1_000, 20_000])]
fn ask_and_write(bencher: Bencher<'_, '_>, bytes: usize) {
    let (ledger, text) = (Ledger::default(), text(&source_lines(1, bytes)));
    let path = Path::new("/srv/project/src/file.ts");
    ledger.written(path, text.as_bytes());
    bencher.bench(|| {
        let replaced = ledger.judge(black_box(path), text.as_bytes(), Some(b"new\n"), 8_000);
        ledger.written(path, text.as_bytes());
        replaced
    });
}
