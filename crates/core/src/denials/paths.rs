//! Paths that a command says it was refused.

use std::path::{Component, Path, PathBuf};

use toolwright_fs::{host_may_read, host_may_write, is_read_only};
use toolwright_policy::shell::sequence;
use toolwright_sandbox::layers::refuses_without_mounts;
use toolwright_sandbox::plan::{Files, Plan};

use super::{Denial, Ended, Layer};
use crate::voice::Door;

const READ_ONLY: [&str; 4] = ["read-only file system", "erofs", "os error 30)", "errno 30]"];
const REFUSED: [&str; 4] = ["permission denied", "eacces", "operation not permitted", "eperm"];
/// The error for replacing a mount point: every protected file is one.
const BUSY: [&str; 3] = ["device or resource busy", "resource busy or locked", "ebusy"];

/// What every command may write, or nobody.
const NOT_OF_THE_PLAN: [&str; 6] = ["/proc", "/sys", "/dev", "/tmp", "/var/tmp", "/run/user"];

/// How many lines around a refusal may name its path, where its own names none.
const AROUND: usize = 3;

pub(super) fn denials(ended: &Ended<'_>, printed: &str) -> Vec<Denial> {
    let lines: Vec<&str> = printed.lines().collect();
    let of = |at: usize| {
        let around = at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1);
        let names_a_path = named(lines[at]).iter().any(|word| word.contains('/'));
        let near: &[&str] = if names_a_path { &[] } else { &lines[around] };
        of_line(ended, lines[at], near)
    };
    (0..lines.len()).filter_map(of).collect()
}

/// One line of a program is about one path. `near` are the lines that may name it instead.
fn of_line(ended: &Ended<'_>, line: &str, near: &[&str]) -> Option<Denial> {
    let small = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let (read_only, refused, busy) = (has(&READ_ONLY), has(&REFUSED), has(&BUSY));
    if !(read_only || refused || busy) {
        return None;
    }
    let mut words: Vec<_> = [line].iter().chain(near).flat_map(|line| named(line)).collect();
    // Shells do not quote a name.
    words.extend(line.split([' ', '\t', ':']).filter(|word| !word.is_empty()).map(str::to_owned));
    // A line begins with the program that has printed it.
    words.sort_by_key(|word| line.starts_with(&**word));
    let places = working_directories(ended);
    let paths = words.iter().flat_map(|word| places.iter().filter_map(|at| located(at, word)));
    paths.into_iter().find_map(|path| {
        // What is closed is covered by what cannot be written.
        let closed = || (refused || read_only).then(|| unreadable(ended, &path)).flatten();
        let option = unwritable(ended, &path, read_only, busy, refused).or_else(closed)?;
        Some(Denial {
            layer: Layer::Files,
            subject: path.to_string_lossy().into_owned(),
            option: Some(option),
        })
    })
}

/// The option that would open the path to be written.
fn unwritable(
    ended: &Ended<'_>,
    path: &Path,
    read_only: bool,
    busy: bool,
    refused: bool,
) -> Option<&'static str> {
    let plan = ended.plan;
    let is_protected = plan.protected.iter().any(|protected| path.starts_with(protected));
    if is_protected && (read_only || busy || (refused && refuses_without_mounts())) {
        return Some("sandbox.denyWrite");
    }
    if plan.files != Files::Confined || is_writable(plan, path) {
        return None;
    }
    let by_mount = read_only && !is_read_only(path);
    let by_landlock = refused && refuses_without_mounts() && host_may_write(path);
    (by_mount || by_landlock).then_some(match ended.door {
        Door::Tools => "sandbox.writableRoots",
        Door::Session => "fs.write",
    })
}

/// Where a command line may have worked: where it began, and where it went.
fn working_directories(ended: &Ended<'_>) -> Vec<PathBuf> {
    let (program, arguments) = ended.command;
    let mut at = ended.directory.to_owned();
    let mut all = vec![at.clone()];
    for step in sequence(program, arguments) {
        if let [Some(name), Some(to)] = &*step.words
            && matches!(&**name, "cd" | "pushd")
        {
            at = at.join(to);
            all.push(at.clone());
        }
    }
    all
}

fn is_writable(plan: &Plan, path: &Path) -> bool {
    let is_below = |directory: &Path| path.starts_with(directory);
    plan.writable.iter().any(|writable| is_below(writable))
        || NOT_OF_THE_PLAN.iter().any(|directory| is_below(Path::new(directory)))
        || is_below(&std::env::temp_dir())
}

/// The option that would open the path to be read. What the host cannot read itself is not closed by it.
fn unreadable(ended: &Ended<'_>, path: &Path) -> Option<&'static str> {
    if !ended.plan.closes(path) || !host_may_read(path) {
        return None;
    }
    Some(match ended.door {
        Door::Tools => "sandbox.readable",
        Door::Session => "fs.read",
    })
}

/// What of a line may be a path: what is quoted, and each word with a slash.
pub(crate) fn named(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (open, close) in [('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’'), ('`', '\'')] {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, more)) = after.split_once(close) else { break };
            all.push(inside.to_owned());
            rest = more;
        }
    }
    let is_edge =
        |char: char| matches!(char, ':' | ',' | ';' | '(' | ')' | '\'' | '"' | '`' | '[' | ']');
    for word in line.split_whitespace() {
        for part in word.split(is_edge).filter(|part| part.contains('/')) {
            all.push(part.to_owned());
            // The end of a sentence, perhaps.
            all.extend(part.strip_suffix('.').map(str::to_owned));
        }
    }
    all.retain(|word| !word.is_empty() && word.len() < 4096 && !word.contains("://"));
    all
}

/// The place of a path as the command meant it, with links followed as far as it exists.
pub(crate) fn located(directory: &Path, word: &str) -> Option<PathBuf> {
    if word.contains('\0') {
        return None;
    }
    let whole = match word.strip_prefix("~/") {
        Some(below) => std::env::home_dir()?.join(below),
        None => directory.join(word),
    };
    let mut plain = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let there = plain.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)))?;
    let below = plain.strip_prefix(there.0).ok()?;
    Some(if below.as_os_str().is_empty() { there.1 } else { there.1.join(below) })
}
