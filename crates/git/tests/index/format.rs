//! What git writes is read as git reads it, and git reads what is written here.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use proptest::sample::{Index as Choice, select};
use toolwright_git::index::{Entry, Index, IndexError, Source};

use super::repository::{Repository, listed, repository};
use super::times;

#[derive(Debug, Clone)]
struct Plan {
    version: &'static str,
    lines: Vec<(String, u8, u32, u8)>,
    files: Vec<String>,
    marks: Vec<(&'static str, Choice)>,
    is_split: bool,
    later: Vec<(String, u8)>,
}

fn path() -> impl Strategy<Value = String> {
    let part = select(vec![
        "a",
        "b",
        "a-b",
        "a.c",
        "lib",
        "long-name-of-a-file.txt",
        "\u{e4}\u{1f600}",
        "z z",
    ]);
    let long = "l".repeat(200);
    prop_oneof![
        8 => prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/")),
        1 => (1..21_usize).prop_map(move |many| vec![&*long; many].join("/")),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let mode = select(vec![0o100_644, 0o100_755, 0o120_000, 0o160_000]);
    let line = (path(), select(vec![0_u8, 0, 0, 0, 1, 2, 3]), mode, 1..255_u8);
    let mark = select(vec!["--skip-worktree", "--assume-unchanged", "--no-assume-unchanged"]);
    (
        select(vec!["2", "3", "4"]),
        prop::collection::vec(line, 0..30),
        prop::collection::vec(path(), 0..4),
        prop::collection::vec((mark, any::<Choice>()), 0..4),
        any::<bool>(),
        prop::collection::vec((path(), 1..255_u8), 0..6),
    )
        .prop_map(|(version, lines, files, marks, is_split, later)| Plan {
            version,
            lines,
            files,
            marks,
            is_split,
            later,
        })
}

fn made(repository: &Repository, plan: &Plan) {
    let mut input = String::new();
    for (path, stage, mode, number) in &plan.lines {
        // Only plumbing makes a path that is merged and in conflict at once.
        if plan.lines.iter().any(|(other, its, ..)| other == path && (*its == 0) != (*stage == 0)) {
            continue;
        }
        writeln!(input, "{mode:o} {} {stage}\t{path}", format!("{number:02x}").repeat(20)).unwrap();
    }
    let add = |input: &str| {
        let input = input.replace('\n', "\0");
        repository.fed(&["update-index", "-z", "--replace", "--index-info"], input.as_bytes());
    };
    repository.git(&["update-index", "--index-version", plan.version]);
    add(&input);
    for (number, path) in plan.files.iter().enumerate() {
        let path = format!("files/{number}/{path}");
        if path.len() < 2_000 && path.split('/').all(|part| part.len() < 250) {
            repository.put(&path, "content");
            let adds: &[&str] =
                if number % 2 == 0 { &["add", "-N", "."] } else { &["add", "files"] };
            repository.git(adds);
        }
    }
    let names = repository.git(&["ls-files", "-z"]);
    let names: Vec<&[u8]> =
        names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    if plan.is_split {
        repository.git(&["-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index"]);
    }
    for (mark, choice) in &plan.marks {
        if !names.is_empty() {
            let name = choice.get(&names);
            let staged = repository.git(&["ls-files", "--stage", "-z"]);
            // Git marks no entry of a conflict.
            let is_plain = String::from_utf8_lossy(&staged)
                .contains(&format!(" 0\t{}\0", String::from_utf8_lossy(name)));
            if is_plain {
                repository.fed(&["update-index", "-z", mark, "--stdin"], name);
            }
        }
    }
    let mut input = String::new();
    for (path, number) in &plan.later {
        writeln!(input, "100644 {} 0\t{path}", format!("{number:02x}").repeat(20)).unwrap();
    }
    if let Some(name) = names.first().filter(|_| plan.later.len() > 2) {
        writeln!(input, "0 {} 0\t{}", "0".repeat(40), String::from_utf8_lossy(name)).unwrap();
    }
    add(&input);
}

/// Without what a command's word does not count for.
fn without_stat(entries: Vec<String>) -> Vec<String> {
    let plain = |entry: String| {
        let (tag, rest) = entry.split_at(1);
        format!("{}{}", tag.to_uppercase(), rest.rsplit_once("ctime").unwrap().0)
    };
    entries.into_iter().map(plain).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(16), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn indexes_are_read_and_written_as_git_does(plan in plan()) {
        let Some(repository) = repository() else { return Ok(()) };
        made(&repository, &plan);
        let by_git = repository.listed();
        let read = repository.parsed(Source::Person);
        if repository.index().is_empty() {
            prop_assert_eq!(read.map(|_| ()), Err(IndexError::Header));
            return Ok(());
        }
        let person = read.unwrap();
        prop_assert_eq!(listed(&person), &*by_git);
        let command = repository.parsed(Source::Command);
        if let Err(IndexError::FileAndDirectory(path)) = &command {
            // Git 2.47 lets this happen where a path such as `a-` is the last one.
            let above = |entry: Entry<'_>| path.starts_with(&[entry.path(), b"/"].concat());
            prop_assert!(person.entries().any(above));
            return Ok(());
        }
        let command = command.unwrap();
        prop_assert_eq!(without_stat(listed(&command)), without_stat(by_git.clone()));
        prop_assert!(command.entries().all(|entry| *entry.stat() == [0; 36] && !entry.is_assumed_valid()));
        repository.set_index(&person.to_bytes());
        prop_assert_eq!(repository.listed(), by_git);
        let again = repository.parsed(Source::Command).unwrap();
        prop_assert_eq!(listed(&again), listed(&command));
        prop_assert_eq!(again.to_bytes(), command.to_bytes());
    }
}

#[test]
fn each_version_is_written_as_git_writes_it() {
    for version in ["2", "4"] {
        let Some(repository) = repository() else { return };
        for number in 0..300 {
            repository.put(&format!("d{}/file-{number}", number % 7), "x");
        }
        repository.git(&["update-index", "--index-version", version]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "x"]);
        let bytes = repository.index();
        assert_eq!(repository.parsed(Source::Person).unwrap().to_bytes(), bytes, "{version}");
        assert!(bytes.windows(4).any(|it| it == b"TREE"));
        repository.git(&["config", "index.skipHash", "true"]);
        repository.git(&["update-index", "--force-write-index"]);
        let bytes = repository.index();
        assert_eq!(bytes[bytes.len() - 20..], [0; 20]);
        assert_eq!(repository.parsed(Source::Person).unwrap().to_bytes(), bytes, "{version}");
    }
}

#[test]
fn many_threads_of_git_leave_an_index_that_is_read() {
    let Some(repository) = repository() else { return };
    let mut input = String::new();
    for number in 0..12_000 {
        writeln!(input, "100644 {:040x} 0\tdir-{}/file-{number}", number + 1, number % 50).unwrap();
    }
    for version in ["2", "4"] {
        repository.git(&["update-index", "--index-version", version]);
        let add = ["-c", "index.threads=4", "update-index", "--index-info"];
        repository.fed(&add, input.as_bytes());
        repository.git(&["-c", "index.threads=4", "update-index", "--force-write-index"]);
        assert!(repository.index().windows(4).any(|it| it == b"IEOT"), "{version}");
        let read = repository.parsed(Source::Command).unwrap();
        assert_eq!(without_stat(listed(&read)), without_stat(repository.listed()), "{version}");
    }
}

#[test]
fn a_sparse_index_is_read_with_every_file() {
    let Some(repository) = repository() else { return };
    for path in
        ["top", "in/a", "in/b/c", "out/a", "out/b/c", "out/b/d", "out-2/x", "out.3/deep/er/x"]
    {
        repository.put(path, path);
    }
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    let before = repository.parsed(Source::Command).unwrap();
    repository.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    let bytes = repository.index();
    assert!(bytes.windows(4).any(|it| it == b"sdir"));
    for source in [Source::Person, Source::Command] {
        let read = repository.parsed(source).unwrap();
        assert!(read.entries().eq(before.entries()));
        let skipped: Vec<_> = read.entries().filter(Entry::skips_worktree).collect();
        assert_eq!(skipped.len(), 5);
        assert!(skipped.iter().all(|entry| entry.path().starts_with(b"out")));
    }
    // Without its trees it is refused.
    assert!(matches!(
        super::repository::parse(&bytes, Source::Command),
        Err(IndexError::Sparse(_))
    ));
    let whole = repository.parsed(Source::Person).unwrap();
    repository.set_index(&whole.to_bytes());
    assert_eq!(repository.text(&["status", "--porcelain"]), "");
    assert_eq!(repository.text(&["write-tree"]), repository.text(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn a_split_index_needs_its_own_shared_file() {
    let Some(repository) = repository() else { return };
    for name in ["a", "b", "c"] {
        repository.put(name, name);
    }
    repository.git(&["add", "."]);
    repository.git(&["update-index", "--split-index"]);
    repository.put("d", "d");
    repository.git(&["-c", "splitIndex.maxPercentChange=100", "add", "d"]);
    let read: Index = repository.parsed(Source::Command).unwrap();
    assert_eq!(read.len(), 4);
    let shared = fs::read_dir(repository.path().join(".git")).unwrap().flatten();
    let is_shared = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with("sharedindex");
    let shared = shared.into_iter().find(is_shared).unwrap().path();
    let mut bytes = fs::read(&shared).unwrap();
    bytes[40] ^= 1;
    fs::write(&shared, &bytes).unwrap();
    assert_eq!(repository.parsed(Source::Command).map(|_| ()), Err(IndexError::Checksum));
    fs::remove_file(&shared).unwrap();
    for source in [Source::Person, Source::Command] {
        assert!(matches!(repository.parsed(source), Err(IndexError::Shared(_))));
    }
}
