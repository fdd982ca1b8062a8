//! Searches of generated trees that are in memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use divan::Bencher;
use tempfile::TempDir;
use toolwright_benches::{FREQUENT, tree};
use toolwright_search::{
    CutAdvice, GrepOptions, GrepRequest, Parallelism, Scope, grep, list_files, overview,
};

const SIZES: [usize; 2] = [20, 2_000];
const NOWHERE: &str = "thisIsNowhere";

static NEVER: AtomicBool = AtomicBool::new(false);

fn main() {
    divan::main();
}

fn place(files: usize) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().canonicalize().expect("its path");
    tree(&root, files).expect("a tree");
    (directory, root)
}

fn search(root: &Path, pattern: &str, max_output_bytes: usize) {
    let request = GrepRequest {
        root,
        start: Path::new(""),
        display: Path::new(""),
        pattern,
        max_output_bytes,
        deadline: None,
        cancel: &NEVER,
        parallelism: Parallelism::default(),
        advice: CutAdvice::default(),
        options: GrepOptions::default(),
    };
    let found = grep(&request, &|path| File::open(root.join(path))).expect("a pattern");
    divan::black_box(found);
}

#[divan::bench(args = SIZES)]
fn grep_for_nothing(bencher: Bencher<'_, '_>, files: usize) {
    let (_directory, root) = place(files);
    bencher.bench(|| search(&root, NOWHERE, 10 << 20));
}

#[divan::bench(args = SIZES)]
fn grep_whole(bencher: Bencher<'_, '_>, files: usize) {
    let (_directory, root) = place(files);
    bencher.bench(|| search(&root, FREQUENT, 100 << 20));
}

#[divan::bench(args = SIZES)]
fn grep_stopped_at_10_kb(bencher: Bencher<'_, '_>, files: usize) {
    let (_directory, root) = place(files);
    bencher.bench(|| search(&root, FREQUENT, 10_000));
}

fn everything(root: &Path) -> Scope<'_> {
    Scope {
        root,
        start: Path::new(""),
        filter: &|_| true,
        max_results: u64::MAX,
        max_bytes: usize::MAX,
        deadline: None,
        cancel: &NEVER,
        parallelism: Parallelism::default(),
    }
}

#[divan::bench(args = SIZES)]
fn glob_all(bencher: Bencher<'_, '_>, files: usize) {
    let (_directory, root) = place(files);
    let open = |path: &Path| File::open(root.join(path));
    bencher.bench(|| list_files(&everything(&root), &["*.ts"], &open).expect("patterns"));
}

#[divan::bench(args = SIZES)]
fn overview_all(bencher: Bencher<'_, '_>, files: usize) {
    let (_directory, root) = place(files);
    let open = |path: &Path| File::open(root.join(path));
    bencher.bench(|| overview(&everything(&root), 3, &open).expect("an overview"));
}
