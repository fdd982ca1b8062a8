//! Where several threads begin to pay: trees of growing size, searched by one thread and by as many
//! as there are, from the first file on.
//!
//! ```sh
//! cargo run --release -p toolwright-search --example switch -- DIR [ROUNDS]
//! ```
//!
//! Copies files of DIR into a temporary directory, sixteen to a directory.

#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use toolwright_search::{GlobRequest, GrepRequest, Spread, glob_spread, grep_spread};

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && files.len() < 5000 {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && entry.metadata()?.len() < 100_000 {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = PathBuf::from(arguments.next().ok_or("usage: switch DIR [ROUNDS]")?);
    let source = source.canonicalize()?;
    let rounds: usize = arguments.next().map_or(Ok(101), |rounds| rounds.parse())?;
    let mut files = Vec::new();
    collect(&source, &mut files)?;
    for count in [16, 64, 128, 256, 512, 1024, 2048, 4096] {
        let dir = tempfile::tempdir()?;
        let root = dir.path().canonicalize()?;
        for (number, file) in files.iter().take(count).enumerate() {
            let place = root.join(format!("{:03}", number / 16));
            fs::create_dir_all(&place)?;
            fs::copy(file, place.join(format!("{:02}", number % 16)))?;
        }
        measure(&format!("{count:5} files"), &root, rounds)?;
    }
    measure("all of it", &source, rounds.div_ceil(8))
}

fn measure(what: &str, root: &Path, rounds: usize) -> Result<(), Box<dyn Error>> {
    let cancel = AtomicBool::new(false);
    let handle = File::open(root)?;
    let open = |path: &Path| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        openat2(&handle, path, flags, Mode::empty(), ResolveFlags::BENEATH)
            .map(File::from)
            .map_err(Into::into)
    };
    let start = Path::new("");
    let request = GrepRequest {
        root,
        start,
        display: start,
        pattern: "zqxjkvw",
        max_output_bytes: 200_000,
        deadline: None,
        cancel: &cancel,
    };
    let names = GlobRequest {
        root,
        start,
        patterns: &["*5"],
        hidden: false,
        max_results: u64::MAX,
        deadline: None,
        cancel: &cancel,
    };
    let several = std::thread::available_parallelism()?.get().min(8);
    let spreads = [1, several].map(|threads| Spread { switch: 0, threads: Some(threads) });
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        for (index, spread) in spreads.into_iter().enumerate() {
            let started = Instant::now();
            grep_spread(&request, &open, spread)?;
            times[index].push(started.elapsed().as_secs_f64() * 1e3);
            let started = Instant::now();
            glob_spread(&names, &open, spread)?;
            times[index + 2].push(started.elapsed().as_secs_f64() * 1e3);
        }
    }
    let [one, many, one_glob, many_glob] = times.map(median);
    println!(
        "{what}: grep 1 thread {one:7.3} ms, {several} threads {many:7.3} ms ({:.2}); glob {one_glob:7.3} ms, {many_glob:7.3} ms ({:.2})",
        one / many,
        one_glob / many_glob,
    );
    Ok(())
}
