//! Random changes to a tree over a tiny alphabet, then one path resolved in both ways.
//!
//! The law: what is read lies inside, both resolvers agree, and no write changes anything outside.

#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use toolwright_fs::{Resolver, Root, WriteOptions, read, write};

static NEVER: AtomicBool = AtomicBool::new(false);
/// One directory for all runs, emptied between them; in memory where there is such a place.
static BASE: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
    parent.join(format!("toolwright-fuzz-{}", std::process::id()))
});

/// Reads bytes as paths: the low bits of each choose the next part.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn path(&mut self) -> Option<String> {
        let length = self.next()? % 6;
        let mut parts = Vec::new();
        for _ in 0..=length {
            parts.push(["a", "b", "..", ".", "", "a", "b", "c"][usize::from(self.next()? % 8)]);
        }
        let path = parts.join("/");
        Some(path.trim_start_matches('/').to_owned())
    }

    /// A path as a link or a caller may give it: relative, or absolute inside or outside.
    fn any_path(&mut self) -> Option<String> {
        let (root, outside) = (BASE.join("root"), BASE.join("outside"));
        let form = self.next()? % 6;
        let path = self.path()?;
        Some(match form {
            0 => format!("{}/{path}", root.display()),
            1 => format!("{}/../outside/{path}", root.display()),
            2 => format!("{}/{path}", outside.display()),
            _ => path,
        })
    }
}

fn outside_is_untouched() -> bool {
    let names = |path: PathBuf| std::fs::read_dir(path).map_or(0, Iterator::count);
    let outside = BASE.join("outside");
    names(outside.clone()) == 2
        && ["a", "b"].iter().all(|name| {
            names(outside.join(name)) == 1
                && std::fs::read(outside.join(name).join("a")).is_ok_and(|text| text == b"OUTSIDE")
        })
}

fn prepare() -> PathBuf {
    let root = BASE.join("root");
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).expect("a root");
    for name in ["a", "b"] {
        let directory = BASE.join("outside").join(name);
        if !directory.exists() {
            std::fs::create_dir_all(&directory).expect("a directory outside");
            std::fs::write(directory.join("a"), "OUTSIDE").expect("a file outside");
        }
    }
    root
}

/// Makes a directory, a file or a link, where its parent lies inside and nothing is there yet.
fn change(root: &Path, input: &mut Input<'_>) -> Option<()> {
    let kind = input.next()? % 3;
    let full = root.join(input.path()?);
    let target = if kind == 2 { input.any_path()? } else { String::new() };
    let Some(name) = full.file_name() else { return Some(()) };
    let parent = full.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    let Some(parent) = parent.filter(|parent| parent.starts_with(root)) else { return Some(()) };
    let place = parent.join(name);
    if place.symlink_metadata().is_err() {
        let _ = match kind {
            0 => std::fs::create_dir(&place),
            1 => std::fs::write(&place, "inside"),
            _ => std::os::unix::fs::symlink(&target, &place),
        };
    }
    Some(())
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let root_path = prepare();
    let Some(path) = input.any_path() else { return };
    while change(&root_path, &mut input).is_some() {}

    let roots = [Resolver::Automatic, Resolver::Walk]
        .map(|resolver| Root::open_with(&root_path, resolver).expect("the root"));
    let answers = roots.each_ref().map(|root| match read(root, &path, 1000, &NEVER) {
        Ok(bytes) => {
            assert_eq!(bytes, b"inside", "escape through {path}");
            None
        }
        Err(error) => Some(std::mem::discriminant(&error.kind)),
    });
    assert_eq!(answers[0], answers[1], "the resolvers disagree about {path}");
    for root in &roots {
        let _ = write(root, &path, b"inside", &WriteOptions::default(), &NEVER);
        assert!(outside_is_untouched(), "{path} was written outside");
    }
});
