//! Removes what commands have left, whatever they did to keep it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use toolwright_fs::{remove_abandoned, remove_tree};
use toolwright_process::ShortId;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}

fn descriptors() -> usize {
    fs::read_dir("/dev/fd").expect("descriptors").count()
}

/// In memory, where possible: the two large trees take a minute on a disk.
fn quick_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("dir")
}

/// Deeper than the longest path.
fn make_deep(top: &Path, levels: usize) {
    fs::create_dir_all(top).expect("dir");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(CWD, top, flags, Mode::empty()).expect("top");
    for _ in 0..levels {
        rustix::fs::mkdirat(&at, "d", Mode::RWXU).expect("made");
        at = rustix::fs::openat(&at, "d", flags, Mode::empty()).expect("opened");
    }
}

#[test]
fn locked_directories_links_and_pipes_go() {
    let base = tempfile::tempdir().expect("dir");
    let (own, others) = (base.path().join("own"), base.path().join("others"));
    fs::create_dir_all(own.join("a/b/c")).expect("dirs");
    fs::create_dir(&others).expect("dir");
    fs::write(others.join("kept"), "kept").expect("file");
    mode(&others, 0o750);
    symlink(&others, own.join("a/link")).expect("link");
    symlink(&others, own.join("a/b/link")).expect("link");
    symlink("nowhere", own.join("a/dangling")).expect("link");
    let pipe = rustix::fs::FileType::Fifo;
    #[cfg(target_os = "linux")]
    rustix::fs::mknodat(CWD, own.join("a/b/pipe"), pipe, Mode::RWXU, 0).expect("pipe");
    let _ = pipe;
    fs::write(own.join("a/b/c/file"), "gone").expect("file");
    for locked in ["a/b/c", "a/b", "a", ""] {
        mode(&own.join(locked), 0o000);
    }
    remove_tree(&own, None).expect("removed");
    assert!(!own.exists());
    assert_eq!(fs::read_to_string(others.join("kept")).expect("kept"), "kept");
    assert_eq!(fs::metadata(&others).expect("kept").permissions().mode() & 0o777, 0o750);
    remove_tree(&own, None).expect("there is nothing");
    // A link in place of a directory is removed as a link.
    symlink(&others, &own).expect("link");
    remove_tree(&own, None).expect("removed");
    assert!(others.join("kept").exists() && fs::symlink_metadata(&own).is_err());
}

#[test]
fn a_tree_that_is_100_000_deep_goes_with_few_descriptors() {
    let base = quick_directory();
    let own = base.path().join("own");
    make_deep(&own, 100_000);
    fs::create_dir_all(own.join("beside/it")).expect("dirs");
    let before = descriptors();
    // On a thread with the smallest stack.
    let removal = std::thread::Builder::new().stack_size(128 << 10).spawn({
        let own = own.clone();
        move || remove_tree(&own, None)
    });
    let mut peak = 0;
    let removal = removal.expect("a thread");
    while !removal.is_finished() {
        peak = peak.max(descriptors());
        std::thread::sleep(Duration::from_millis(1));
    }
    removal.join().expect("no panic").expect("removed");
    assert!(!own.exists());
    assert!(peak <= before + 64, "{before} and then {peak}");
}

#[test]
fn a_directory_that_is_200_000_wide_goes() {
    let base = quick_directory();
    let own = base.path().join("own");
    fs::create_dir(&own).expect("dir");
    for name in 0..200_000 {
        fs::File::create(own.join(name.to_string())).expect("file");
    }
    remove_tree(&own, None).expect("removed");
    assert!(!own.exists());
}

#[test]
fn a_deadline_ends_it_and_the_rest_is_for_the_next() {
    let base = tempfile::tempdir().expect("dir");
    let own = base.path().join("own");
    for name in 0..50 {
        fs::create_dir_all(own.join(name.to_string()).join("x/y")).expect("dir");
    }
    let over = remove_tree(&own, Some(Instant::now())).expect_err("no time");
    assert_eq!(over.kind(), std::io::ErrorKind::TimedOut);
    assert!(own.exists());
    remove_tree(&own, Some(Instant::now() + Duration::from_secs(60))).expect("removed");
    assert!(!own.exists());
}

/// A command that escaped being killed exchanges directories for links outside.
#[test]
fn nothing_outside_is_touched_whatever_is_exchanged_meanwhile() {
    let base = tempfile::tempdir().expect("dir");
    let (own, outside) = (base.path().join("own"), base.path().join("outside"));
    fs::create_dir_all(outside.join("directory")).expect("dir");
    fs::write(outside.join("directory/file"), "kept").expect("file");
    fs::write(outside.join("file"), "kept").expect("file");
    mode(&outside.join("directory"), 0o500);
    let until = Instant::now() + Duration::from_millis(500);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let (victim, link) = (own.join("a/victim"), own.join("a/link"));
                let _ = fs::create_dir_all(own.join("a/victim/deep"));
                let _ = fs::write(own.join("a/victim/deep/file"), "gone");
                let _ = symlink(&outside, &link);
                let _ = fs::rename(&victim, own.join("a/other"));
                let _ = fs::rename(&link, &victim);
            }
        });
        while Instant::now() < until {
            let _ = remove_tree(&own, Some(Instant::now() + Duration::from_millis(20)));
        }
        over.store(true, Ordering::Relaxed);
    });
    remove_tree(&own, None).expect("removed");
    assert_eq!(fs::read_to_string(outside.join("directory/file")).expect("kept"), "kept");
    assert_eq!(fs::read_to_string(outside.join("file")).expect("kept"), "kept");
    let mode = fs::metadata(outside.join("directory")).expect("kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o500);
}

#[test]
fn directories_of_processes_that_are_gone_go_and_others_stay() {
    let base = tempfile::tempdir().expect("dir");
    let mut child = std::process::Command::new("true").spawn().expect("runs");
    let gone = child.id();
    child.wait().expect("ended");
    let here = ShortId::current();
    let other = ShortId { pid: gone, ..here };
    let recycled = ShortId { start: here.start + 1, ..here };
    let elsewhere = ShortId { realm: here.realm ^ 1, pid: gone, ..here };
    let left = [format!("{other}-a-b"), format!("{other}-c"), format!("{recycled}-d")];
    let others = [
        format!("{here}-a"),
        format!("{elsewhere}-a"),
        format!("{other}"),
        format!("x{other}-a"),
        format!("{}", ShortId { pid: 0, ..here }) + "-a",
        "another".to_owned(),
    ];
    for name in left.iter().chain(&others) {
        fs::create_dir_all(base.path().join(name).join("scratch")).expect("dir");
    }
    mode(&base.path().join(&left[0]), 0o000);
    remove_abandoned(base.path(), None).expect("removed");
    assert!(left.iter().all(|name| !base.path().join(name).exists()));
    assert!(others.iter().all(|name| base.path().join(name).exists()));
    remove_abandoned(&base.path().join("none"), None).expect_err("there is none");
}
