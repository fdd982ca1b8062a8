//! The ripgrep 15 that `TOOLWRIGHT_RG` names, and comparisons with it.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use toolwright_search::{
    CutAdvice, GrepOptions, GrepRequest, Parallelism, Scope, grep, list_files,
};

use super::beneath;

/// One thread, and more threads than there is work for.
pub(crate) const PARALLELISMS: [Parallelism; 2] = [
    Parallelism { threshold: 0, threads: Some(1) },
    Parallelism { threshold: 0, threads: Some(3) },
];

pub(crate) fn oracle() -> Option<PathBuf> {
    let rg = std::env::var_os("TOOLWRIGHT_RG").map(PathBuf::from);
    if rg.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: TOOLWRIGHT_RG names no ripgrep");
    }
    rg
}

fn output(program: &Path, root: &Path, start: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .args(["--no-config", "--color=never", "--sort=path"])
        .args(arguments)
        .stdin(Stdio::null());
    // `./`: in this directory ripgrep does not search its standard input.
    command.arg("--").arg(if start.is_empty() { "./" } else { start });
    let mut output = command.output().expect("ripgrep runs");
    if start.is_empty() {
        output.stdout = output
            .stdout
            .split_inclusive(|&byte| byte == b'\n')
            .flat_map(|line| line.strip_prefix(b"./").unwrap_or(line).to_vec())
            .collect();
    }
    output
}

/// The program's output, and its message if it fails.
pub(crate) fn rg(program: &Path, root: &Path, start: &str, pattern: &str) -> (Vec<u8>, String) {
    // Files are not memory-mapped here; see the crate's essay.
    let arguments = ["-n", "--no-heading", "-H", "--no-mmap", "-e", pattern];
    let Output { stdout, stderr, .. } = output(program, root, start, &arguments);
    (stdout, without_advice(&String::from_utf8_lossy(&stderr)))
}

/// Removes the paragraph on a flag that would help, because the tools take none, and puts this
/// crate's smaller size limit in place of ripgrep's.
fn without_advice(message: &str) -> String {
    let message = message.replace("size limit of 104857600", "size limit of 16777216");
    match message.split_once("\n\nConsider enabling ") {
        Some((reason, _)) => format!("{reason}\n"),
        None => message,
    }
}

/// The output of this crate, or its message.
pub(crate) fn ours(
    root: &Path,
    start: &str,
    pattern: &str,
    parallelism: Parallelism,
) -> Result<Vec<u8>, String> {
    let cancel = AtomicBool::new(false);
    let start = Path::new(start);
    let request = GrepRequest {
        root,
        start,
        display: start,
        pattern,
        max_output_bytes: usize::MAX,
        deadline: None,
        cancel: &cancel,
        parallelism: Parallelism::default(),
        advice: CutAdvice::default(),
        options: GrepOptions::default(),
    };
    let handle = File::open(root).expect("root");
    grep(&GrepRequest { parallelism, ..request }, &|path| beneath(&handle, path))
        .map(|result| result.text)
        .map_err(|error| error.to_string())
}

pub(crate) fn compare(program: &Path, root: &Path, start: &str, pattern: &str) {
    let (expected, message) = rg(program, root, start, pattern);
    for parallelism in PARALLELISMS {
        match ours(root, start, pattern, parallelism) {
            Ok(text) => assert_same(&text, &expected, pattern, start),
            Err(error) => {
                assert_eq!(format!("rg: {error}\n"), message, "{pattern:?} in {start:?}");
            }
        }
    }
}

/// Reports the first line that differs instead of two texts of a megabyte.
pub(crate) fn assert_same(ours: &[u8], theirs: &[u8], pattern: &str, start: &str) {
    if ours == theirs {
        return;
    }
    let lines = |text: &[u8]| -> Vec<String> {
        text.split(|&byte| byte == b'\n')
            .map(|line| String::from_utf8_lossy(&line[..line.len().min(500)]).into_owned())
            .collect()
    };
    let (left, right) = (lines(ours), lines(theirs));
    let at = left.iter().zip(&right).position(|(left, right)| left != right);
    let at = at.unwrap_or(left.len().min(right.len()));
    panic!(
        "{pattern:?} in {start:?}: {} lines and {}, line {at} is\n{:?}\nand not\n{:?}",
        left.len(),
        right.len(),
        left.get(at),
        right.get(at)
    );
}

/// Compares the file names below `start`. ripgrep's patterns beat ignore files. Here only one that is a name does;
/// others choose among the files that ripgrep lists without a pattern. They are relative to the start.
pub(crate) fn compare_names(program: &Path, root: &Path, start: &str, patterns: &[&str]) {
    let mut arguments = vec!["--files"];
    arguments.extend(patterns.iter().flat_map(|&pattern| ["-g", pattern]));
    let is_inside = !start.is_empty() && root.join(start).is_dir();
    let (from, beginning) =
        if is_inside { (root.join(start), "") } else { (root.to_owned(), start) };
    let mut expected = output(program, &from, beginning, &arguments);
    let all = output(program, &from, beginning, &["--files"]).stdout;
    let all: HashSet<&[u8]> = all.split_inclusive(|&byte| byte == b'\n').collect();
    let chosen = expected.stdout.split_inclusive(|&byte| byte == b'\n');
    let is_name = |pattern: &&str| !pattern.contains(['*', '?', '[', '{', '!', '/']);
    let chosen = chosen.filter(|path| patterns.iter().any(is_name) || all.contains(path));
    let above = if is_inside { format!("{start}/") } else { String::new() };
    expected.stdout = chosen.flat_map(|path| [above.as_bytes(), path].concat()).collect();
    let cancel = AtomicBool::new(false);
    let scope = Scope {
        root,
        start: Path::new(start),
        filter: &|_| true,
        max_results: u64::MAX,
        max_bytes: usize::MAX,
        deadline: None,
        cancel: &cancel,
        parallelism: Parallelism::default(),
    };
    let handle = File::open(root).expect("root");
    let label = format!("{patterns:?}");
    for parallelism in PARALLELISMS {
        match list_files(&Scope { parallelism, ..scope }, patterns, &|path| beneath(&handle, path))
        {
            Ok(result) => {
                let line = |path: &Path| [path.as_os_str().as_bytes(), b"\n"].concat();
                let names: Vec<u8> = result.paths().flat_map(line).collect();
                assert_same(&names, &expected.stdout, &label, start);
                assert!(!result.truncated);
            }
            Err(error) => {
                let message = String::from_utf8_lossy(&expected.stderr);
                assert_eq!(format!("rg: {error}\n"), message, "{label} in {start:?}");
            }
        }
    }
}
