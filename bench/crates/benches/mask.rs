//! Masking what a command prints, in the pieces that a pipe gives, beside passing it on.

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use toolwright_benches::{source_lines, text};
use toolwright_mask::{Mask, Secret};

/// What one read takes from a pipe.
const PIECE: usize = 64 << 10;
const BYTES: usize = 32 << 20;

fn main() {
    divan::main();
}

/// Values as tokens have them.
fn secrets(count: usize) -> Vec<Secret> {
    let letters = "x7Gk29QmZp41a8Kd93jfKq02LmxZ77Tb".chars().cycle();
    let value = |index: usize| -> String {
        letters.clone().skip(index * 5).take(24 + index % 17).collect()
    };
    (0..count)
        .map(|index| Secret::given("TOKEN", format!("{index}{}", value(index)).as_bytes()))
        .collect()
}

fn masked(bencher: Bencher<'_, '_>, mask: Option<Mask>) {
    let printed = text(&source_lines(1, BYTES));
    let printed = printed.as_bytes();
    let mask = mask.map(Arc::new);
    bencher.counter(BytesCount::new(printed.len())).bench_local(|| {
        let mut out = Vec::with_capacity(2 * PIECE);
        let mut masker = mask.as_ref().map(|mask| mask.stream());
        for piece in printed.chunks(PIECE) {
            out.clear();
            match &mut masker {
                Some(masker) => masker.push(black_box(piece), &mut out),
                None => out.extend_from_slice(black_box(piece)),
            }
            black_box(&out);
        }
    });
}

#[divan::bench]
fn none(bencher: Bencher<'_, '_>) {
    masked(bencher, None);
}

#[divan::bench(args = [1, 10, 100])]
fn known(bencher: Bencher<'_, '_>, values: usize) {
    masked(bencher, Mask::new(&secrets(values), false));
}

#[divan::bench(args = [10])]
fn tokens(bencher: Bencher<'_, '_>, values: usize) {
    masked(bencher, Mask::new(&secrets(values), true));
}
