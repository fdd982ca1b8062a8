//! Reading what a command could have made: nothing is waited for, followed, or read beyond a bound.
#![cfg(target_os = "linux")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use toolwright_git::directory::{Directory, ReadError, open_followed, read_followed};

/// No call takes longer, of several tries: the machine may be busy.
const AT_MOST: Duration = Duration::from_secs(10);
const LIMIT: u64 = 1 << 20;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("made"))
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(path)
    }

    fn open(&self) -> Directory {
        Directory::open(&self.0.path().canonicalize().expect("real")).expect("opened")
    }

    fn put(&self, path: &str, content: &str) {
        fs::create_dir_all(self.at(path).parent().expect("above")).expect("made");
        fs::write(self.at(path), content).expect("written");
    }
}

fn factor() -> u64 {
    std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|one| one.parse().ok()).unwrap_or(1)
}

/// The result, and the time of the quickest try.
fn timed<T>(what: &str, call: impl Fn() -> T) -> T {
    let mut quickest = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let result = call();
        quickest = quickest.min(started.elapsed());
        if quickest < AT_MOST {
            return result;
        }
    }
    panic!("{what} took {quickest:?}");
}

/// Makes what is no regular file.
fn make_other(path: &Path, kind: usize) -> bool {
    match kind {
        0 => mkfifoat(CWD, path, Mode::RWXU).is_ok(),
        1 => UnixListener::bind(path).is_ok(),
        2 => fs::create_dir(path).is_ok(),
        3 => symlink("/dev/zero", path).is_ok(),
        4 => symlink("/dev/tty", path).is_ok(),
        5 => symlink(path, path).is_ok(),
        6 => symlink("none", path).is_ok(),
        // Only root makes devices.
        _ => rustix::fs::mknodat(
            CWD,
            path,
            rustix::fs::FileType::CharacterDevice,
            Mode::RWXU,
            rustix::fs::makedev(1, 5),
        )
        .is_ok(),
    }
}

#[test]
fn what_is_no_file_is_neither_opened_nor_waited_for() {
    let tree = Tree::new();
    let directory = tree.open();
    for kind in 0..8 {
        let name = format!("x{kind}");
        if !make_other(&tree.at(&name), kind) {
            continue;
        }
        let read = timed(&name, || directory.read(&name, LIMIT));
        assert!(matches!(read, Err(ReadError::WrongKind)), "{kind}: {read:?}");
        let followed = timed(&name, || read_followed(&tree.at(&name), LIMIT));
        // A link that leads nowhere is no file, and one to itself none that is known.
        match kind {
            6 => assert!(matches!(followed, Ok(None)), "{kind}: {followed:?}"),
            _ => assert!(matches!(followed, Err(ReadError::WrongKind)), "{kind}: {followed:?}"),
        }
        let below = timed(&name, || directory.read(format!("{name}/config"), LIMIT));
        match kind {
            2 => assert!(matches!(below, Ok(None)), "{kind}: {below:?}"),
            _ => assert!(matches!(below, Err(ReadError::WrongKind)), "{kind}: {below:?}"),
        }
        let entries = timed(&name, || directory.entries(&name, 10));
        assert_eq!(entries.is_ok(), kind == 2, "{kind}: {entries:?}");
        assert!(directory.entry(&name).is_ok_and(|found| found.is_some()), "{kind}");
    }
    assert!(matches!(directory.read("none", LIMIT), Ok(None)));
    assert!(matches!(directory.read("none/none", LIMIT), Ok(None)));
}

#[test]
fn no_link_is_followed_at_any_component() {
    let tree = Tree::new();
    tree.put("outside/a/b/c", "secret");
    tree.put("root/a/b/c", "mine");
    let root = tree.at("root").canonicalize().expect("real");
    let directory = Directory::open(&root).expect("opened");
    assert_eq!(directory.read("a/b/c", LIMIT).expect("read").as_deref(), Some(&b"mine"[..]));
    for (link, target) in [("a/b/c", "outside/a/b/c"), ("a/b", "outside/a/b"), ("a", "outside/a")] {
        fs::rename(root.join(link), tree.at("kept")).expect("moved");
        symlink(tree.at(target), root.join(link)).expect("made");
        assert!(matches!(directory.read("a/b/c", LIMIT), Err(ReadError::WrongKind)), "{link}");
        assert!(matches!(directory.entry("a/b"), Err(ReadError::WrongKind)), "{link}");
        fs::remove_file(root.join(link)).expect("removed");
        fs::rename(tree.at("kept"), root.join(link)).expect("moved");
    }
    for path in ["..", "../outside/a/b/c", "a/../a/b/c", "/etc/passwd"] {
        assert!(matches!(directory.read(path, LIMIT), Err(ReadError::WrongKind)), "{path}");
        assert!(directory.below(path).is_err(), "{path}");
    }
    // The path of the directory itself may have become one, too.
    symlink(&root, tree.at("link")).expect("made");
    assert!(matches!(Directory::open(&tree.at("link")), Err(ReadError::WrongKind)));
}

#[test]
fn a_bound_holds_for_long_and_growing_files() {
    let tree = Tree::new();
    let directory = tree.open();
    let sparse = File::create(tree.at("sparse")).expect("made");
    sparse.set_len(10 << 30).expect("a hole");
    let read = timed("a long file", || directory.read("sparse", LIMIT));
    assert!(matches!(read, Err(ReadError::TooLarge(LIMIT))), "{read:?}");
    let followed = timed("a long file", || read_followed(&tree.at("sparse"), LIMIT));
    assert!(matches!(followed, Err(ReadError::TooLarge(LIMIT))), "{followed:?}");
    sparse.set_len(LIMIT).expect("a hole");
    assert!(directory.read("sparse", LIMIT).is_ok_and(|read| read.is_some()));
    // Files of the kernel say that they are empty.
    let kernel = Directory::open(Path::new(&format!("/proc/{}", std::process::id())));
    let kernel = kernel.expect("opened");
    assert!(matches!(kernel.read("maps", 16), Err(ReadError::TooLarge(16))));

    tree.put("growing", "");
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let open = || OpenOptions::new().append(true).open(tree.at("growing"));
            let mut file = open().expect("opened");
            let mut length = 0;
            while !is_over.load(Ordering::Relaxed) {
                length += file.write(&[0; 4096]).expect("written");
                if length > 64 << 20 {
                    file.set_len(0).expect("cut");
                    length = 0;
                }
            }
        });
        for _ in 0..200 * factor() {
            match directory.read("growing", 65_536) {
                Ok(Some(read)) => assert!(read.len() <= 65_536),
                Err(ReadError::TooLarge(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_lease_is_not_waited_for() {
    let tree = Tree::new();
    tree.put("leased", "x");
    let file = OpenOptions::new().read(true).write(true).open(tree.at("leased")).expect("opened");
    // `F_SETLEASE` with `F_WRLCK`. Its holder is told by a signal that would end this process.
    let script = "import fcntl,signal,sys,time;signal.signal(signal.SIGIO,signal.SIG_IGN);f=open(sys.argv[1],'r+');\
        fcntl.fcntl(f,1024,1);print('x',flush=True);time.sleep(20)";
    drop(file);
    let holder = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(tree.at("leased"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut holder) = holder else { return };
    let mut said = [0];
    let is_held =
        holder.stdout.as_mut().is_some_and(|out| std::io::Read::read_exact(out, &mut said).is_ok());
    if is_held {
        let directory = tree.open();
        let read = timed("a leased file", || directory.read("leased", LIMIT));
        assert!(matches!(read, Err(ReadError::Io(_))), "{read:?}");
        let read = timed("a leased file", || read_followed(&tree.at("leased"), LIMIT));
        assert!(matches!(read, Err(ReadError::Io(_))), "{read:?}");
    }
    holder.kill().expect("killed");
    holder.wait().expect("ended");
}

/// How much of its memory this process had at once since the last time.
fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    let peak = line.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    fs::write("/proc/self/clear_refs", "5").expect("cleared");
    peak.expect("a number")
}

#[test]
fn very_many_entries_are_too_many_at_once() {
    let tree = Tree::new();
    let count = if factor() >= 10 { 1_000_000 } else { 150_000 };
    fs::create_dir(tree.at("many")).expect("made");
    File::create(tree.at("many/one")).expect("made");
    let mut source = tree.at("many/one");
    for number in 1..count {
        let name = tree.at(format!("many/{number}"));
        // A file has no more than some ten thousand names.
        if fs::hard_link(&source, &name).is_err() {
            File::create(&name).expect("made");
            source = name;
        }
    }
    let directory = tree.open();
    let before = peak_kilobytes();
    let entries = timed("many entries", || directory.entries("many", 1 << 15));
    assert!(matches!(entries, Err(ReadError::TooLarge(_))), "{:?}", entries.is_ok());
    let grown = peak_kilobytes().saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KB");
    let all = directory.entries("many", count).expect("listed").expect("there");
    assert_eq!(all.len(), count);
}

#[test]
fn what_is_exchanged_meanwhile_is_read_whole_or_not_at_all() {
    let tree = Tree::new();
    tree.put("root/a/file", "mine");
    tree.put("outside/file", "secret");
    let root = tree.at("root").canonicalize().expect("real");
    mkfifoat(CWD, tree.at("pipe"), Mode::RWXU).expect("made");
    symlink("/dev/zero", tree.at("zero")).expect("made");
    symlink(tree.at("outside/file"), tree.at("link")).expect("made");
    symlink(tree.at("outside"), tree.at("links")).expect("made");
    let directory = Directory::open(&root).expect("opened");
    let is_over = AtomicBool::new(false);
    let exchange = |one: PathBuf, other: PathBuf| {
        let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
    };
    thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for other in ["pipe", "zero", "link"] {
                    exchange(root.join("a/file"), tree.at(other));
                    exchange(root.join("a/file"), tree.at(other));
                }
                exchange(root.join("a"), tree.at("links"));
                exchange(root.join("a"), tree.at("links"));
            }
        });
        let mut slowest = Duration::ZERO;
        let mut read = 0;
        for _ in 0..20_000 * factor() {
            let started = Instant::now();
            match directory.read("a/file", LIMIT) {
                Ok(Some(text)) => {
                    assert_eq!(text, b"mine");
                    read += 1;
                }
                Ok(None) | Err(ReadError::WrongKind) => {}
                other => panic!("{other:?}"),
            }
            // What a person's link leads to is a regular file, or is not read.
            match read_followed(&root.join("a/file"), LIMIT) {
                Ok(Some(text)) => assert!(text == b"mine" || text == b"secret"),
                Ok(None) | Err(ReadError::WrongKind) => {}
                other => panic!("{other:?}"),
            }
            slowest = slowest.max(started.elapsed());
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(read > 0);
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
}

/// What is looked at is what is opened, without an effect on what is not.
#[test]
fn a_pipe_is_not_opened_for_reading() {
    let tree = Tree::new();
    mkfifoat(CWD, tree.at("pipe"), Mode::RWXU).expect("made");
    symlink(tree.at("pipe"), tree.at("link")).expect("made");
    assert!(open_followed(&tree.at("link")).is_err());
    tree.put("file", "x");
    let (file, stat) = open_followed(&tree.at("file")).expect("opened").expect("there");
    assert_eq!(file.metadata().expect("there").ino(), stat.st_ino);
    assert!(rustix::io::fcntl_getfd(&file).expect("flags").contains(rustix::io::FdFlags::CLOEXEC));
    assert!(file.as_raw_fd() > 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Over random trees: what is read is what lies at that path below, and nothing else.
    #[test]
    fn what_is_read_lies_below(
        made in prop::collection::vec(("[ab](/[ab]){0,2}", 0..9_usize), 0..10),
        asked in prop::collection::vec("[ab](/[ab]){0,2}", 12),
    ) {
        let tree = Tree::new();
        fs::create_dir(tree.at("root")).expect("made");
        tree.put("b/b", "outside");
        for (path, kind) in made {
            let path = tree.at("root").join(path);
            let _ = path.parent().map(fs::create_dir_all);
            if path.symlink_metadata().is_ok() {
                continue;
            }
            if kind < 8 {
                let _ = make_other(&path, kind);
            } else {
                let _ = fs::write(&path, path.as_os_str().as_encoded_bytes());
            }
        }
        let root = tree.at("root").canonicalize().expect("real");
        let directory = Directory::open(&root).expect("opened");
        for path in &asked {
            let real = root.join(path);
            let is_own = fs::symlink_metadata(&real).is_ok_and(|found| found.is_file())
                && fs::canonicalize(&real).is_ok_and(|found| found == real);
            match directory.read(path, LIMIT) {
                Ok(Some(text)) => {
                    let put = tree.at("root").join(path);
                    prop_assert_eq!(text, put.as_os_str().as_encoded_bytes());
                }
                Ok(None) | Err(ReadError::WrongKind) => prop_assert!(!is_own, "{}", path),
                Err(error) => prop_assert!(false, "{}: {}", path, error),
            }
        }
    }
}
