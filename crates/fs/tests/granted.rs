//! Directories that are granted for longer than one call.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use support::{NEVER, RESOLVERS, Stop, kind, tenth_of};
use tempfile::TempDir;
use toolwright_fs::{
    DirectoryGrant, FsError, FsErrorKind, RootChange, WriteOptions, led_out_of, read, write,
};

struct Scene {
    base: TempDir,
}

impl Scene {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for directory in ["root", "outside"] {
            fs::create_dir(base.path().join(directory)).unwrap();
            fs::write(base.path().join(directory).join("file"), directory).unwrap();
        }
        Self { base }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(path)
    }

    fn granted(&self, stays_open: bool) -> DirectoryGrant {
        let granted = DirectoryGrant::new("rootDir", self.at("root"));
        let granted = if stays_open { granted } else { granted.closed_between_uses() };
        granted.identify().unwrap();
        granted
    }
}

fn what(granted: &DirectoryGrant) -> Option<RootChange> {
    match granted.open() {
        Ok(_) => None,
        Err(FsError { kind: FsErrorKind::RootChanged { grant, now, .. }, .. }) => {
            assert_eq!(grant, granted.name());
            Some(now)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn one_that_was_replaced_is_refused_and_one_that_came_back_is_not() {
    for stays_open in [true, false] {
        let scene = Scene::new();
        let granted = scene.granted(stays_open);
        let (root, moved) = (scene.at("root"), scene.at("moved"));
        assert_eq!(what(&granted), None);
        fs::rename(&root, &moved).unwrap();
        assert_eq!(what(&granted), Some(RootChange::Gone));
        symlink(scene.at("outside"), &root).unwrap();
        assert_eq!(what(&granted), Some(RootChange::Link));
        fs::remove_file(&root).unwrap();
        fs::create_dir(&root).unwrap();
        assert_eq!(what(&granted), Some(RootChange::Directory));
        fs::remove_dir(&root).unwrap();
        fs::write(&root, "").unwrap();
        assert_eq!(what(&granted), Some(RootChange::File));
        fs::remove_file(&root).unwrap();
        fs::rename(&moved, &root).unwrap();
        assert_eq!(what(&granted), None);
    }
}

#[test]
fn one_made_anew_is_another_one_whatever_its_number() {
    for stays_open in [true, false] {
        let scene = Scene::new();
        let granted = scene.granted(stays_open);
        // Clocks of file systems are coarse.
        std::thread::sleep(std::time::Duration::from_millis(50));
        for _ in 0..20 {
            fs::remove_dir_all(scene.at("root")).unwrap();
            fs::create_dir(scene.at("root")).unwrap();
            assert_eq!(what(&granted), Some(RootChange::Directory), "{stays_open}");
        }
    }
}

#[test]
fn one_that_was_seen_before_has_to_be_that_one() {
    use std::os::unix::fs::MetadataExt;
    let scene = Scene::new();
    let metadata = fs::metadata(scene.at("root")).unwrap();
    let seen = Some((metadata.dev(), metadata.ino()));
    let granted = || DirectoryGrant::new("rootDir", scene.at("root")).seen(seen);
    assert_eq!(what(&granted()), None);
    fs::rename(scene.at("root"), scene.at("moved")).unwrap();
    assert_eq!(what(&granted()), Some(RootChange::Gone));
    symlink(scene.at("outside"), scene.at("root")).unwrap();
    assert_eq!(what(&granted()), Some(RootChange::Link));
}

#[test]
fn one_that_is_not_there_yet_is_known_once_it_is() {
    let scene = Scene::new();
    let granted = DirectoryGrant::new("rootDir", scene.at("later"));
    assert!(matches!(granted.open(), Err(FsError { kind: FsErrorKind::Root { .. }, .. })));
    fs::create_dir(scene.at("later")).unwrap();
    assert_eq!(what(&granted), None);
    fs::remove_dir(scene.at("later")).unwrap();
    assert_eq!(what(&granted), Some(RootChange::Gone));
}

#[test]
fn a_link_that_names_it_has_to_go_on_leading_there() {
    let scene = Scene::new();
    let alias = scene.at("alias");
    symlink(scene.at("root"), &alias).unwrap();
    let granted = DirectoryGrant::new("rootDir", &alias);
    let root = granted.open().unwrap();
    for path in
        ["file", alias.join("file").to_str().unwrap(), scene.at("root/file").to_str().unwrap()]
    {
        assert_eq!(read(&root, path, 100, &NEVER).unwrap(), b"root", "{path}");
    }
    fs::remove_file(&alias).unwrap();
    symlink(scene.at("outside"), &alias).unwrap();
    assert_eq!(what(&granted), Some(RootChange::Link));
}

#[test]
fn a_hundred_of_one_directory_share_a_descriptor_and_many_others_take_few() {
    let open = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    if open() == 0 {
        return;
    }
    let scene = Scene::new();
    let before = open();
    let same: Vec<_> = (0..100).map(|_| scene.granted(true)).collect();
    // Other tests of this program open files meanwhile.
    assert!(open() < before + 60, "{before} {}", open());
    let others: Vec<_> = (0..500)
        .map(|number| {
            let path = scene.at(&format!("directory-{number}"));
            fs::create_dir(&path).unwrap();
            let granted = DirectoryGrant::new("rootDir", path);
            granted.identify().unwrap();
            granted
        })
        .collect();
    assert!(open() < before + 150, "{before} {}", open());
    assert!(same.iter().chain(&others).all(|granted| what(granted).is_none()));
}

#[test]
fn a_way_out_of_a_directory_by_a_link_in_it_is_told() {
    let all = [("/w", "/w"), ("/alias", "/real")];
    let around = || all.iter().map(|(name, place)| (Path::new(*name), Path::new(*place)));
    let led = |named: &str, real: &str| {
        led_out_of(Path::new(named), Path::new(real), around()).map(Path::to_owned)
    };
    assert_eq!(led("/w/out", "/etc"), Some("/w".into()));
    assert_eq!(led("/alias/out", "/etc"), Some("/real".into()));
    assert_eq!(led("/real/out", "/etc"), Some("/real".into()));
    // It stays among the writable directories, was not a link, or is elsewhere.
    for (named, real) in [("/w/out", "/w/other"), ("/w/out", "/real/x"), ("/w/out", "/w/out")] {
        assert_eq!(led(named, real), None, "{named}");
    }
    for (named, real) in [("/ww/out", "/etc"), ("/w", "/w"), ("/x", "/etc")] {
        assert_eq!(led(named, real), None, "{named}");
    }
}

#[test]
fn nothing_outside_is_read_or_written_while_the_root_is_exchanged_for_a_link() {
    let each = tenth_of(10_000) / 4;
    for stays_open in [true, false] {
        for resolver in RESOLVERS {
            let scene = Scene::new();
            let granted = scene.granted(stays_open);
            let (root, trap) = (scene.at("root"), scene.at("trap"));
            symlink(scene.at("outside"), &trap).unwrap();
            let done = AtomicBool::new(false);
            let mut tally = BTreeMap::<&str, usize>::new();
            std::thread::scope(|scope| {
                let stop = Stop(&done);
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        for _ in 0..2 {
                            rustix::fs::renameat_with(
                                CWD,
                                &root,
                                CWD,
                                &trap,
                                RenameFlags::EXCHANGE,
                            )
                            .unwrap();
                        }
                    }
                });
                for number in 0..each {
                    let answer = granted.open_with(resolver).and_then(|root| {
                        if number % 2 == 0 {
                            let text = read(&root, "file", 100, &NEVER)?;
                            assert_ne!(text, b"outside");
                            return Ok(());
                        }
                        write(&root, "file", b"root", &WriteOptions::default(), &NEVER)
                    });
                    let code = match answer {
                        Ok(()) => "ok",
                        Err(error) => kind(&error),
                    };
                    *tally.entry(code).or_default() += 1;
                }
                drop(stop);
            });
            println!("{stays_open} {resolver:?} {tally:?}");
            assert_eq!(fs::read(scene.at("outside/file")).unwrap(), b"outside");
            assert_eq!(fs::read_dir(scene.at("outside")).unwrap().count(), 1);
            let known = ["ok", "RootChanged"];
            assert!(tally.keys().all(|code| known.contains(code)), "{tally:?}");
        }
    }
}
