//! What a command plants among its objects.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::pair::{Pair, entry, hex_path, listed, open};
use crate::support::{deflate, plant, plant_object, raw};
use toolwright_git::incoming::{Borders, Bound, Bounds, Incoming, Problem, Reason};
use toolwright_git::object::{Id, Kind};

const SOME: &[u8] = b"some content\n";

#[test]
fn an_object_under_another_name_is_forged() {
    let pair = Pair::new();
    let other = Id::of(Kind::Blob, b"other");
    plant(&pair.command(), &other, &deflate(&raw(Kind::Blob, SOME)));
    assert!(matches!(pair.refused(), Reason::Forged));
}

#[test]
fn an_object_of_the_repository_is_not_replaced() {
    let pair = Pair::new();
    let id = plant_object(&pair.person(), Kind::Blob, SOME);
    plant(&pair.command(), &id, b"not even zlib");
    let before = fs::read(pair.person().join(hex_path(&id))).unwrap();
    assert!(pair.reasons().is_empty());
    assert_eq!(fs::read(pair.person().join(hex_path(&id))).unwrap(), before);
}

#[test]
fn sizes_are_exact() {
    let id = Id::of(Kind::Blob, SOME);
    for stream in [
        deflate(b"blob 12\0some content\n"),
        deflate(b"blob 14\0some content\n"),
        deflate(b"blob 013\0some content\n"),
        deflate(b"blob +13\0some content\n"),
        deflate(b"blob  13\0some content\n"),
        deflate(b"blob 99999999999999999999\0some content\n"),
        deflate(b"blob 18446744073709551615\0some content\n"),
        deflate(b"blob 13 some content\n"),
        deflate(b"blob \0some content\n"),
        deflate(b"glob 13\0some content\n"),
        deflate(b""),
        vec![],
        [deflate(b"blob 13\0some content\n"), b"x".to_vec()].concat(),
        [deflate(b"blob 13\0some content\n"), deflate(b"more")].concat(),
    ] {
        let pair = Pair::new();
        plant(&pair.command(), &id, &stream);
        let reason = pair.refused();
        assert!(matches!(reason, Reason::Damaged(_) | Reason::TooLarge(_)), "{reason:?}");
    }
    let whole = deflate(b"blob 13\0some content\n");
    for length in 0..whole.len() {
        let pair = Pair::new();
        plant(&pair.command(), &id, &whole[..length]);
        assert!(matches!(pair.refused(), Reason::Damaged(_)), "{length}");
    }
}

#[test]
fn a_bomb_costs_no_more_than_it_declares() {
    let zeros = deflate(&[b"blob 10\0".to_vec(), vec![0; 16 << 20]].concat());
    let pair = Pair::new();
    plant(&pair.command(), &Id::of(Kind::Blob, &[0; 10]), &zeros);
    let begun = Instant::now();
    assert!(matches!(pair.refused(), Reason::Damaged(_)));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());

    let declared = deflate(&[b"blob 16777216\0".to_vec(), vec![0; 16 << 20]].concat());
    plant(&pair.command(), &Id::of(Kind::Blob, &[0; 10]), &declared);
    let bounds = Bounds { blob_bytes: 10 << 20, ..Bounds::default() };
    let (added, reasons) = pair.read(&bounds).unwrap();
    assert!(added.is_empty() && matches!(reasons[..], [Reason::TooLarge(_)]), "{reasons:?}");
    let bounds = Bounds { loose_bytes: 10 << 20, ..Bounds::default() };
    assert!(matches!(pair.read(&bounds), Err(Problem::Bound(Bound::LooseBytes))));
    let tree = deflate(&[b"tree 16777217\0".to_vec(), vec![0; 16 << 20]].concat());
    plant(&pair.command(), &Id::of(Kind::Blob, &[0; 10]), &tree);
    assert!(matches!(pair.refused(), Reason::TooLarge(_)));
}

#[test]
fn what_refers_to_something_missing_is_dropped_with_what_refers_to_it() {
    let pair = Pair::new();
    let command = pair.command();
    let missing = Id::of(Kind::Blob, b"missing");
    let blob = plant_object(&command, Kind::Blob, SOME);
    let tree = plant_object(&command, Kind::Tree, &entry("100644", b"a", missing));
    let above = plant_object(&command, Kind::Tree, &entry("40000", b"d", tree));
    let text = |tree: Id, parent: Option<Id>| {
        let parent = parent.map_or(String::new(), |id| format!("parent {id}\n"));
        format!("tree {tree}\n{parent}author A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nm\n")
    };
    let mut commit = plant_object(&command, Kind::Commit, text(above, None).as_bytes());
    for _ in 0..2000 {
        commit = plant_object(&command, Kind::Commit, text(above, Some(commit)).as_bytes());
    }
    let good = plant_object(&command, Kind::Tree, &entry("100644", b"a", blob));
    let fine = plant_object(&command, Kind::Commit, text(good, None).as_bytes());
    let begun = Instant::now();
    let (mut added, reasons) = pair.read(&Bounds::default()).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60));
    added.sort();
    let mut expected = vec![blob, good, fine];
    expected.sort();
    assert_eq!(added, expected);
    // 2,003 of them, of which a hundred are named.
    assert_eq!(reasons.len(), 100);
    assert!(reasons.iter().all(|reason| matches!(reason, Reason::Missing)));
}

#[test]
fn a_reference_has_the_kind_that_it_claims() {
    for (mode, kind) in [("40000", Kind::Blob), ("100644", Kind::Tree)] {
        for in_base in [true, false] {
            let pair = Pair::new();
            let objects = if in_base { pair.person() } else { pair.command() };
            let id = plant_object(&objects, kind, b"");
            let tree = plant_object(&pair.command(), Kind::Tree, &entry(mode, b"a", id));
            let (added, reasons) = pair.read(&Bounds::default()).unwrap();
            assert!(!added.contains(&tree));
            assert!(matches!(reasons[..], [Reason::Missing]), "{reasons:?}");
        }
    }
}

#[test]
fn borders_of_shallow_and_partial_repositories_may_lead_to_nothing() {
    let pair = Pair::new();
    let tree = plant_object(&pair.command(), Kind::Tree, b"");
    let parent = Id::of(Kind::Commit, b"somewhere else");
    let text = format!(
        "tree {tree}\nparent {parent}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nm\n"
    );
    let commit = plant_object(&pair.command(), Kind::Commit, text.as_bytes());
    let base = pair.base();
    for (borders, is_accepted) in [
        (Borders::default(), false),
        (Borders { shallow: [commit].into(), is_partial: false }, true),
        (Borders { shallow: [parent].into(), is_partial: false }, false),
        (Borders { shallow: [].into(), is_partial: true }, true),
    ] {
        let incoming =
            Incoming::read(&open(&pair.command()), &base, &borders, &Bounds::default()).unwrap();
        assert_eq!(incoming.kind(&commit).unwrap().is_some(), is_accepted);
    }
}

#[test]
fn nothing_but_regular_files_is_opened() {
    let pair = Pair::new();
    let command = pair.command();
    let secret = pair.directory.path().join("secret");
    fs::write(&secret, deflate(&raw(Kind::Blob, SOME))).unwrap();
    let id = Id::of(Kind::Blob, SOME);
    let hex = id.to_string();
    fs::create_dir(command.join(&hex[..2])).unwrap();
    let place = command.join(hex_path(&id));
    symlink(&secret, &place).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
    fs::remove_dir(&place).unwrap();
    let _socket = UnixListener::bind(&place).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
    fs::remove_file(&place).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
    fs::remove_dir_all(command.join(&hex[..2])).unwrap();
    // A directory elsewhere.
    let elsewhere = pair.directory.path().join("elsewhere");
    plant_object(&elsewhere, Kind::Blob, SOME);
    symlink(elsewhere.join(&hex[..2]), command.join(&hex[..2])).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
    fs::remove_file(command.join(&hex[..2])).unwrap();
    fs::remove_dir(command.join("pack")).unwrap();
    symlink("/dev", command.join("pack")).unwrap();
    assert!(matches!(pair.refused(), Reason::WrongKind));
}

#[test]
fn what_git_derives_or_obeys_is_never_taken() {
    let pair = Pair::new();
    let command = pair.command();
    let elsewhere = pair.directory.path().join("elsewhere");
    let blob = plant_object(&elsewhere, Kind::Blob, SOME);
    fs::write(command.join("info/alternates"), format!("{}\n", elsewhere.display())).unwrap();
    fs::write(command.join("info/http-alternates"), "http://localhost/\n").unwrap();
    fs::write(command.join("info/commit-graph"), "CGPH").unwrap();
    for name in ["pack-x.idx", "multi-pack-index", "pack-x.keep", "pack-x.promisor", "tmp_pack_x"] {
        fs::write(command.join("pack").join(name), "x").unwrap();
    }
    let tree = plant_object(&command, Kind::Tree, &entry("100644", b"a", blob));
    let before = walk(&pair.person());
    assert!(matches!(pair.refused(), Reason::Missing));
    assert_eq!(walk(&pair.person()), before);
    assert!(pair.base().kind(&tree).unwrap().is_none());
    fs::write(command.join("pack/hook"), "x").unwrap();
    fs::write(command.join("config"), "x").unwrap();
    assert_eq!(pair.reasons().len(), 3);
}

fn walk(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).unwrap().map(|entry| entry.unwrap()) {
        names.push(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            names.append(&mut walk(&entry.path()));
        }
    }
    names.sort();
    names
}

#[test]
fn numbers_and_time_are_bounded() {
    let pair = Pair::new();
    for number in 0..300 {
        plant_object(&pair.command(), Kind::Blob, format!("{number}").as_bytes());
    }
    let bound = |bounds: Bounds| match pair.read(&bounds) {
        Err(Problem::Bound(bound)) => bound,
        other => panic!("{other:?}"),
    };
    assert_eq!(bound(Bounds { loose_objects: 299, ..Bounds::default() }), Bound::LooseObjects);
    assert_eq!(bound(Bounds { entries: 300, ..Bounds::default() }), Bound::Entries);
    assert_eq!(bound(Bounds { time: Duration::ZERO, ..Bounds::default() }), Bound::Time);
    assert!(listed(&pair.person()).is_empty());
    assert_eq!(pair.read(&Bounds::default()).unwrap().0.len(), 300);
}

#[test]
fn objects_larger_than_memory_holds_come_back() {
    let pair = Pair::new();
    let mut planted = Vec::new();
    for number in 0..12_u8 {
        let content: Vec<u8> = (0..1_500_000_u32).map(|n| (n >> 7) as u8 ^ number).collect();
        planted.push(plant_object(&pair.command(), Kind::Blob, &content));
    }
    planted.sort();
    let (mut added, reasons) = pair.read(&Bounds::default()).unwrap();
    added.sort();
    assert!(reasons.is_empty());
    assert_eq!(added, planted);
    let base = pair.base();
    for id in added {
        assert_eq!(base.read(&id, 2 << 20).unwrap().unwrap().1.len(), 1_500_000);
    }
}
