//! Whatever changes in a tree, a later look finds what a first one would.

#![expect(clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toolwright_git::discovery::{Discovery, Sign};

#[derive(Debug, Clone)]
enum Step {
    Directory(PathBuf),
    File(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Look,
}

fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop_oneof![
        3 => Just("a"), 3 => Just("b"), 2 => Just("c"),
        1 => Just(".git"), 1 => Just("HEAD"), 1 => Just("objects"), 1 => Just("refs"),
        1 => Just("commondir"),
    ];
    prop::collection::vec(name, 1..5).prop_map(|names| names.iter().collect())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => path().prop_map(Step::Directory),
        4 => path().prop_map(Step::File),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => path().prop_map(Step::Remove),
        1 => Just(Step::Look),
    ]
}

fn take(root: &Path, step: &Step) {
    let _ = match step {
        Step::Directory(path) => fs::create_dir_all(root.join(path)),
        Step::File(path) => fs::write(root.join(path), "x"),
        Step::Rename(from, to) => fs::rename(root.join(from), root.join(to)),
        Step::Remove(path) => {
            let _ = fs::remove_file(root.join(path));
            fs::remove_dir_all(root.join(path))
        }
        Step::Look => Ok(()),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_later_look_finds_what_a_first_one_does(steps in prop::collection::vec(step(), 1..60)) {
        let place = tempfile::tempdir().expect("a directory");
        let mut discovery = Discovery::begin(place.path()).expect("it is there");
        for step in &steps {
            take(place.path(), step);
            if matches!(step, Step::Look) {
                discovery.look();
            }
        }
        discovery.look();
        let fresh = Discovery::begin(place.path()).expect("it is there");
        prop_assert_eq!(discovery.found(), fresh.found());
    }
}

#[test]
fn every_form_is_found() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path();
    let mut discovery = Discovery::begin(root).expect("it is there");
    for (path, is_directory) in [
        ("x/y/z/w/v/.git", false),
        ("node_modules/p/.git", true),
        ("bare/HEAD", false),
        ("bare/objects", false),
        ("bare/refs", false),
        ("both/.git", true),
        ("both/HEAD", false),
        ("both/objects", false),
        ("both/refs", false),
        ("shared/HEAD", false),
        ("shared/commondir", false),
        ("none/HEAD", false),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        if is_directory {
            fs::create_dir(path).expect("a directory");
        } else {
            fs::write(path, "x").expect("a file");
        }
    }
    std::os::unix::fs::symlink("bare", root.join("none/.git")).expect("a link");
    discovery.look();
    let found: Vec<_> =
        discovery.found().iter().map(|(path, signs)| (path.as_path(), &signs[..])).collect();
    assert_eq!(
        found,
        [
            (Path::new("bare"), &[Sign::Bare][..]),
            (Path::new("both"), &[Sign::Directory, Sign::Bare][..]),
            (Path::new("node_modules/p"), &[Sign::Directory][..]),
            (Path::new("none"), &[Sign::Other][..]),
            (Path::new("shared"), &[Sign::Bare][..]),
            (Path::new("x/y/z/w/v"), &[Sign::File][..]),
        ]
    );
}

#[test]
#[ignore = "prints times"]
fn times() {
    let place = tempfile::tempdir().expect("a directory");
    for number in 0..4_000 {
        let path = place.path().join(format!("{}/{}/d{number}", number % 40, number % 500));
        fs::create_dir_all(&path).expect("a directory");
        fs::write(path.join("f"), "x").expect("a file");
    }
    let began = std::time::Instant::now();
    let mut discovery = Discovery::begin(place.path()).expect("it is there");
    eprintln!("begin {:?}", began.elapsed());
    std::thread::sleep(std::time::Duration::from_millis(30));
    for _ in 0..3 {
        let began = std::time::Instant::now();
        discovery.look();
        eprintln!("look {:?}", began.elapsed());
    }
}
