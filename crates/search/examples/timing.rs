//! Times searches against ripgrep, spawned as a tool would spawn it, in interleaved rounds.
//!
//! ```sh
//! TOOLWRIGHT_RG=/path/to/rg cargo run --release -p toolwright-search --example timing -- DIR [ROUNDS] [PATTERN…]
//! ```
//!
//! Without `TOOLWRIGHT_RG` only our own times are taken. Each row: median and minimum in
//! milliseconds, and ripgrep's median over ours.

#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use toolwright_search::{GlobRequest, GrepRequest, glob, grep};

/// Opens and looks, as the binding does.
fn open(root: &File, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(openat2(root, path, flags, Mode::empty(), resolve)?);
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile | FileType::Directory => Ok(file),
        _ => Err(rustix::io::Errno::NXIO.into()),
    }
}

fn ours(root: &Path, pattern: &str, limit: usize) -> Result<usize, Box<dyn Error>> {
    let handle = File::open(root)?;
    let request = GrepRequest {
        root,
        start: Path::new(""),
        display: Path::new(""),
        pattern,
        max_output_bytes: limit,
        deadline: Some(Instant::now() + std::time::Duration::from_secs(60)),
        cancel: &AtomicBool::new(false),
    };
    Ok(grep(&request, &|path| open(&handle, path))?.text.len())
}

fn names(root: &Path, pattern: &str) -> Result<usize, Box<dyn Error>> {
    let handle = File::open(root)?;
    let request = GlobRequest {
        root,
        start: Path::new(""),
        patterns: &[pattern],
        hidden: false,
        max_results: u64::MAX,
        deadline: Some(Instant::now() + std::time::Duration::from_secs(60)),
        cancel: &AtomicBool::new(false),
    };
    Ok(glob(&request, &|path| open(&handle, path))?.text.len())
}

fn theirs(program: &OsString, root: &Path, arguments: &[&str]) -> Result<usize, Box<dyn Error>> {
    let output = Command::new(program)
        .current_dir(root)
        .args(arguments)
        .arg("./")
        .stdin(Stdio::null())
        .output()?;
    Ok(output.stdout.len())
}

#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn take(
        &mut self,
        run: impl FnOnce() -> Result<usize, Box<dyn Error>>,
    ) -> Result<usize, Box<dyn Error>> {
        let started = Instant::now();
        let size = run()?;
        self.0.push(started.elapsed().as_secs_f64() * 1e3);
        Ok(size)
    }

    fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn minimum(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().ok_or("usage: timing DIR [ROUNDS] [PATTERN…]")?)
        .canonicalize()?;
    let rounds: usize = arguments.next().map_or(Ok(15), |rounds| rounds.parse())?;
    let mut patterns: Vec<String> = arguments.collect();
    if patterns.is_empty() {
        patterns = ["zqxjkvw", "fn main", "[A-Z]+_RESUME"].map(str::to_owned).to_vec();
    }
    let program = std::env::var_os("TOOLWRIGHT_RG");
    for (pattern, limit) in
        patterns.iter().flat_map(|pattern| [(pattern, usize::MAX), (pattern, 20_000)])
    {
        let (mut we, mut they) = (Times::default(), Times::default());
        let (mut our_size, mut their_size) = (0, 0);
        for _ in 0..rounds {
            our_size = we.take(|| ours(&root, pattern, limit))?;
            if let Some(program) = &program {
                let flags = ["-n", "--no-config", "--color=never", "-H", "-e", pattern];
                their_size = they.take(|| theirs(program, &root, &flags))?;
            }
        }
        let (we_median, they_median) = (we.median(), they.median());
        println!(
            "{pattern:>16} limit {limit:>20}: ours {we_median:8.2}/{:8.2} ({our_size} bytes)  rg {they_median:8.2}/{:8.2} ({their_size} bytes)  ratio {:.2}",
            we.minimum(),
            they.minimum(),
            they_median / we_median,
        );
    }
    for pattern in ["*.rs", "*.{md,json}"] {
        let (mut we, mut they) = (Times::default(), Times::default());
        let mut sizes = (0, 0);
        for _ in 0..rounds {
            sizes.0 = we.take(|| names(&root, pattern))?;
            if let Some(program) = &program {
                let flags = ["--files", "--no-config", "-g", pattern];
                sizes.1 = they.take(|| theirs(program, &root, &flags))?;
            }
        }
        let (we_median, they_median) = (we.median(), they.median());
        println!(
            "{pattern:>16} names {:>20}: ours {we_median:8.2}/{:8.2} ({} bytes)  rg {they_median:8.2}/{:8.2} ({} bytes)  ratio {:.2}",
            "",
            we.minimum(),
            sizes.0,
            they.minimum(),
            sizes.1,
            they_median / we_median,
        );
    }
    Ok(())
}
