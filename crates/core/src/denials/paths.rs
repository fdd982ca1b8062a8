//! Paths that a command says it was refused.

use std::path::{Component, Path, PathBuf};

use toolwright_fs::{host_may_read, host_may_write, is_read_only};
use toolwright_policy::shell::sequence;
use toolwright_sandbox::layers::refuses_without_mounts;
use toolwright_sandbox::plan::{Files, Plan};

use super::{Denial, Ended, Layer};
use crate::voice::Door;

const READ_ONLY: [&str; 4] = ["read-only file system", "erofs", "os error 30)", "errno 30]"];
const REFUSED: [&str; 2] = ["permission denied", "eacces"];
/// How a layer without mounts can say it too.
const NOT_PERMITTED: [&str; 2] = ["operation not permitted", "eperm"];
/// The error for replacing a mount point: every protected file is one.
const BUSY: [&str; 3] = ["device or resource busy", "resource busy or locked", "ebusy"];

/// How programs say that something could not be written, whatever the error was.
const UNWRITTEN: [&str; 5] = [
    "cannot create",
    "could not create",
    "unable to (re)create",
    "failure writing output",
    "cannot change permissions",
];
/// What is closed with a directory is not there for a command.
const MISSING: [&str; 7] = [
    "no such file",
    "enoent",
    "nosuchfile",
    "directory nonexistent",
    "cannot find module",
    "couldn't open",
    "could not open",
];

/// What every command may write, or nobody.
const NOT_OF_THE_PLAN: [&str; 6] = ["/proc", "/sys", "/dev", "/tmp", "/var/tmp", "/run/user"];

/// How many lines around a refusal may name its path, where its own names none.
const AROUND: usize = 3;

pub(super) fn denials(ended: &Ended<'_>, printed: &str) -> Vec<Denial> {
    let lines: Vec<&str> = printed.lines().collect();
    let places = working_directories(ended);
    let is_path = |word: &String| {
        let is_there = |path: PathBuf| path.parent().is_some_and(Path::exists);
        word.contains('/') && places.iter().filter_map(|at| located(at, word)).any(is_there)
    };
    let of = |at: usize| {
        let said = Said::of(lines[at])?;
        let around = at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1);
        let own = named(lines[at]);
        let names_a_path = own.iter().any(is_path);
        let mut words = own;
        if !names_a_path {
            words.extend(lines[around].iter().flat_map(|line| named(line)));
        }
        // Shells do not quote a name.
        let plain = lines[at].split([' ', '\t']).filter(|word| !is_remote(word));
        let plain = plain.flat_map(|word| word.split(':')).filter(|word| !word.is_empty());
        words.extend(plain.map(str::to_owned));
        // A line begins with the program that has printed it.
        words.sort_by_key(|word| lines[at].starts_with(&**word));
        let found = first(ended, &places, &words, said);
        // Where no path was printed, the command line has it.
        let is_silent = || !said.refused && !said.busy && !words.iter().any(is_path);
        let of_line = || ended.command.1.iter().flat_map(|text| named(text)).collect::<Vec<_>>();
        found.or_else(|| is_silent().then(|| first(ended, &places, &of_line(), said)).flatten())
    };
    (0..lines.len()).filter_map(of).collect()
}

/// The files below a writable directory to which a call was not permitted. `calls` are names of the call and
/// descriptions of it.
pub(crate) fn not_permitted(ended: &Ended<'_>, calls: &[&str]) -> Vec<PathBuf> {
    let places = working_directories(ended);
    let arguments = ended.command.1;
    let lines: Vec<&str> = ended.ends().flat_map(str::lines).collect();
    let has = |line: &str, words: &[&str]| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    let mut all: Vec<String> = Vec::new();
    for at in (0..lines.len()).filter(|at| has(lines[*at], &NOT_PERMITTED)) {
        let line = lines[at];
        let around = &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)];
        let property = |name: &'static str| {
            around.iter().filter(move |line| line.trim_start().starts_with(name))
        };
        if has(line, calls) {
            all.extend(named(line));
            // A line begins with the program that has printed it.
            all.extend(line.trim_start().split([' ', '\t', ':']).skip(1).map(str::to_owned));
            if line.contains("()") {
                // PHP names the function alone.
                all.extend(arguments.iter().flat_map(|text| named(text)));
            }
        } else if property("syscall: ").any(|line| has(line, calls)) {
            // Node has a line for each property of an error.
            all.extend(property("path: ").flat_map(|line| named(line)));
        } else if arguments.iter().any(|text| has(text, calls)) {
            all.extend(named(line));
        }
    }
    all.retain(|word| !word.is_empty());
    let files = all.iter().flat_map(|word| places.iter().filter_map(|at| located(at, word)));
    files.filter(|path| is_writable(ended.plan, path) && path.is_file()).collect()
}

/// What a line says of an error.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a line can say several of them")]
struct Said {
    read_only: bool,
    refused: bool,
    busy: bool,
    missing: bool,
    unwritten: bool,
}

impl Said {
    fn of(line: &str) -> Option<Self> {
        let small = line.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
        let missing = has(&MISSING);
        let said = Self {
            read_only: has(&READ_ONLY),
            refused: has(&REFUSED) || has(&NOT_PERMITTED) && refuses_without_mounts(),
            busy: has(&BUSY),
            missing,
            // Of a whole path of directories the last one is missing where the first could not be made.
            unwritten: has(&UNWRITTEN) || missing && small.contains("mkdir"),
        };
        let Self { read_only, refused, busy, missing, unwritten } = said;
        (read_only || refused || busy || missing || unwritten).then_some(said)
    }
}

/// One line of a program is about one path.
fn first(ended: &Ended<'_>, places: &[PathBuf], words: &[String], said: Said) -> Option<Denial> {
    let paths = words.iter().flat_map(|word| places.iter().filter_map(|at| located(at, word)));
    paths.into_iter().find_map(|path| {
        // What is closed is covered by what cannot be written.
        let closed = || (!said.busy).then(|| unreadable(ended, &path, said)).flatten();
        let option = unwritable(ended, &path, said).or_else(closed)?;
        Some(Denial {
            layer: Layer::Files,
            subject: path.to_string_lossy().into_owned(),
            option: Some(option),
        })
    })
}

/// The option that would open the path to be written.
fn unwritable(ended: &Ended<'_>, path: &Path, said: Said) -> Option<&'static str> {
    let Said { read_only, refused, busy, unwritten, .. } = said;
    let plan = ended.plan;
    let is_protected = plan.protected.iter().any(|protected| path.starts_with(protected));
    let by_landlock = refused && refuses_without_mounts();
    if is_protected && (read_only || unwritten || busy || by_landlock) {
        return Some("sandbox.denyWrite");
    }
    // Of what is not there for a command, it is not known whether it may be written.
    if plan.files != Files::Confined || is_writable(plan, path) || plan.closes(path) {
        return None;
    }
    let by_mount = read_only && !is_read_only(path);
    let is_refused = by_mount || unwritten || by_landlock;
    let host_may =
        |path: &Path| path.ancestors().find(|path| path.exists()).is_some_and(host_may_write);
    (is_refused && (by_mount || host_may(path))).then_some(match ended.door {
        Door::Tools => "sandbox.writableRoots",
        Door::Session => "fs.write",
    })
}

/// Where a command line may have worked: where it began, and where it went or sent a program (`tar -C`).
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
        for pair in step.words.windows(2) {
            if let [Some(option), Some(to)] = pair
                && option == "-C"
            {
                all.push(at.join(to));
            }
        }
    }
    all
}

fn is_writable(plan: &Plan, path: &Path) -> bool {
    let is_below = |directory: &Path| path.starts_with(directory);
    // A directory for temporary files shows what is granted in it, for reading alone.
    let is_granted = || plan.readable.iter().any(|readable| is_below(readable));
    plan.writable.iter().any(|writable| is_below(writable)) || is_of_commands(path) && !is_granted()
}

/// Whether a path lies where commands have files of their own, or nobody has.
pub(crate) fn is_of_commands(path: &Path) -> bool {
    let known = NOT_OF_THE_PLAN.iter().any(|directory| path.starts_with(directory));
    known || path.starts_with(std::env::temp_dir())
}

/// The option that would open the path to be read. What the host cannot read itself is not closed by it. Something
/// new in a directory that is not there has nowhere to be.
fn unreadable(ended: &Ended<'_>, path: &Path, said: Said) -> Option<&'static str> {
    let is_new = || {
        let above = path.ancestors().skip(1).take(if said.unwritten { usize::MAX } else { 1 });
        let is_about_it = said.missing || said.unwritten || said.read_only;
        is_about_it
            && !path.exists()
            && above.into_iter().any(|above| above != Path::new("/") && host_may_read(above))
    };
    let closed = ended.plan.closed_around(path)?;
    // What is in a closed directory is no command's to learn: whether there is such a file, too.
    let is_within = path != closed && !ended.plan.root.starts_with(closed);
    if !(is_within && host_may_read(closed) || host_may_read(path) || is_new()) {
        return None;
    }
    Some(match ended.door {
        Door::Tools => "sandbox.readable",
        Door::Session => "fs.read",
    })
}

/// Whether a word is an address, whose host is no directory.
fn is_remote(word: &str) -> bool {
    word.contains("://") && !word.contains("file://")
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
    for word in line.split_whitespace().filter(|word| !is_remote(word)) {
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
