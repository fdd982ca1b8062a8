//! Databases of other programs and older ones.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::Path;
use std::process::Stdio;

use support::{Kind, Place, effect, open, success, task};
use toolwright_journal::{Access, Journal, Location, Options, Order, Status};

/// The oldest table, with the rows its program wrote.
const OLDEST: &str = "
    CREATE TABLE _smithers_tool_calls (
        run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0,
        attempt INTEGER NOT NULL, seq INTEGER NOT NULL, tool_name TEXT NOT NULL, input_json TEXT,
        output_json TEXT, started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER,
        status TEXT NOT NULL, error_json TEXT,
        PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
    );
    INSERT INTO _smithers_tool_calls VALUES
        ('run', 't', 0, 1, 1, 'read', '{\"path\":\"a\"}', '\"text\"', 10, 20, 'success', NULL),
        ('run', 't', 0, 1, 2, 'bash', '{\"cmd\":\"x\"}', NULL, 30, 40, 'error', '{}');";

/// The table of smithers-orchestrator 0.32.0, with rows as its engine writes them.
const ENGINE: &str = "
    CREATE TABLE _smithers_tool_calls (
        run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0,
        attempt INTEGER NOT NULL, seq INTEGER NOT NULL, call_token TEXT, tool_name TEXT NOT NULL,
        input_json TEXT, output_json TEXT, started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER,
        status TEXT NOT NULL, error_json TEXT, kind TEXT, side_effect INTEGER, idempotent INTEGER,
        accepts_idempotency_key INTEGER, has_revert INTEGER, idempotency_key TEXT,
        revert_status TEXT /* null | reverting | reverted | revert-failed | revert-stale */,
        reverted_at_ms INTEGER, revert_error_json TEXT, forced_past_json TEXT,
        PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
    );
    CREATE UNIQUE INDEX _smithers_tool_calls_call_token_uidx ON _smithers_tool_calls (call_token);
    INSERT INTO _smithers_tool_calls (run_id, node_id, iteration, attempt, seq, call_token,
        tool_name, input_json, output_json, started_at_ms, finished_at_ms, status, error_json, kind,
        side_effect, idempotent, accepts_idempotency_key, has_revert, idempotency_key,
        revert_status) VALUES
        ('run', 't', 0, 1, 0, 'u0', 't', NULL, NULL, 1, 99, 'succeeded', NULL, 'task',
            0, 1, 0, 0, NULL, NULL),
        ('run', 't', 0, 1, 1, 'u1', 'email.send', '{\"to\":\"a\"}', '{\"id\":1}', 10, 20,
            'succeeded', NULL, 'tool', 1, 0, 1, 1, 'smithers:run:t:0', NULL),
        ('run', 't', 0, 1, 2, 'u2', 'email.send', '{\"to\":\"b\"}', NULL, 30, 40,
            'unknown', '{\"name\":\"Error\"}', 'tool', 1, 0, 1, 0, 'smithers:run:t:0', NULL),
        ('run', 't', 0, 1, 3, 'u3', 'charge', '{}', NULL, 50, NULL,
            'intended', NULL, 'tool', 1, 0, 0, 0, NULL, NULL),
        ('run', 't', 0, 1, 4, 'u4', 'charge', '{}', 'null', 60, 70,
            'succeeded', NULL, 'tool', 1, 0, 0, 1, NULL, 'reverted'),
        ('run', 't', 0, 1, 5, 'u5', 'read', '{}', '\"x\"', 80, 90,
            'succeeded', NULL, 'tool', 0, 1, 0, 0, NULL, NULL);";

fn with(sql: &str) -> Place {
    let place = Place::new();
    place.raw().execute_batch(sql).unwrap();
    place
}

fn columns(place: &Place) -> Vec<String> {
    let raw = place.raw();
    let mut statement =
        raw.prepare("SELECT name FROM pragma_table_info('_smithers_tool_calls')").unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

const ADDED_BY_THE_ENGINE: [&str; 11] = [
    "kind",
    "side_effect",
    "idempotent",
    "accepts_idempotency_key",
    "has_revert",
    "idempotency_key",
    "revert_status",
    "reverted_at_ms",
    "revert_error_json",
    "forced_past_json",
    "call_token",
];

#[test]
fn the_oldest_table_is_completed_and_its_rows_stay() {
    let place = with(OLDEST);
    let journal = place.open();
    for column in ADDED_BY_THE_ENGINE {
        assert!(columns(&place).contains(&column.to_owned()), "{column}");
    }
    let calls = journal.list(&task("t"), false).unwrap().calls;
    assert_eq!(
        (calls[0].status, calls[0].output_json.as_deref()),
        (Status::Success, Some("\"text\""))
    );
    assert_eq!((calls[1].status, calls[1].error_json.as_deref()), (Status::Error, Some("{}")));
    assert_eq!(
        (calls[0].side_effect, calls[0].kind.as_deref(), calls[0].acted),
        (None, None, true)
    );
    // Which of these tools have side effects is for others to know.
    let prior = journal.prior_effects(&task("t"), 2).unwrap();
    assert!(prior.len() == 2 && prior.iter().all(|prior| prior.side_effect.is_none()));
    let call = journal.begin(effect(&task("t"), 2, 1)).unwrap();
    journal.finish(call, success("done")).unwrap();
    journal.close().unwrap();
    support::integrity(&place.file());
}

#[test]
fn a_new_table_has_the_columns_in_the_order_of_the_engine() {
    let place = Place::new();
    place.open().close().unwrap();
    let theirs = columns(&with(ENGINE));
    let ours = columns(&place);
    assert_eq!(ours[..theirs.len()], theirs);
    assert!(ours[theirs.len()..].iter().all(|name| name.starts_with("tw_")));
    let nullable: i64 = place
        .raw()
        .query_row(
            "SELECT count(*) FROM pragma_table_info('_smithers_tool_calls')
             WHERE name LIKE 'tw\\_%' ESCAPE '\\' AND (\"notnull\" OR dflt_value IS NOT NULL)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(nullable, 0);
}

#[test]
fn rows_of_the_engine_are_read_and_its_statements_still_work() {
    let place = with(ENGINE);
    let journal = place.open();
    let calls = journal.list(&task("t"), false).unwrap().calls;
    let states: Vec<_> =
        calls.iter().map(|call| (call.seq, call.status, call.status_text.as_str())).collect();
    assert_eq!(
        states,
        [
            (0, Status::Success, "succeeded"),
            (1, Status::Success, "succeeded"),
            (2, Status::Unknown, "unknown"),
            (3, Status::Started, "intended"),
            (4, Status::Success, "succeeded"),
            (5, Status::Success, "succeeded"),
        ]
    );
    assert_eq!((calls[0].kind.as_deref(), calls[1].has_revert), (Some("task"), Some(true)));
    let prior: Vec<_> = journal
        .prior_effects(&task("t"), 2)
        .unwrap()
        .into_iter()
        .map(|prior| (prior.seq, prior.status, prior.accepts_idempotency_key))
        .collect();
    assert_eq!(
        prior,
        [
            (1, Status::Success, Some(true)),
            (2, Status::Unknown, Some(true)),
            (3, Status::Started, Some(false)),
        ]
    );
    // What it left open it recovers itself.
    assert_eq!(journal.recover("{}").unwrap().calls, [0_i64; 0]);
    // The way its adapter writes, and what it archives.
    place
        .raw()
        .execute_batch(
            "INSERT OR IGNORE INTO _smithers_tool_calls (run_id, node_id, iteration, attempt, seq,
                 call_token, tool_name, input_json, output_json, started_at_ms, finished_at_ms,
                 status, error_json, kind, side_effect, idempotent, accepts_idempotency_key,
                 has_revert, idempotency_key, revert_status, reverted_at_ms, revert_error_json,
                 forced_past_json)
             VALUES ('run', 't', 0, 2, 1, 'u6', 'charge', '{}', NULL, 1, NULL, 'intended', NULL,
                 'tool', 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL);
             UPDATE _smithers_tool_calls SET kind = 'tool', output_json = '1', finished_at_ms = 2,
                 status = 'succeeded', error_json = NULL WHERE call_token = 'u6';
             DELETE FROM _smithers_tool_calls WHERE run_id = 'run' AND attempt = 1 AND seq = 5",
        )
        .unwrap();
    let call = journal.find(&task("t"), 2, 1).unwrap().unwrap();
    assert_eq!((call.status, call.acted), (Status::Success, true));
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 6);
}

#[test]
fn an_older_database_can_be_read_without_changing_it() {
    for sql in [OLDEST, ENGINE] {
        let place = with(sql);
        let before = std::fs::read(place.file()).unwrap();
        let options = Options { access: Access::ReadOnly, ..Options::default() };
        let journal = Journal::open(&Location::File(place.file()), options).unwrap();
        assert!(journal.list_run("run", Order::Forward, false).unwrap().calls.len() >= 2);
        assert_eq!(journal.list_runs().unwrap().len(), 1);
        assert!(!journal.prior_effects(&task("t"), 2).unwrap().is_empty());
        assert!(journal.recorded(&task("t"), "bash", "hash", 1).unwrap().is_none());
        assert_eq!(journal.begin(effect(&task("t"), 9, 1)).unwrap_err().kind(), "ReadOnly");
        assert_eq!(journal.lock_task(&task("t"), 9).unwrap_err().kind(), "ReadOnly");
        journal.close().unwrap();
        assert_eq!(std::fs::read(place.file()).unwrap(), before);
    }
}

#[test]
fn a_table_completed_in_part_is_completed() {
    let place = with(OLDEST);
    place
        .raw()
        .execute_batch(
            "ALTER TABLE _smithers_tool_calls ADD COLUMN side_effect INTEGER;
             ALTER TABLE _smithers_tool_calls ADD COLUMN tw_args_hash TEXT",
        )
        .unwrap();
    let journal = place.open();
    journal.begin(effect(&task("t"), 2, 1)).unwrap();
    assert_eq!(journal.list(&task("t"), false).unwrap().calls.len(), 3);
}

#[test]
fn a_newer_table_is_written_only_where_its_rows_can_be() {
    let place = with(ENGINE);
    let add = |column: &str| {
        let sql = format!("ALTER TABLE _smithers_tool_calls ADD COLUMN {column}");
        place.raw().execute_batch(&sql).unwrap();
    };
    add("later TEXT");
    add("last INTEGER NOT NULL DEFAULT 0");
    place.open().begin(effect(&task("t"), 2, 1)).unwrap();
    // A column that no older program gives a value, as a table may have that was made with it.
    let connection = place.raw();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'later TEXT', 'later TEXT NOT NULL')
             WHERE name = '_smithers_tool_calls'",
        )
        .unwrap();
    drop(connection);
    let error = open(&place.file()).unwrap_err();
    assert_eq!(error.kind(), "WrongSchema");
    assert!(error.to_string().contains("`later`"), "{error}");
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    let journal = Journal::open(&Location::File(place.file()), options).unwrap();
    assert!(journal.list(&task("t"), false).unwrap().calls.len() > 2);
}

#[test]
fn values_of_unexpected_types_are_read_as_near_as_can_be() {
    let place = with(OLDEST);
    place
        .raw()
        .execute_batch(
            "INSERT INTO _smithers_tool_calls VALUES
                 (7, x'ff61', '3', 2.0, 'x', 'bash', 5, 1.5, '12', x'00', 'odd', NULL)",
        )
        .unwrap();
    let journal = place.open();
    let call = journal.tail(2, 1).unwrap().remove(0);
    assert_eq!((call.task.run_id.as_str(), call.task.node_id.as_str()), ("7", "\u{fffd}a"));
    assert_eq!((call.task.iteration, call.attempt, call.seq), (3, 2, 0));
    assert_eq!((call.input_json.as_deref(), call.output_json.as_deref()), (Some("5"), Some("1.5")));
    assert_eq!((call.started_at_ms, call.finished_at_ms), (12, None));
    assert_eq!((call.status, call.status_text.as_str()), (Status::Unknown, "odd"));
}

#[test]
fn many_processes_complete_a_table_at_once() {
    const TEST: &str = "many_processes_complete_a_table_at_once";
    if let Some(argument) = support::child_argument() {
        let (path, node) = argument.split_once('|').unwrap();
        let journal = open(Path::new(path)).unwrap();
        journal.begin(effect(&task(node), 1, 1)).unwrap();
        return;
    }
    for (sql, rows) in [(OLDEST, 2), (ENGINE, 6), ("", 0)] {
        let place = with(sql);
        let children: Vec<_> = (0..8)
            .map(|number| {
                let argument = format!("{}|node {number}", place.file().display());
                support::child(TEST, &argument).stdout(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let journal = place.open();
        assert_eq!(journal.tail(0, 100).unwrap().len(), rows + 8);
        assert_eq!(journal.recover("{}").unwrap().calls.len(), 8);
        let mut names = columns(&place);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 31);
        support::integrity(&place.file());
    }
}
