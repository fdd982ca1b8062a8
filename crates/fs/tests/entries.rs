//! Entries below a root: created, deleted, renamed and listed, and never outside of it.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use toolwright_fs::{
    Deletable, FsErrorKind, ListOptions, Placed, Resolver, Root, WriteOptions, create, delete,
    list, rename,
};

struct Scene {
    _base: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

fn scene() -> Scene {
    let base = tempfile::tempdir().expect("dir");
    let (root, outside) = (base.path().join("root"), base.path().join("outside"));
    fs::create_dir_all(root.join("a/b")).expect("dirs");
    fs::create_dir(&outside).expect("dir");
    fs::write(root.join("a/file"), "text").expect("file");
    fs::write(outside.join("secret"), "secret").expect("file");
    fs::write(outside.join("only-outside"), "").expect("file");
    symlink("../outside", root.join("out")).expect("link");
    symlink("a/file", root.join("link")).expect("link");
    Scene { _base: base, root, outside }
}

/// Every path below a directory, with the text of its files.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Option<String>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(at).expect("listed") {
            let path = entry.expect("entry").path();
            let stat = fs::symlink_metadata(&path).expect("status");
            let relative = path.strip_prefix(directory).expect("below").to_owned();
            all.insert(relative, stat.is_file().then(|| fs::read_to_string(&path).expect("text")));
            if stat.is_dir() {
                left.push(path);
            }
        }
    }
    all
}

static GO: AtomicBool = AtomicBool::new(false);
const BOTH: [Resolver; 2] = [Resolver::Automatic, Resolver::Walk];

fn options() -> WriteOptions {
    WriteOptions::default()
}

fn listing(root: &Root, path: &str, depth: usize, max_entries: usize) -> Vec<String> {
    let options = ListOptions { depth, max_entries, leaves_out: |name| name == "left-out" };
    let listing = list(root, path, options, &GO).expect("listed");
    let entries = listing.entries.into_iter();
    entries.map(|one| format!("{}{}", one.path, if one.is_directory { "/" } else { "" })).collect()
}

#[test]
fn a_file_is_created_once_with_its_directories() {
    for resolver in BOTH {
        let at = scene();
        let root = Root::open_with(&at.root, resolver).expect("root");
        assert_eq!(create(&root, "x/y/new", b"one", &options(), &GO).expect("made"), Placed::Done);
        assert_eq!(
            create(&root, "x/y/new", b"two", &options(), &GO).expect("left"),
            Placed::Occupied
        );
        for occupied in ["a", "a/", "link", "a/file"] {
            let placed = create(&root, occupied, b"two", &options(), &GO).expect("left");
            assert_eq!(placed, Placed::Occupied, "{occupied}");
        }
        assert_eq!(fs::read(at.root.join("x/y/new")).expect("read"), b"one");
        assert_eq!(fs::read(at.root.join("a/file")).expect("read"), b"text");
        // Nothing but the file is left.
        assert_eq!(tree(&at.root.join("x")).len(), 2);
    }
}

#[test]
fn of_many_calls_that_create_one_file_one_succeeds() {
    let at = scene();
    let root = Root::open(&at.root).expect("root");
    let made = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16)
            .map(|nth| {
                let root = &root;
                scope.spawn(move || {
                    let text = nth.to_string();
                    create(root, "d/one", text.as_bytes(), &options(), &GO).expect("no error")
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().expect("joined")).collect::<Vec<_>>()
    });
    assert_eq!(made.iter().filter(|placed| **placed == Placed::Done).count(), 1);
    assert_eq!(tree(&at.root.join("d")).len(), 1);
}

#[test]
fn a_link_is_deleted_and_not_what_it_leads_to() {
    for resolver in BOTH {
        let at = scene();
        let root = Root::open_with(&at.root, resolver).expect("root");
        for link in ["out", "link"] {
            delete(&root, link, Deletable::Trees, &options(), &GO).expect("deleted");
        }
        assert_eq!(fs::read_to_string(at.outside.join("secret")).expect("kept"), "secret");
        assert_eq!(fs::read_to_string(at.root.join("a/file")).expect("kept"), "text");
        let refused = delete(&root, "a", Deletable::Files, &options(), &GO).expect_err("kept");
        assert!(matches!(refused.kind, FsErrorKind::NotAFile { .. }), "{refused}");
        delete(&root, "a/", Deletable::Trees, &options(), &GO).expect("deleted");
        assert!(tree(&at.root).is_empty());
    }
}

#[test]
fn the_root_and_what_is_above_it_stay() {
    let at = scene();
    let root = Root::open(&at.root).expect("root");
    let absolute = at.root.to_string_lossy().into_owned();
    for path in [".", "./", "a/..", "..", "../root", "a/../../root", &absolute, "", "a\0b"] {
        delete(&root, path, Deletable::Trees, &options(), &GO).expect_err(path);
        rename(&root, path, "elsewhere", &options(), &GO).expect_err(path);
    }
    assert!(at.root.join("a/file").exists());
    let own = at.root.join("a/file").to_string_lossy().into_owned();
    delete(&root, &own, Deletable::Files, &options(), &GO).expect("an absolute path inside");
}

#[test]
fn nothing_takes_the_place_of_something_else() {
    for resolver in BOTH {
        let at = scene();
        let root = Root::open_with(&at.root, resolver).expect("root");
        for occupied in ["a", "a/", "a/b", "link", "."] {
            let placed = rename(&root, "a/file", occupied, &options(), &GO).expect("left");
            assert_eq!(placed, Placed::Occupied, "{occupied}");
        }
        assert_eq!(rename(&root, "a", "new/deep/a", &options(), &GO).expect("moved"), Placed::Done);
        assert_eq!(fs::read_to_string(at.root.join("new/deep/a/file")).expect("read"), "text");
        rename(&root, "new", "new/deep/into-itself", &options(), &GO).expect_err("a circle");
        rename(&root, "missing", "made/for/nothing", &options(), &GO).expect_err("missing");
        assert!(!at.root.join("made").exists());
    }
}

#[test]
fn protected_and_reserved_files_stay() {
    let at = scene();
    let root = Root::open(&at.root).expect("root");
    fs::create_dir_all(at.root.join(".git/hooks")).expect("dirs");
    fs::write(at.root.join("a/b/journal"), "rows").expect("file");
    let protected = WriteOptions { protected: vec![".git/hooks".into()], ..options() };
    let before = tree(&at.root);
    for path in [".git", ".git/hooks"] {
        let refused = delete(&root, path, Deletable::Trees, &protected, &GO).expect_err(path);
        assert!(matches!(refused.kind, FsErrorKind::Protected { .. }), "{refused}");
        rename(&root, path, "x", &protected, &GO).expect_err(path);
        let below = format!("{path}/new");
        if path != ".git" {
            create(&root, &below, b"x", &protected, &GO).expect_err(&below);
            rename(&root, "a/file", &below, &protected, &GO).expect_err(&below);
        }
    }
    let journal = fs::canonicalize(at.root.join("a/b/journal")).expect("real");
    let reservation = toolwright_reserved::reserve(vec![journal]);
    for path in ["a/b/journal", "a/b", "a"] {
        let refused = delete(&root, path, Deletable::Trees, &options(), &GO).expect_err(path);
        assert!(matches!(refused.kind, FsErrorKind::Reserved), "{refused}");
        rename(&root, path, "x", &options(), &GO).expect_err(path);
    }
    assert!(!listing(&root, "a", 3, 100).iter().any(|path| path.contains("journal")));
    drop(reservation);
    assert_eq!(tree(&at.root), before);
}

#[test]
fn a_listing_has_levels_sizes_and_an_end() {
    for resolver in BOTH {
        let at = scene();
        let root = Root::open_with(&at.root, resolver).expect("root");
        fs::create_dir_all(at.root.join("a/b/c/d")).expect("dirs");
        fs::create_dir_all(at.root.join("left-out/x")).expect("dirs");
        symlink("b", at.root.join("a/to-b")).expect("link");
        symlink("loop", at.root.join("loop")).expect("link");
        let expected = ["a/", "a/b/", "a/file", "a/to-b/", "link"];
        assert_eq!(listing(&root, ".", 2, 100), expected);
        assert_eq!(
            listing(&root, "a", 3, 100),
            ["b/", "b/c/", "b/c/d/", "file", "to-b/", "to-b/c/", "to-b/c/d/"]
        );
        assert_eq!(listing(&root, ".", 2, 3), expected[..3]);
        let options = ListOptions { depth: 2, max_entries: 3, leaves_out: |_| false };
        assert!(list(&root, ".", options, &GO).expect("listed").is_cut);
        let file = list(&root, "link", options, &GO).expect("listed");
        assert_eq!((file.is_directory, file.bytes, file.entries.len()), (false, 4, 0));
        for outside in ["out", "out/secret", "..", "/"] {
            list(&root, outside, options, &GO).expect_err(outside);
        }
    }
}

/// Paths of names that exist, that lead out, and that do not exist.
fn any_path() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec![
        "a", "b", "file", "..", ".", "", "out", "link", "secret", "new", "outside", "up", "%2e%2e",
    ]);
    prop::collection::vec(step, 1..6).prop_map(|steps| steps.join("/"))
}

#[derive(Debug, Clone)]
enum Step {
    Create(String),
    Delete(String, bool),
    Rename(String, String),
    List(String),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any_path().prop_map(Step::Create),
        (any_path(), any::<bool>()).prop_map(|(path, trees)| Step::Delete(path, trees)),
        (any_path(), any_path()).prop_map(|(from, to)| Step::Rename(from, to)),
        any_path().prop_map(Step::List),
    ]
}

fn take(root: &Root, step: &Step) {
    let options = options();
    match step {
        Step::Create(path) => drop(create(root, path, b"made", &options, &GO)),
        Step::Delete(path, trees) => {
            let deletable = if *trees { Deletable::Trees } else { Deletable::Files };
            drop(delete(root, path, deletable, &options, &GO));
        }
        Step::Rename(from, to) => drop(rename(root, from, to, &options, &GO)),
        Step::List(path) => {
            let options = ListOptions { depth: 3, max_entries: 50, leaves_out: |_| false };
            if let Ok(listing) = list(root, path, options, &GO) {
                assert!(listing.entries.iter().all(|entry| !entry.path.contains("only-outside")));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_series_of_calls_reaches_what_is_outside(steps in prop::collection::vec(any_step(), 1..24), walks in any::<bool>()) {
        let at = scene();
        symlink("..", at.root.join("up")).expect("link");
        let root = Root::open_with(&at.root, BOTH[usize::from(walks)]).expect("root");
        for step in &steps {
            take(&root, step);
        }
        let left = tree(&at.outside);
        prop_assert_eq!(left.into_values().flatten().collect::<Vec<_>>(), ["", "secret"]);
        prop_assert!(at.root.is_dir());
        prop_assert!(tree(&at.root).keys().all(|path| !path.to_string_lossy().contains(".toolwright-")));
    }
}

#[test]
fn links_that_come_and_go_lead_nowhere() {
    let at = scene();
    let root = Root::open(&at.root).expect("root");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = support::Stop(&stop);
        scope.spawn(|| {
            let (swap, aside) = (at.root.join("swap"), at.root.join("aside"));
            while !stop.load(Ordering::Relaxed) {
                let _ = symlink(&at.outside, &aside);
                let _ = fs::remove_dir_all(&swap);
                let _ = fs::rename(&aside, &swap);
                let _ = fs::remove_file(&swap);
                let _ = fs::create_dir(&swap);
                let _ = fs::write(swap.join("secret"), "decoy");
            }
        });
        for nth in 0..2_000 {
            take(&root, &Step::Delete("swap/secret".into(), true));
            take(&root, &Step::Create("swap/new".into()));
            take(&root, &Step::Rename("swap/secret".into(), format!("taken-{nth}")));
            take(&root, &Step::Rename("a/file".into(), "swap/file".into()));
            let _ = delete(&root, "swap", Deletable::Trees, &options(), &GO);
        }
    });
    let left = tree(&at.outside);
    assert_eq!(left.into_values().flatten().collect::<Vec<_>>(), ["", "secret"]);
    let taken = tree(&at.root);
    assert!(taken.values().flatten().all(|text| text != "secret"));
}
