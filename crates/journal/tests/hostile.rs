//! Files that somebody made to harm who opens them: an error or rows, soon, and nothing is run.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use support::{Place, Random, effect, filled, refused, success, task, tenth_of};
use toolwright_journal::{Access, Journal, JournalError, Location, Options, Order};

/// Ten times what the slowest takes on a machine that does little else.
const SOON: Duration = Duration::from_secs(20);

fn open_for(path: &Path, access: Access) -> Result<Journal, JournalError> {
    let busy_timeout = Duration::from_millis(50);
    Journal::open(
        &Location::File(path.to_owned()),
        Options { access, busy_timeout, ..Options::default() },
    )
}

const BOTH: [Access; 2] = [Access::ReadOnly, Access::ReadWrite];

/// Runs `act` and fails when it does not end.
fn soon<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (finish, done) = mpsc::channel();
    std::thread::spawn(move || finish.send(act()));
    done.recv_timeout(SOON).unwrap_or_else(|error| panic!("{what}: {error}"))
}

#[cfg(target_os = "linux")]
fn fifo(path: &Path) {
    // macOS has no call for it beside a directory.
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_other_files_are_not_opened() {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        for access in BOTH {
            let place = filled(1);
            let path = place.base.path().join(format!("runs.db{suffix}"));
            let _ = fs::remove_file(&path);
            fifo(&path);
            let file = place.file();
            let opened =
                soon(&format!("a pipe as {suffix}"), move || open_for(&file, access).map(drop));
            let error = refused(opened, "CannotOpen");
            assert!(error.to_string().contains("named pipe"), "{error}");
            fs::remove_file(&path).unwrap();
            if !suffix.is_empty() {
                std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
                let error = refused(open_for(&place.file(), access).map(drop), "CannotOpen");
                assert!(error.to_string().contains("symbolic link"), "{error}");
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                let error = refused(open_for(&place.file(), access).map(drop), "CannotOpen");
                assert!(error.to_string().contains("a directory"), "{error}");
            }
        }
    }
    let zero = Path::new("/dev/zero");
    let error = open_for(zero, Access::ReadOnly).unwrap_err();
    assert!(error.to_string().contains("a device"), "{error}");
}

const CALLS: &str = "run_id, node_id, iteration, attempt, seq, tool_name, input_json, output_json,
    started_at_ms, finished_at_ms, status, error_json";
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

#[test]
fn a_view_is_no_table() {
    for sql in [
        format!(
            "CREATE VIEW _smithers_tool_calls({CALLS}) AS {ENDLESS}
                 SELECT 'r', 'n', 0, 1, i, 't', '', '', i, i, 'success', NULL FROM n"
        ),
        format!("CREATE VIRTUAL TABLE _smithers_tool_calls USING fts5({CALLS})"),
        format!(
            "CREATE VIEW _toolwright_owners AS {ENDLESS} SELECT i AS id FROM n;
             CREATE TABLE _smithers_tool_calls({CALLS})"
        ),
    ] {
        for access in BOTH {
            let place = Place::new();
            place.raw().execute_batch(&sql).unwrap();
            let file = place.file();
            let opened = soon(&sql, move || open_for(&file, access).map(drop));
            let error = refused(opened, "WrongSchema");
            assert!(error.to_string().contains("table"), "{error}");
        }
    }
}

#[test]
fn triggers_of_the_file_are_not_run() {
    let place = filled(1);
    place
        .raw()
        .execute_batch(
            "CREATE TABLE heard(a);
             CREATE TRIGGER t AFTER INSERT ON _smithers_tool_calls BEGIN
                 INSERT INTO heard SELECT count(*) FROM (
                     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n);
             END",
        )
        .unwrap();
    let file = place.file();
    soon("a trigger", move || {
        let journal = open_for(&file, Access::ReadWrite).unwrap();
        journal.record(effect(&task("t"), 2, 1), success("")).unwrap();
        assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 2);
    });
}

/// Pages that are in an index a thousand times make a short file an endless one.
#[test]
fn an_index_of_the_same_pages_again_and_again_comes_to_an_end() {
    const PAGE: usize = 512;
    let place = Place::new();
    place.raw().execute_batch(&format!("PRAGMA page_size = {PAGE}; CREATE TABLE t(a)")).unwrap();
    drop(place.open());
    {
        let raw = place.raw();
        raw.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
        let mut insert = raw
            .prepare(&format!(
                "INSERT INTO _smithers_tool_calls ({CALLS})
                 VALUES ('r', 'n', 0, 1, ?1, 't', '', '', 1, 1, 'success', NULL)"
            ))
            .unwrap();
        raw.execute_batch("BEGIN").unwrap();
        for seq in 0..20_000 {
            insert.execute([seq]).unwrap();
        }
        raw.execute_batch("COMMIT").unwrap();
    }
    let root: u16 = place
        .raw()
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE tbl_name = '_smithers_tool_calls'
                 AND name LIKE 'sqlite_autoindex%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut bytes = fs::read(place.file()).unwrap();
    let cells = |bytes: &[u8], at: usize| {
        let pointer = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        (0..pointer(at + 3)).map(|index| at + pointer(at + 12 + 2 * index)).collect::<Vec<_>>()
    };
    // Every child of the root is the first of these pages, every child of that the second, and so on.
    let root = (usize::from(root) - 1) * PAGE;
    let is_wide = |at: &usize| bytes[*at] == 2 && *at != root && cells(&bytes, *at).len() > 10;
    let wide: Vec<usize> = (PAGE..bytes.len()).step_by(PAGE).filter(is_wide).take(12).collect();
    assert!(wide.len() == 12, "{wide:?}");
    for (at, child) in std::iter::once(&root).chain(&wide).zip(&wide) {
        let child = u32::try_from(child / PAGE + 1).unwrap().to_be_bytes();
        for cell in cells(&bytes, *at) {
            bytes[cell..cell + 4].copy_from_slice(&child);
        }
        bytes[at + 8..at + 12].copy_from_slice(&child);
    }
    fs::write(place.file(), bytes).unwrap();
    let file = place.file();
    let started = Instant::now();
    soon("an index of the same pages", move || {
        let journal = open_for(&file, Access::ReadOnly).unwrap();
        refused(journal.list_runs(), "Corrupt");
    });
    println!("ended after {:?}", started.elapsed());
}

/// `TOOLWRIGHT_SEED` repeats a run.
#[test]
fn damage_anywhere_is_an_error_or_rows() {
    let source = filled(40);
    let whole = fs::read(source.file()).unwrap();
    // One with a log, as a process that is killed leaves it.
    let journal = source.open();
    for seq in 1..=20 {
        let call = journal.begin(effect(&task("log"), 1, seq)).unwrap();
        journal.finish(call, success(&"y".repeat(3000))).unwrap();
    }
    let base = fs::read(source.file()).unwrap();
    let log = fs::read(source.base.path().join("runs.db-wal")).unwrap();
    drop(journal);

    let mut random = Random::new();
    for round in 0..tenth_of(3000) {
        let place = Place::new();
        let with_log = round % 2 == 0;
        let mut bytes = if with_log { base.clone() } else { whole.clone() };
        let mut log = if with_log { log.clone() } else { Vec::new() };
        for _ in 0..=random.below(12) {
            let target = if with_log && random.below(2) == 0 { &mut log } else { &mut bytes };
            damage(target, &mut random);
        }
        fs::write(place.file(), &bytes).unwrap();
        if with_log {
            fs::write(place.base.path().join("runs.db-wal"), &log).unwrap();
        }
        let (file, access) = (place.file(), BOTH[usize::try_from(random.below(2)).unwrap()]);
        soon(&format!("round {round}"), move || {
            let Ok(journal) = open_for(&file, access) else { return };
            let _ = journal.list_runs();
            let _ = journal.list_run("run", Order::Reverse, false);
            let _ = journal.tail(0, 1000);
            let _ = journal.recover("{}");
            let _ = journal.record(effect(&task("new"), 1, 1), success(""));
            let _ = journal.close();
        });
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len() as u64;
    if length == 0 {
        return;
    }
    let mut place = || usize::try_from(random.below(length)).unwrap();
    let (from, to) = (place(), place());
    match random.below(10) {
        0 => bytes.truncate(from),
        1 => bytes[from..].fill(0),
        2 => {
            let count = 512.min(bytes.len() - from.max(to));
            let copy = bytes[from..from + count].to_vec();
            bytes[to..to + count].copy_from_slice(&copy);
        }
        3 => bytes[from / 4096 * 4096..].iter_mut().take(100).for_each(|byte| *byte ^= 0xff),
        _ => bytes[from] = u8::try_from(random.below(256)).unwrap(),
    }
}
