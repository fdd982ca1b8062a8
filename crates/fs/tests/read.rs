//! Reads within a limit, whatever size the file reports.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::io::Write;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::{NEVER, Tree};
#[cfg(target_os = "linux")]
use toolwright_fs::Root;
use toolwright_fs::{FsError, FsErrorKind, read};

#[cfg(target_os = "linux")]
fn slash() -> Root {
    Root::open(Path::new("/")).unwrap()
}

#[track_caller]
fn assert_too_large(answer: Result<Vec<u8>, FsError>, want: impl Fn(u64) -> bool) {
    let error = answer.unwrap_err();
    let FsError { kind: FsErrorKind::TooLarge { bytes, result: false, .. }, .. } = error else {
        panic!("{error:?}")
    };
    assert!(want(bytes), "{bytes}");
    assert!(
        error.to_string().starts_with(&format!("File too large ({bytes} bytes): `")),
        "{error}"
    );
}

#[test]
fn the_limit_itself_is_allowed_and_one_byte_more_is_not() {
    let tree = Tree::new();
    let root = tree.open();
    let stride = 1 << 20;
    for size in [0, 1, 2, 8191, 8192, 8193, 200_000, stride - 1, stride, stride + 1, 3 * stride + 7]
    {
        let content = vec![7; size];
        tree.put("file", &content);
        let limit = size as u64;
        assert!(read(&root, "file", limit, &NEVER).unwrap() == content, "{size}");
        assert!(read(&root, "file", u64::MAX, &NEVER).unwrap() == content, "{size}");
        if let Some(less) = limit.checked_sub(1) {
            assert_too_large(read(&root, "file", less, &NEVER), |bytes| bytes == limit);
            assert_too_large(read(&root, "file", 0, &NEVER), |bytes| bytes == limit);
        }
    }
}

#[test]
fn a_huge_limit_takes_no_more_memory_than_the_file() {
    let tree = Tree::new();
    tree.put("file", "small");
    let bytes = read(&tree.open(), "file", u64::MAX, &NEVER).unwrap();
    assert_eq!(bytes, b"small");
    assert!(bytes.capacity() < 100_000, "{}", bytes.capacity());
}

#[test]
#[cfg(target_os = "linux")]
fn files_of_procfs_that_say_zero_are_held_to_the_limit() {
    let root = slash();
    let version = std::fs::read("/proc/version").unwrap();
    assert_eq!(read(&root, "proc/version", 10_000, &NEVER).unwrap(), version);
    assert_eq!(read(&root, "proc/version", version.len() as u64, &NEVER).unwrap(), version);
    let less = version.len() as u64 - 1;
    assert_too_large(read(&root, "proc/version", less, &NEVER), |bytes| bytes > less);
    // Through the path of this very process, since `/proc/self` is a link.
    let maps = format!("proc/{}/maps", std::process::id());
    assert_too_large(read(&root, &maps, 100, &NEVER), |bytes| bytes > 100);
    assert!(read(&root, &maps, 10_000_000, &NEVER).unwrap().len() > 1000);
    // Returns everything in the first read or nothing.
    let pid_max = std::fs::read("/proc/sys/kernel/pid_max").unwrap();
    assert_eq!(read(&root, "proc/sys/kernel/pid_max", 100, &NEVER).unwrap(), pid_max);
    assert_too_large(read(&root, "proc/sys/kernel/pid_max", 2, &NEVER), |bytes| bytes > 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_of_sysfs_that_promises_more_than_it_holds_is_read() {
    let path = [
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/kernel/profiling",
        "sys/kernel/uevent_seqnum",
    ]
    .into_iter()
    .find(|path| Path::new("/").join(path).metadata().is_ok_and(|meta| meta.len() == 4096));
    let Some(path) = path else { return };
    let want = std::fs::read(Path::new("/").join(path)).unwrap();
    assert!(want.len() < 1000, "the point is that it is shorter than its size");
    assert_eq!(read(&slash(), path, 1000, &NEVER).unwrap(), want);
    assert_too_large(read(&slash(), path, 0, &NEVER), |bytes| bytes == 4096);
}

#[test]
fn a_sparse_terabyte_is_refused_at_once_by_its_size() {
    let tree = Tree::new();
    let file = std::fs::File::create(tree.root.join("sparse")).unwrap();
    if file.set_len(1 << 40).is_err() {
        return; // a file system with smaller files
    }
    for limit in [0, 200_000, 1 << 39] {
        let started = Instant::now();
        assert_too_large(read(&tree.open(), "sparse", limit, &NEVER), |bytes| bytes == 1 << 40);
        assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_held_to_the_limit() {
    let tree = Tree::new();
    tree.put("log", "");
    let root = tree.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log =
                std::fs::OpenOptions::new().append(true).open(tree.root.join("log")).unwrap();
            let mut left = 2000;
            while left > 0 && !done.load(Ordering::Relaxed) {
                log.write_all(&[b'x'; 1000]).unwrap();
                left -= 1;
            }
        });
        loop {
            match read(&root, "log", 500_000, &NEVER) {
                Ok(bytes) => assert!(bytes.len() <= 500_000),
                Err(FsError {
                    kind: FsErrorKind::TooLarge { bytes, limit: 500_000, .. }, ..
                }) => {
                    assert!(bytes > 500_000);
                    break;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_would_block_gives_an_error_at_once() {
    // Its mode is regular, but a read waits for the next message of the kernel.
    let started = Instant::now();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Empties it, or is refused.
        let mut answers = Vec::new();
        for _ in 0..3 {
            answers.push(read(&slash(), "proc/kmsg", 100_000_000, &NEVER).map(|bytes| bytes.len()));
        }
        let _ = sender.send(answers);
    });
    let answers = receiver.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    for answer in answers {
        if let Err(error) = answer {
            let errno = error.errno();
            let expected = [Some("EAGAIN"), Some("EPERM"), Some("EACCES")].contains(&errno)
                || matches!(error, FsError { kind: FsErrorKind::NotFound, .. });
            assert!(expected, "{error:?}");
        }
    }
}

#[test]
fn a_long_read_can_be_cancelled() {
    let tree = Tree::new();
    let file = std::fs::File::create(tree.root.join("large")).unwrap();
    file.set_len(1 << 30).unwrap(); // sparse: reading it is work, storing it is not
    let root = tree.open();
    let cancel = AtomicBool::new(true);
    assert!(matches!(
        read(&root, "large", 2 << 30, &cancel),
        Err(FsError { kind: FsErrorKind::Cancelled, .. })
    ));
    cancel.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| read(&root, "large", 2 << 30, &cancel));
        std::thread::sleep(Duration::from_millis(10));
        cancel.store(true, Ordering::Relaxed);
        let cancelled = Instant::now();
        assert!(matches!(call.join().unwrap(), Err(FsError { kind: FsErrorKind::Cancelled, .. })));
        assert!(cancelled.elapsed() < Duration::from_millis(500), "{:?}", cancelled.elapsed());
    });
}
