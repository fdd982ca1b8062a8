//! No file and no log makes a journal crash, hang or write elsewhere: it is opened with rows or with an error.
//!
//! The input is a list of changes to a sound journal: where (the highest bit says in which of the two
//! files), and which byte. An input that begins with `SQLite` is the database itself.

#![no_main]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use toolwright_journal::{
    Access, Finish, Intent, Journal, Location, Options, Order, Outcome, TaskId,
};

fn call(node: &str, seq: i64) -> Intent {
    Intent {
        task: TaskId { run_id: "run".to_owned(), node_id: node.to_owned(), iteration: 0 },
        attempt: 1,
        seq,
        tool_name: "bash".to_owned(),
        input_json: Some("{}".to_owned()),
        started_at_ms: seq,
        side_effect: true,
        idempotent: false,
        accepts_idempotency_key: false,
        has_revert: false,
        idempotency_key: None,
        call_token: None,
        args_hash: None,
        ordinal: None,
    }
}

fn open(path: &Path, access: Access) -> Option<Journal> {
    let options = Options { access, busy_timeout: Duration::from_millis(20), ..Options::default() };
    Journal::open(&Location::File(path.to_owned()), options).ok()
}

fn beside(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A sound file and its log.
fn sound() -> &'static (Vec<u8>, Vec<u8>) {
    static SOUND: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    SOUND.get_or_init(|| {
        let directory = directory("sound");
        let path = directory.join("runs.db");
        for node in ["file", "log"] {
            let journal = open(&path, Access::ReadWrite).expect("opened");
            for seq in 1..=20 {
                let outcome =
                    Outcome::Success(Some(format!("{:?}", "x".repeat(300))));
                let begun = journal.begin(call(node, seq)).expect("begun");
                journal
                    .finish(begun, Finish { outcome, finished_at_ms: seq, whole: false, seen: None, key_read: false })
                    .expect("done");
            }
            if node == "log" {
                let read = |suffix| fs::read(beside(&path, suffix)).expect("there");
                return (read(""), read("-wal"));
            }
        }
        unreachable!("the second has a log")
    })
}

fn directory(name: &str) -> std::path::PathBuf {
    let base =
        if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let directory = base.join(format!("toolwright-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("made");
    directory
}

fuzz_target!(|data: &[u8]| {
    let directory = directory("case");
    let path = directory.join("runs.db");
    if data.starts_with(b"SQLite") {
        fs::write(&path, data).expect("written");
    } else {
        let (mut file, mut log) = sound().clone();
        for change in data.chunks_exact(4) {
            let place = usize::from(u16::from_le_bytes([change[0], change[1]])) << 8
                | usize::from(change[2]);
            let target = if place >> 23 == 1 { &mut log } else { &mut file };
            let length = target.len();
            target[(place & 0x7f_ffff) % length] = change[3];
        }
        fs::write(&path, file).expect("written");
        fs::write(beside(&path, "-wal"), log).expect("written");
    }
    let started = Instant::now();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let Some(journal) = open(&path, access) else { continue };
        let _ = journal.list_runs();
        let _ = journal.list_run("run", Order::Reverse, false);
        let _ = journal.tail(0, 100);
        let _ = journal.recover("{}");
        let _ = journal.record(
            call("new", 1),
            Finish {
                outcome: Outcome::Success(None),
                finished_at_ms: 1,
                whole: false,
                seen: None,
                key_read: false,
            },
        );
        let _ = journal.close();
    }
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
    let _ = fs::remove_dir_all(directory);
});
