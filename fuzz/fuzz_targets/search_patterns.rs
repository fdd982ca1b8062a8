//! No pattern, whether of `grep` or of `glob`, makes a search panic or take long: each is compiled, and
//! looked for in one small file.
//!
//! The first byte says which of the two the rest is.

#![no_main]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use toolwright_search::{CutAdvice, GrepOptions, GrepRequest, Parallelism, Scope, grep, list_files};

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("toolwright-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(root.join("a/b")).expect("a temporary directory");
    std::fs::write(root.join("a/b/file.txt"), "one line\nand (another) é\n").expect("a file");
    root
});

fuzz_target!(|data: &[u8]| {
    let Some((&kind, pattern)) = data.split_first() else { return };
    let pattern = String::from_utf8_lossy(pattern);
    let open = |path: &Path| -> io::Result<File> { File::open(ROOT.join(path)) };
    let cancel = AtomicBool::new(false);
    let deadline = Some(Instant::now() + Duration::from_secs(5));
    let length = if kind % 2 == 0 {
        let request = GrepRequest {
            root: &ROOT,
            start: Path::new("."),
            display: Path::new("."),
            pattern: &pattern,
            max_output_bytes: 10_000,
            deadline,
            cancel: &cancel,
            parallelism: Parallelism::default(),
            advice: CutAdvice::default(),
        options: GrepOptions::default(),
        };
        grep(&request, &open).map(|found| found.text.len())
    } else {
        let patterns = [&*pattern];
        let scope = Scope {
            root: &ROOT,
            start: Path::new("."),
            filter: &|_| true,
            max_results: 100,
            max_bytes: 10_000,
            deadline,
            cancel: &cancel,
            parallelism: Parallelism::default(),
        };
        list_files(&scope, &patterns, &open)
            .map(|found| found.paths().map(|path| path.as_os_str().len()).sum())
    };
    match length {
        Ok(length) => assert!(length <= 10_100),
        Err(error) => {
            assert!(!matches!(error, toolwright_search::GrepError::TimedOut { .. }), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
});
