//! How long the operations of a store take: `cargo run --release --example thread_times [FILE]`.
#![expect(clippy::print_stdout, reason = "it is a program that prints")]

use std::sync::Arc;
use std::time::Instant;

use toolwright_threads::{
    CallEnd, Changes, EndStatus, NewAttachment, NewCall, NewMessage, Options, Store, ThreadError,
};

const ROUNDS: u32 = 1000;

fn main() -> Result<(), ThreadError> {
    let location = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let store = Arc::new(Store::open(&location.parse()?, Options::default())?);
    store.open_thread("t", "f")?;
    timed("put", |n| store.write_values("t", &[(format!("k{n}"), "{\"a\":1}".to_owned())]))?;
    timed("get", |_| store.read_values("t", &["k1".to_owned()]).map(drop))?;
    let worker = store.lock_thread("t")?;
    timed("a call: queued, begun, committed", |n| {
        let enqueue = vec![call(n)];
        store.commit("t", &Changes { enqueue, ..Changes::default() })?;
        let Some(begun) = worker.claim("root")? else { return Ok(()) };
        let result_json = "1".to_owned();
        let finish = CallEnd { call_id: begun.id, status: EndStatus::Success, result_json };
        let messages = vec![message(n)];
        let changes = Changes { finish: Some(finish), messages, ..Changes::default() };
        store.commit("t", &changes).map(drop)
    })?;
    timed("attachment, 1 KB", |_| attach(&store, &[7; 1000]))?;
    let large = vec![7; 50 << 20];
    let started = Instant::now();
    attach(&store, &large)?;
    println!("{:34} {:9.1} ms", "attachment, 50 MB", started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn timed(
    what: &str,
    mut act: impl FnMut(u32) -> Result<(), ThreadError>,
) -> Result<(), ThreadError> {
    let started = Instant::now();
    for round in 0..ROUNDS {
        act(round)?;
    }
    println!("{what:34} {:9.1} µs", started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
    Ok(())
}

fn attach(store: &Arc<Store>, bytes: &[u8]) -> Result<(), ThreadError> {
    let (name, mime_type) = ("a.bin".to_owned(), "application/octet-stream".to_owned());
    let new = NewAttachment { name, mime_type, width: None, height: None };
    let mut upload = store.begin_upload("t", new)?;
    upload.append(bytes)?;
    let attachments = vec![upload.finish()?.path];
    store.commit("t", &Changes { attachments, ..Changes::default() }).map(drop)
}

fn call(n: u32) -> NewCall {
    NewCall {
        id: format!("c{n}"),
        name: "tool".to_owned(),
        arguments_json: "{}".to_owned(),
        queue: "root".to_owned(),
        force_allow: false,
        parent_call_id: None,
        info_json: None,
    }
}

fn message(n: u32) -> NewMessage {
    let (role, body_json) = ("tool".to_owned(), "{}".to_owned());
    NewMessage { id: format!("m{n}"), role, body_json, call_id: Some(format!("c{n}")) }
}
