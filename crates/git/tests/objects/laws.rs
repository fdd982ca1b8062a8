//! Laws over random objects and histories, with git as the judge.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use crate::support::{Fork, Repository, has_git};
use proptest::prelude::*;
use toolwright_git::database::Database;
use toolwright_git::directory::Directory;
use toolwright_git::incoming::{Borders, Bounds, Incoming};
use toolwright_git::loose::write;
use toolwright_git::object::content::references;
use toolwright_git::object::{Id, Kind};

/// `TOOLWRIGHT_SOAK_FACTOR` makes these tests longer.
fn cases(count: u32) -> ProptestConfig {
    let factor = env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|factor| factor.parse().ok());
    ProptestConfig { cases: count * factor.unwrap_or(1), ..ProptestConfig::default() }
}

/// Sizes from nothing to more than any buffer.
fn contents() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let content = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (any::<u8>(), 0..200_000_usize).prop_map(|(byte, size)| vec![byte; size]),
        1 => prop::collection::vec(any::<u8>(), 20_000..40_000),
    ];
    prop::collection::vec(content, 1..12)
}

/// A change of a work tree, or what git does with it.
#[derive(Debug, Clone)]
enum Step {
    Write(u8, Vec<u8>),
    Remove(u8),
    Commit,
    Tag(u8),
    Branch(u8),
    Repack(&'static [&'static str]),
}

const REPACKS: [&[&str]; 5] = [
    &["repack", "-dlq"],
    &["repack", "-adlfq", "--depth=20"],
    &["-c", "repack.useDeltaBaseOffset=false", "repack", "-adlfq"],
    &["-c", "pack.indexVersion=1", "repack", "-dlq"],
    &["gc", "-q"],
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let line = prop::sample::select(vec!["one\n", "two\n", "three\n", "\0binary\n"]);
    let text = prop::collection::vec(line, 0..300).prop_map(|lines| lines.concat().into_bytes());
    let step = prop_oneof![
        6 => (0..12_u8, text).prop_map(|(file, text)| Step::Write(file, text)),
        1 => (0..12_u8).prop_map(Step::Remove),
        4 => Just(Step::Commit),
        1 => any::<u8>().prop_map(Step::Tag),
        1 => (0..4_u8).prop_map(Step::Branch),
        1 => prop::sample::select(REPACKS.to_vec()).prop_map(Step::Repack),
    ];
    prop::collection::vec(step, 1..20)
}

fn path(file: u8) -> String {
    format!("{}f{file}", ["", "a/", "a/b/", "a.b/"][usize::from(file % 4)])
}

fn take(repository: &Repository, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Write(file, text) => repository.write(&path(*file), text),
            Step::Remove(file) => drop(fs::remove_file(repository.path().join(path(*file)))),
            Step::Commit => drop(repository.commit("a commit")),
            Step::Tag(name) => {
                repository.git(&["tag", "-f", "-a", "-m", "a tag", &format!("t{name}")]);
            }
            Step::Branch(name) => {
                repository.git(&["checkout", "-q", "-B", &format!("b{name}")]);
            }
            Step::Repack(arguments) => drop(repository.git(arguments)),
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    /// What we write, git reads.
    #[test]
    fn git_reads_what_is_written(contents in contents()) {
        if !has_git() {
            return Ok(());
        }
        let repository = Repository::new();
        let directory = repository.directory();
        let mut expected = BTreeMap::new();
        let mut tree = BTreeMap::new();
        for (number, content) in contents.into_iter().enumerate() {
            let id = Id::of(Kind::Blob, &content);
            write(&directory, &id, Kind::Blob, content.len() as u64, &content[..]).unwrap();
            tree.insert(format!("f{number}"), id);
            expected.insert(id, (Kind::Blob, content));
        }
        let content: Vec<u8> = tree
            .iter()
            .flat_map(|(name, id)| [b"100644 ", name.as_bytes(), b"\0", id.as_bytes()].concat())
            .collect();
        prop_assert_eq!(references(Kind::Tree, &content).unwrap().len(), tree.len());
        let id = Id::of(Kind::Tree, &content);
        write(&directory, &id, Kind::Tree, content.len() as u64, &content[..]).unwrap();
        expected.insert(id, (Kind::Tree, content));
        let read: BTreeMap<_, _> = repository
            .contents()
            .into_iter()
            .map(|(id, kind, content)| (id, (kind, content)))
            .collect();
        prop_assert!(read == expected);
        repository.fsck();
    }

    /// What git wrote comes back as the same objects, whatever it did between.
    #[test]
    fn any_history_comes_back(before in steps(), during in steps()) {
        if !has_git() {
            return Ok(());
        }
        let base = Repository::new();
        base.write("first", "first\n");
        base.commit("first");
        take(&base, &before);
        let fork = Fork::of(&base);
        take(&fork.repository, &during);
        let database = Database::open(base.directory()).unwrap();
        let added = fork.repository.directory();
        let incoming =
            Incoming::read(&added, &database, &Borders::default(), &Bounds::default()).unwrap();
        prop_assert!(incoming.left_out().is_empty(), "{:?}", incoming.left_out());
        let expected = fork.repository.contents();
        for (id, kind, content) in &expected {
            prop_assert_eq!(incoming.kind(id).unwrap(), Some(*kind));
            prop_assert!(incoming.object(id, 1 << 30).unwrap() == Some((*kind, content.clone())));
        }
        incoming.store(&base.directory()).unwrap();
        let stored = base.contents();
        prop_assert!(expected.iter().all(|object| stored.contains(object)));
        base.fsck();
    }
}

const STORE: &str = "TOOLWRIGHT_TEST_STORE";

/// The part that is killed, in a process of its own.
#[test]
fn stores_for_another_test() {
    let Some(paths) = env::var_os(STORE) else { return };
    let mut paths = env::split_paths(&paths);
    let mut open = || Directory::open(&paths.next().unwrap().canonicalize().unwrap()).unwrap();
    let (added, own, again) = (open(), open(), open());
    let base = Database::open(own).unwrap();
    let bounds = Bounds::default();
    let incoming = Incoming::read(&added, &base, &Borders::default(), &bounds).unwrap();
    println!("reading has ended");
    incoming.store(&again).unwrap();
}

/// A kill at any moment leaves a repository in which every object has what it refers to, and the next
/// attempt completes it.
#[test]
fn a_kill_leaves_the_repository_whole() {
    if !has_git() {
        return;
    }
    let base = Repository::new();
    base.write("first", "first\n");
    base.commit("first");
    let fork = Fork::of(&base);
    fork.repository.grow(60);
    fork.repository.git(&["repack", "-adlq"]);
    for number in 0..30 {
        fork.repository.write(&format!("d{number}/file"), format!("{number}\n").repeat(50_000));
    }
    let tip = fork.repository.commit("loose");
    let paths = [fork.repository.objects(), base.objects(), base.objects()];
    for attempt in 0..20_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "laws::stores_for_another_test"])
            .env(STORE, env::join_paths(&paths).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(20 + attempt * 13));
        child.kill().unwrap();
        child.wait().unwrap();
        let database = Database::open(base.directory()).unwrap();
        for (id, kind, content) in base.contents() {
            for (target, kind) in references(kind, &content).unwrap() {
                assert_eq!(database.kind(&target).unwrap(), Some(kind), "{id}");
            }
        }
    }
    let database = Database::open(base.directory()).unwrap();
    let incoming = Incoming::read(
        &fork.repository.directory(),
        &database,
        &Borders::default(),
        &Bounds::default(),
    )
    .unwrap();
    incoming.store(&base.directory()).unwrap();
    base.git(&["update-ref", "refs/heads/command", &tip.to_string()]);
    base.fsck();
    // What was left behind is what git's own collection removes.
    drop(incoming);
    base.git(&["prune", "--expire=now"]);
    let left = String::from_utf8(
        Command::new("find").arg(base.objects()).args(["-name", "tmp_*"]).output().unwrap().stdout,
    );
    assert_eq!(left.unwrap(), "");
}
