//! Two agents and a person change the same files: no line is lost that nobody has shown to the agent which loses it, and
//! nobody is refused where nothing has changed.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use tempfile::TempDir;
use toolwright_core::apply_patch::{ApplyPatchInput, Files};
use toolwright_core::code::Code;
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::failure::Unfinished;
use toolwright_core::file::{File, Publish};
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::seen::{SeenFiles, UnseenChanges};
use toolwright_core::write::WriteInput;
use toolwright_fs::{DirectoryGrant, LineRange};

static NEVER: AtomicBool = AtomicBool::new(false);
const PUBLISH: Publish = Publish {
    fsync: false,
    allow_in_place: false,
    wait: Duration::from_secs(9),
    deny_write: None,
    notebooks: false,
};
const LIMIT: u64 = 100_000;
const NAMES: [&str; 3] = ["one", "two", "three"];
const STEPS: usize = 24;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A hundredth of the cases in an everyday run; `TOOLWRIGHT_SOAK_FACTOR=100` asks for all 10,000.
fn cases() -> u64 {
    100 * number("TOOLWRIGHT_SOAK_FACTOR").unwrap_or(1).max(1)
}

struct Random(TestRng);

impl Random {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.0.next_u32()).unwrap() % count.max(1)
    }
}

/// An agent, and every line that it has been shown or has written.
struct Agent {
    seen: SeenFiles,
    known: HashSet<String>,
    /// The files that others have changed since it saw all of them.
    is_stale: [bool; NAMES.len()],
    /// The files that it has seen all of.
    has_seen: [bool; NAMES.len()],
}

impl Agent {
    fn new() -> Self {
        let seen = SeenFiles::new(UnseenChanges::Refuse, false, 8_000);
        Self {
            seen,
            known: HashSet::new(),
            is_stale: [false; NAMES.len()],
            has_seen: [false; NAMES.len()],
        }
    }

    fn is_shown(&mut self, text: &str) {
        let words = text.split(|one: char| !one.is_ascii_alphanumeric());
        self.known.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }
}

struct World {
    _made: TempDir,
    path: PathBuf,
    root: DirectoryGrant,
    agents: [Agent; 2],
    made: usize,
    log: String,
}

impl World {
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        Self {
            _made: made,
            root: DirectoryGrant::new("rootDir", &path),
            path,
            agents: [Agent::new(), Agent::new()],
            made: 0,
            log: String::new(),
        }
    }

    fn text(&self, file: usize) -> Option<String> {
        fs::read_to_string(self.path.join(NAMES[file])).ok()
    }

    fn lines(&self, file: usize) -> Vec<String> {
        self.text(file).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// A line that no other is like.
    fn line(&mut self, by: &str) -> String {
        self.made += 1;
        format!("{by}{}", self.made)
    }

    fn note(&mut self, what: impl std::fmt::Display) {
        let _ = writeln!(self.log, "{what}");
    }

    fn changed(&mut self, file: usize, by: Option<usize>) {
        for (index, agent) in self.agents.iter_mut().enumerate() {
            if Some(index) != by {
                agent.is_stale[file] = true;
            }
        }
    }

    /// The person adds, removes or replaces a line, or changes what does not count.
    fn person(&mut self, random: &mut Random) {
        let file = random.below(NAMES.len());
        let path = self.path.join(NAMES[file]);
        let mut lines = self.lines(file);
        let before = lines.clone();
        let at = random.below(lines.len() + 1);
        match random.below(8) {
            0 if !lines.is_empty() => drop(lines.remove(at.min(lines.len() - 1))),
            1 if !lines.is_empty() => {
                let line = self.line("p");
                lines[at.min(before.len() - 1)] = line;
            }
            // Touched: the same content in a new file.
            2 | 3 => {}
            4 => {
                self.note(format_args!("person deletes {file}"));
                if fs::remove_file(&path).is_ok() {
                    self.changed(file, None);
                }
                return;
            }
            _ => {
                let line = self.line("p");
                lines.insert(at, line);
            }
        }
        let ends = ["\n", "\r\n"][random.below(2)];
        let text: String = lines.iter().flat_map(|line| [line.as_str(), ends]).collect();
        if lines.is_empty() && before.is_empty() {
            return;
        }
        self.note(format_args!("person: {} = {lines:?}", NAMES[file]));
        fs::write(self.path.join("new"), text).unwrap();
        fs::rename(self.path.join("new"), path).unwrap();
        if lines != before {
            self.changed(file, None);
        }
    }

    fn read(&mut self, who: usize, random: &mut Random) {
        let file = random.below(NAMES.len());
        let agent = &mut self.agents[who];
        let bytes = if random.below(4) == 0 {
            let (first, count) = (1 + random.below(3) as u64, 1 + random.below(4) as u64);
            let lines = LineRange { first, count, limit: LIMIT };
            let input = ReadLinesInput { root: &self.root, path: NAMES[file], lines };
            input.run_seen(&agent.seen, &NEVER).map(|lines| lines.bytes)
        } else {
            let input = ReadInput {
                root: &self.root,
                path: NAMES[file],
                limit_bytes: LIMIT,
                text_only: true,
            };
            let cached = if random.below(2) == 0 {
                input.try_cached_seen(&agent.seen, <[u8]>::to_vec)
            } else {
                None
            };
            let read = cached.map_or_else(|| input.run_seen(&agent.seen, &NEVER), Ok);
            if read.is_ok() {
                (agent.is_stale[file], agent.has_seen[file]) = (false, true);
            }
            read
        };
        if let Ok(bytes) = bytes {
            let text = String::from_utf8(bytes).unwrap();
            agent.is_shown(&text);
            self.note(format_args!("agent {who} reads {}: {text:?}", NAMES[file]));
        }
    }

    /// Some of the lines that the agent knows to be there, and a new one.
    fn content(&mut self, who: usize, file: usize, random: &mut Random) -> String {
        let mut lines = self.lines(file);
        lines.retain(|line| self.agents[who].known.contains(line) && random.below(4) > 0);
        lines.push(self.line("a"));
        lines.join("\n") + "\n"
    }

    fn change(&mut self, who: usize, random: &mut Random) {
        let (file, other) = (random.below(NAMES.len()), random.below(NAMES.len()));
        let content = self.content(who, file, random);
        let known: Vec<String> = {
            let known = &self.agents[who].known;
            self.lines(file).into_iter().filter(|line| known.contains(line)).collect()
        };
        let line = known.get(random.below(known.len())).cloned();
        let act = match (random.below(6), line) {
            (0 | 1, Some(old)) => Act::Edit { file, old, new: self.line("a") },
            (2, _) => {
                let added: String = content.lines().flat_map(|line| ["+", line, "\n"]).collect();
                Act::Patch { file, text: format!("*** Add File: {}\n{added}", NAMES[file]) }
            }
            (3, Some(line)) if file != other && self.text(file).is_some() => Act::Patch {
                file: other,
                text: format!(
                    "*** Update File: {}\n*** Move to: {}\n@@\n-{line}\n+{}\n",
                    NAMES[file],
                    NAMES[other],
                    self.line("a")
                ),
            },
            (4, _) if random.below(3) == 0 => {
                Act::Patch { file, text: format!("*** Delete File: {}\n", NAMES[file]) }
            }
            _ => Act::Write { file, content },
        };
        self.note(format_args!("agent {who}: {act:?}"));
        let Some(refusal) = self.make(who, &act) else { return };
        let is_shown = refusal.details["shown"] == true;
        let message = refusal.message();
        self.note(format_args!("agent {who} is refused: {message}"));
        assert!(self.agents[who].is_stale[act.file()], "a false alarm\n{}", self.log);
        self.agents[who].is_shown(&message);
        if is_shown && random.below(2) == 0 {
            let again = self.make(who, &act);
            assert!(again.is_none(), "the same call is refused again: {again:?}\n{}", self.log);
        }
    }

    /// Makes a call. `None` if it was not refused for what others have changed.
    fn make(&mut self, who: usize, act: &Act) -> Option<toolwright_core::failure::Failure> {
        let before: Vec<Vec<String>> = (0..NAMES.len()).map(|file| self.lines(file)).collect();
        let agent = &mut self.agents[who];
        let made = act.run(&self.root, &agent.seen);
        let notes = match made {
            Ok(notes) => notes,
            Err(Unfinished::Failed(failure)) if failure.code == Code::FileChanged => {
                for (file, lines) in before.iter().enumerate() {
                    assert_eq!(*lines, self.lines(file), "a refused call changes nothing");
                }
                return Some(failure);
            }
            Err(_) => return None,
        };
        // What was never read is replaced, and the text says so.
        let is_told = !self.agents[who].has_seen[act.file()] && act.says_what_it_replaces(&notes);
        let after: HashSet<String> = (0..NAMES.len()).flat_map(|file| self.lines(file)).collect();
        for line in before.iter().flatten() {
            let is_kept = after.contains(line) || self.agents[who].known.contains(line);
            assert!(is_kept || is_told, "{line} is lost\n{}\n{notes}", self.log);
        }
        self.agents[who].is_shown(&notes);
        self.agents[who].is_shown(act.text());
        let agent = &mut self.agents[who];
        match act.moved_from() {
            // It knows of the file at its new place what it knew at the old one.
            Some(from) => {
                agent.has_seen[act.file()] = agent.has_seen[from];
                agent.is_stale[act.file()] |= agent.is_stale[from];
            }
            None if matches!(act, Act::Edit { .. }) => {}
            None => agent.has_seen[act.file()] = true,
        }
        for (file, before) in before.iter().enumerate() {
            if *before != self.lines(file) {
                self.changed(file, Some(who));
            }
        }
        self.note(format_args!("agent {who} has done it: {notes}"));
        None
    }
}

#[derive(Debug)]
enum Act {
    Write { file: usize, content: String },
    Edit { file: usize, old: String, new: String },
    Patch { file: usize, text: String },
}

impl Act {
    fn file(&self) -> usize {
        let (Self::Write { file, .. } | Self::Edit { file, .. } | Self::Patch { file, .. }) = self;
        *file
    }

    fn text(&self) -> &str {
        let (Self::Write { content: text, .. }
        | Self::Edit { new: text, .. }
        | Self::Patch { text, .. }) = self;
        text
    }

    fn moved_from(&self) -> Option<usize> {
        let Self::Patch { text, .. } = self else { return None };
        NAMES.iter().position(|name| text.starts_with(&format!("*** Update File: {name}\n")))
    }

    fn says_what_it_replaces(&self, notes: &str) -> bool {
        let is_deletion = matches!(self, Self::Patch { text, .. } if text.contains("Delete File"));
        is_deletion || notes.contains("had not been read") || notes.contains("replaced a file")
    }

    /// What a model reads afterwards.
    fn run(&self, root: &DirectoryGrant, seen: &SeenFiles) -> Result<String, Unfinished> {
        let (limit_bytes, publish) = (LIMIT, &PUBLISH);
        let file = File::Below { root, path: NAMES[self.file()] };
        match self {
            Self::Write { content, .. } => {
                let input = WriteInput { file, content, limit_bytes, publish };
                Ok(input.run_seen(seen, &NEVER)?.note.unwrap_or_default())
            }
            Self::Edit { old, new, .. } => {
                let change = Change::Replacement { old, new, all: false };
                let input = EditInput { file, change, limit_bytes, publish };
                Ok(input.run_seen(seen, &NEVER)?.note.unwrap_or_default())
            }
            Self::Patch { text, .. } => {
                let patch = &format!("*** Begin Patch\n{text}*** End Patch\n");
                let input =
                    ApplyPatchInput { files: Files::Below(root), patch, limit_bytes, publish };
                Ok(input.run_for(Some(seen), &NEVER)?.summary())
            }
        }
    }
}

#[test]
fn no_line_is_lost_that_was_not_shown() {
    let seed = number("TOOLWRIGHT_SEED").unwrap_or(1);
    for case in 0..cases() {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let mut world = World::new();
        world.note(format_args!("TOOLWRIGHT_SEED={seed}, case {case}"));
        for _ in 0..STEPS {
            match random.below(5) {
                0 => world.person(&mut random),
                1 | 2 => {
                    let who = random.below(2);
                    world.read(who, &mut random);
                }
                _ => {
                    let who = random.below(2);
                    world.change(who, &mut random);
                }
            }
        }
    }
}

/// The comparison is made with the bytes that are replaced, and not before.
#[test]
fn a_change_between_the_comparison_and_the_replacement_is_not_lost() {
    let world = World::new();
    let path = world.path.join("one");
    fs::write(&path, "a\n").unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let person = {
        let (path, is_over) = (path.clone(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mut lines = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let line = format!("p{}", lines.len());
                let now = fs::read_to_string(&path).unwrap();
                fs::write(path.with_extension("new"), format!("{now}{line}\n")).unwrap();
                fs::rename(path.with_extension("new"), &path).unwrap();
                lines.push(line);
                std::thread::sleep(Duration::from_micros(300));
            }
            lines
        })
    };
    let mut agent = Agent::new();
    let mut made = 0;
    for round in 0..400 {
        let content = format!("a{round}\n");
        let act = Act::Write { file: 0, content };
        match act.run(&world.root, &agent.seen) {
            Ok(notes) => {
                made += 1;
                agent.is_shown(&notes);
                // The first one has read nothing.
                if round == 0 {
                    let read = fs::read_to_string(&path).unwrap();
                    agent.is_shown(&read);
                }
            }
            Err(Unfinished::Failed(failure)) => agent.is_shown(&failure.message()),
            Err(other) => panic!("{other:?}"),
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let written = person.join().unwrap();
    let left = fs::read_to_string(&path).unwrap();
    let lost: Vec<&String> = written
        .iter()
        .skip(20) // those of the time before the first write
        .filter(|line| !left.lines().any(|one| one == *line) && !agent.known.contains(*line))
        .collect();
    // A second change while the exchange of the first is taken back has no witness.
    assert!(lost.len() <= written.len() / 20, "{lost:?} of {} after {made} writes", written.len());
    assert!(made > 1, "the same call passes after it was refused");
}
