//! Commits that were made in a fork: they come to the base as objects and one reference.
//!
//! The git directory of a fork is the fork's own, with hooks, settings and references that any command may have
//! written. Nothing of that is copied. The objects that are new are parsed and written anew by `toolwright_git`, as those
//! of commands are, together with a reference to what the fork has checked out.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{AtFlags, linkat};
use toolwright_fs::remove_tree;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Snapshot, Terms};

use crate::tree;

/// The most bytes of a file that holds references.
const MAX_REFERENCES: u64 = 64 << 20;
/// How many references lead to others.
const MAX_STEPS: usize = 5;
/// The most files of new objects.
const MAX_OBJECTS: usize = 500_000;

/// What the fork has checked out, where that is not what the base has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commits {
    /// The commit.
    pub commit: String,
    /// The reference to it in the base; `None` where it could not be brought there.
    pub reference: Option<String>,
}

/// Brings the commits of a fork to the base. `None`: it has checked out what the base has. Both are read by their
/// descriptors: a command in the fork that still runs cannot have another repository read in between.
pub(crate) fn bring(
    id: &str,
    place: &Path,
    upper: &Directory,
    (base, path): (&Directory, &Path),
) -> Option<Commits> {
    let git = base.below(".git").ok()??;
    let changes = upper.below(".git").ok()??;
    let commit = resolved(&[&changes, &git])?;
    if resolved(&[&git]).as_ref() == Some(&commit) {
        return None;
    }
    let name = format!("refs/forks/{id}");
    let reference = import(&git, path, (place, &changes), (&name, &commit)).map(|()| name);
    Some(Commits { commit, reference })
}

/// Has the objects and one reference imported, as if nothing else had changed.
fn import(
    git: &Directory,
    base: &Path,
    (place, changes): (&Path, &Directory),
    (name, commit): (&str, &str),
) -> Option<()> {
    let _ = remove_tree(place, None);
    let made = offer(place, changes, (name, commit)).and_then(|()| {
        let snapshot = Snapshot::take(git).ok()?;
        let changes = Directory::open(place).ok()?;
        let terms = Terms {
            git: base.join(".git"),
            top: Some(base.to_owned()),
            is_writable: Box::new(|path| path.starts_with(base)),
            is_readable: Box::new(|_| true),
            is_strict: true,
            holds_git_directories: true,
            lent: Vec::new(),
        };
        let imported = import::import(git, &snapshot, &changes, &terms);
        let written = git.read(name, MAX_REFERENCES).ok().flatten();
        let is_there = written.is_some_and(|text| text.trim_ascii() == commit.as_bytes());
        (!imported.is_waiting && is_there).then_some(())
    });
    let _ = remove_tree(place, None);
    made
}

/// Makes a directory with the objects of the fork and the reference.
fn offer(place: &Path, changes: &Directory, (name, commit): (&str, &str)) -> Option<()> {
    let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path).ok();
    let reference = place.join(name);
    make(reference.parent()?)?;
    fs::write(&reference, format!("{commit}\n")).ok()?;
    let objects = place.join("objects");
    make(&objects)?;
    // One that is no directory, a link above all, is refused.
    let Some(from) = changes.below("objects").ok()? else { return Some(()) };
    let mut count = 0;
    for name in tree::names(&from).ok()? {
        let Ok(inner) = tree::directory(&from, &name) else { continue };
        let to = objects.join(&name);
        make(&to)?;
        let to = tree::open(&to).ok()?;
        for file in tree::names(&inner).ok()? {
            count += 1;
            if count > MAX_OBJECTS {
                return None;
            }
            // Another name of the same file: nothing is copied. What is no file is refused by the reader.
            linkat(&inner, &file, &to, &file, AtFlags::empty()).ok()?;
        }
    }
    Some(())
}

/// The commit that is checked out, by the first of some git directories that says so.
fn resolved(layers: &[&Directory]) -> Option<String> {
    let mut name = "HEAD".to_owned();
    for _ in 0..MAX_STEPS {
        let value = value(layers, &name)?;
        match value.strip_prefix("ref: ") {
            Some(next) if next.starts_with("refs/") && !next.contains("..") => {
                next.clone_into(&mut name);
            }
            Some(_) => return None,
            None => {
                let is_id = value.len() == 40 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
                return is_id.then_some(value);
            }
        }
    }
    None
}

fn value(layers: &[&Directory], name: &str) -> Option<String> {
    for layer in layers {
        if let Ok(Some(text)) = layer.read(name, 4 << 10) {
            return String::from_utf8(text).ok().map(|text| text.trim_end().to_owned());
        }
    }
    for layer in layers {
        let Ok(Some(packed)) = layer.read("packed-refs", MAX_REFERENCES) else { continue };
        let mut lines = packed.split(|byte| *byte == b'\n');
        let found = lines.find_map(|line| {
            let (id, of) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            (of == name).then(|| id.to_owned())
        });
        return found;
    }
    None
}
