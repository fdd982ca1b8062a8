//! Threads, messages, calls and what is committed together.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

mod support;

use std::sync::Arc;

use support::Kind;
use toolwright_thread_store::{
    Access, CallEnd, CallFilter, Changes, EndStatus, NewAttachment, NewCall, NewMessage, Options,
    Part, Range, Status, Store, ThreadError,
};

fn open(path: &std::path::Path) -> Arc<Store> {
    Arc::new(Store::open(&path.to_str().unwrap().parse().unwrap(), Options::default()).unwrap())
}

fn call(id: &str) -> NewCall {
    NewCall {
        id: id.to_owned(),
        name: "tool".to_owned(),
        arguments_json: "{}".to_owned(),
        queue: "root".to_owned(),
        force_allow: true,
        parent_call_id: None,
        info_json: None,
    }
}

fn message(id: &str) -> NewMessage {
    NewMessage {
        id: id.to_owned(),
        role: "tool".to_owned(),
        body_json: "{}".to_owned(),
        call_id: None,
    }
}

fn queue(store: &Store, ids: &[&str]) {
    let enqueue = ids.iter().map(|id| call(id)).collect();
    store.commit("t", &Changes { enqueue, ..Changes::default() }).unwrap();
}

fn end(id: &str) -> CallEnd {
    CallEnd { call_id: id.to_owned(), status: EndStatus::Success, result_json: "1".to_owned() }
}

fn staged(store: &Arc<Store>, bytes: &[u8]) -> String {
    let new = NewAttachment {
        name: "a.bin".to_owned(),
        mime_type: "application/octet-stream".to_owned(),
        width: None,
        height: None,
    };
    let mut upload = store.begin_upload("t", new).unwrap();
    upload.append(bytes).unwrap();
    upload.finish().unwrap().path
}

#[test]
fn calls_run_in_the_order_in_which_they_were_queued() {
    let place = tempfile::tempdir().unwrap();
    let store = open(&place.path().join("t.db"));
    store.open_thread("t", "f").unwrap();
    queue(&store, &["a", "b"]);
    let worker = store.lock_thread("t").unwrap();
    assert_eq!(worker.claim("root").unwrap().unwrap().new.id, "a");
    let changes =
        Changes { finish: Some(end("a")), enqueue: vec![call("c")], ..Changes::default() };
    store.commit("t", &changes).unwrap();
    assert_eq!(worker.claim("root").unwrap().unwrap().new.id, "b");
    assert_eq!(worker.claim("root").unwrap().unwrap().new.id, "c");
    assert_eq!(worker.claim("root").unwrap(), None);
    assert_eq!(worker.claim("another").unwrap(), None);
}

#[test]
fn a_commit_is_all_or_nothing() {
    let place = tempfile::tempdir().unwrap();
    let store = open(&place.path().join("t.db"));
    store.open_thread("t", "f").unwrap();
    queue(&store, &["a"]);
    let worker = store.lock_thread("t").unwrap();
    worker.claim("root").unwrap();
    let path = staged(&store, b"bytes");
    let good = Changes {
        finish: Some(end("a")),
        attachments: vec![path.clone()],
        messages: vec![message("m")],
        enqueue: vec![call("b")],
    };
    let mut bad = Vec::new();
    for change in [
        |c: &mut Changes| c.attachments.push("/attachments/1-none.bin".to_owned()),
        |c: &mut Changes| c.messages.push(message("m")),
        |c: &mut Changes| c.enqueue.push(call("a")),
        |c: &mut Changes| c.finish = Some(end("nobody")),
    ] {
        let mut changes = good.clone();
        change(&mut changes);
        bad.push(changes);
    }
    for changes in &bad {
        store.commit("t", changes).unwrap_err();
        assert_eq!(store.get_call("t", "a").unwrap().unwrap().status, "running");
        assert!(store.list_messages("t", Part::default()).unwrap().is_empty());
        assert!(store.list_attachments("t").unwrap().is_empty());
        assert_eq!(store.get_call("t", "b").unwrap(), None);
    }
    store.commit("t", &good).unwrap();
    assert_eq!(store.get_call("t", "a").unwrap().unwrap().status, "success");
    assert_eq!(store.list_messages("t", Part::default()).unwrap().len(), 1);
    assert_eq!(store.read_attachment("t", &path, 0, None).unwrap(), b"bytes");
    let again = store.commit("t", &Changes { finish: Some(end("a")), ..Changes::default() });
    assert!(matches!(again, Err(ThreadError::CallState { .. })));
}

#[test]
fn one_worker_at_a_time_and_what_it_left() {
    let place = tempfile::tempdir().unwrap();
    let (store, other) = (open(&place.path().join("t.db")), open(&place.path().join("t.db")));
    store.open_thread("t", "f").unwrap();
    queue(&store, &["a", "b"]);
    let worker = store.lock_thread("t").unwrap();
    worker.claim("root").unwrap();
    assert!(matches!(other.lock_thread("t"), Err(ThreadError::Locked { .. })));
    assert!(matches!(other.delete_thread("t"), Err(ThreadError::Locked { .. })));
    drop(worker);
    let worker = other.lock_thread("t").unwrap();
    let left: Vec<_> = other.interrupted("t").unwrap().into_iter().map(|c| c.new.id).collect();
    assert_eq!(left, ["a"]);
    assert_eq!(worker.requeue("a").unwrap().status, "queued");
    let again = worker.claim("root").unwrap().unwrap();
    assert_eq!((again.new.id.as_str(), again.attempts), ("a", 2));
    drop(worker);
    assert!(other.delete_thread("t").unwrap());
    assert!(!other.delete_thread("t").unwrap());
    assert!(matches!(store.list_messages("t", Part::default()), Err(ThreadError::NoThread { .. })));
}

#[test]
fn what_is_staged_goes_with_its_store_and_with_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let store = open(&file);
    store.open_thread("t", "f").unwrap();
    let small = staged(&store, b"small");
    let large = staged(&store, &vec![7; 4_000_000]);
    // Another store that is opened leaves it alone.
    let other = open(&file);
    let commit = Changes { attachments: vec![large.clone()], ..Changes::default() };
    store.commit("t", &commit).unwrap();
    store.close().unwrap();
    let commit = Changes { attachments: vec![small], ..Changes::default() };
    assert!(matches!(other.commit("t", &commit), Err(ThreadError::NoAttachment { .. })));
    assert_eq!(other.read_attachment("t", &large, 0, None).unwrap().len(), 4_000_000);
    other.close().unwrap();
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["t.db"]);
}

#[test]
fn lists_in_parts() {
    let store = Arc::new(Store::open(&"memory:".parse().unwrap(), Options::default()).unwrap());
    store.open_thread("t", "f").unwrap();
    queue(&store, &["a", "b", "c", "d"]);
    let ids = |part| -> Vec<String> {
        let filter = CallFilter { status: Some(Status::Queued), queue: Some("root".to_owned()) };
        store.list_calls("t", &filter, part).unwrap().into_iter().map(|c| c.new.id).collect()
    };
    assert_eq!(ids(Part::default()), ["a", "b", "c", "d"]);
    assert_eq!(ids(Part { after: Some(1), limit: Some(2), reverse: false }), ["b", "c"]);
    assert_eq!(ids(Part { after: Some(3), limit: Some(9), reverse: true }), ["b", "a"]);
    assert_eq!(store.cancel_queued("t", Some("x")).unwrap().len(), 0);
    let cancelled: Vec<_> =
        store.cancel_queued("t", None).unwrap().into_iter().map(|c| c.new.id).collect();
    assert_eq!(cancelled, ["a", "b", "c", "d"]);
    let worker = store.lock_thread("t").unwrap();
    assert_eq!(worker.claim("root").unwrap(), None);
    assert!(store.lock_thread("t").is_err());
}

#[test]
fn a_store_that_is_read_only_says_so_and_reads() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let store = open(&file);
    store.open_thread("t", "f").unwrap();
    store.write_values("t", &[("k".to_owned(), "v".to_owned())]).unwrap();
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    let reader = Arc::new(Store::open(&file.to_str().unwrap().parse().unwrap(), options).unwrap());
    assert_eq!(reader.list_values("t", &Range::default()).unwrap().len(), 1);
    for code in [
        reader.open_thread("t", "f").unwrap_err().kind(),
        reader.lock_thread("t").unwrap_err().kind(),
        reader.delete_all_values("t").unwrap_err().kind(),
        reader.commit("t", &Changes::default()).unwrap_err().kind(),
    ] {
        assert_eq!(code, "ReadOnly");
    }
}

#[test]
fn a_file_of_somebody_else_stays_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let open = || Store::open(&file.to_str().unwrap().parse().unwrap(), Options::default());
    std::fs::write(&file, b"a text of some length, which is no database at all").unwrap();
    assert_eq!(open().unwrap_err().kind(), "NotADatabase");
    std::fs::remove_file(&file).unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE files (name TEXT)").unwrap();
    drop(connection);
    assert_eq!(open().unwrap_err().kind(), "WrongSchema");
    let connection = rusqlite::Connection::open(&file).unwrap();
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_newer_table_is_written_only_where_its_rows_can_be() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    drop(open(&file));
    let change = |sql: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    change("ALTER TABLE thread_messages ADD COLUMN later TEXT");
    let store = open(&file);
    store.open_thread("t", "f").unwrap();
    store.commit("t", &Changes { messages: vec![message("m")], ..Changes::default() }).unwrap();
    drop(store);
    change(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'later TEXT', 'later TEXT NOT NULL')
         WHERE name = 'thread_messages'",
    );
    let location = file.to_str().unwrap().parse().unwrap();
    let error = Store::open(&location, Options::default()).unwrap_err();
    assert_eq!(error.kind(), "WrongSchema");
    assert!(error.to_string().contains("`later`"), "{error}");
    let read = Options { access: Access::ReadOnly, ..Options::default() };
    let store = Store::open(&location, read).unwrap();
    assert_eq!(store.list_messages("t", Part::default()).unwrap().len(), 1);
}

#[test]
fn a_file_that_was_removed_is_not_written_to() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let store = open(&file);
    store.open_thread("t", "f").unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(store.commit("t", &Changes::default()).unwrap_err().kind(), "Removed");
}

/// The log is moved on a thread of its own, which may begin when the store is closed already.
#[test]
fn nothing_stands_beside_the_file_of_a_store_that_wrote_much_and_is_closed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.db");
    for round in 0..8 {
        let store = open(&path);
        store.open_thread("t", "f").unwrap();
        let body_json = format!("\"{}\"", "x".repeat(60_000));
        for n in 0..100 {
            let message =
                NewMessage { body_json: body_json.clone(), ..message(&format!("{round}-{n}")) };
            store.commit("t", &Changes { messages: vec![message], ..Changes::default() }).unwrap();
        }
        store.close().unwrap();
        let names: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["t.db"], "after {round} rounds");
        drop(store);
    }
    let store = open(&path);
    assert_eq!(store.list_messages("t", Part::default()).unwrap().len(), 800);
}
