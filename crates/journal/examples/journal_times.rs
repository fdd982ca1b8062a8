//! Times what a journal adds to a call.
//!
//! ```sh
//! cargo run --release -p toolwright-journal --example journal_times -- [DIRECTORY] [ROUNDS]
//! ```
//!
//! Each row: 10th percentile, median, 99th percentile and mean in microseconds. `row around a call` is
//! what a call with a side effect waits for: the intent before it and the outcome after it.

#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use toolwright_journal::{
    Finish, Intent, Journal, Location, Options, Order, Outcome, Synchronous, TaskId, keys,
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A call as an agent makes it: a test run, with a screenful of output.
fn intent(node: &str, seq: i64, side_effect: bool) -> Intent {
    Intent {
        task: TaskId {
            run_id: "01939f2e-7c55-7d3a-9c1b-5e0c6a7f8b90".to_owned(),
            node_id: node.to_owned(),
            iteration: 0,
        },
        attempt: 1,
        seq,
        tool_name: "bash".to_owned(),
        input_json: Some(
            r#"{"cmd":"node","args":["--test","src/parse.test.js"],"opts":{"cwd":"core"}}"#
                .to_owned(),
        ),
        started_at_ms: 1_790_000_000_000 + seq,
        side_effect,
        idempotent: !side_effect,
        accepts_idempotency_key: true,
        has_revert: false,
        idempotency_key: Some("smithers:01939f2e-7c55-7d3a-9c1b-5e0c6a7f8b90:fix:0".to_owned()),
        call_token: None,
        args_hash: Some("0123456789abcdef".repeat(4)),
        ordinal: Some(1),
    }
}

fn finish(size: usize) -> Finish {
    Finish {
        outcome: Outcome::Success { output_json: Some(format!("\"{}\"", "x".repeat(size))) },
        whole: false,
        finished_at_ms: 1_790_000_000_500,
    }
}

struct Times(Vec<f64>);

impl Times {
    fn of(rounds: i64, mut act: impl FnMut(i64) -> Result<Duration>) -> Result<Self> {
        let times = (0..rounds).map(|round| Ok(act(round)?.as_secs_f64() * 1e6));
        times.collect::<Result<_>>().map(Self)
    }

    fn print(mut self, name: &str) {
        self.0.sort_by(f64::total_cmp);
        let at = |part: usize| self.0.get(self.0.len() * part / 100).copied().unwrap_or(f64::NAN);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        println!("{name:<44} {:9.1} {:9.1} {:9.1} {mean:9.1}", at(10), at(50), at(99));
    }
}

fn open(directory: &Path, name: &str, options: Options) -> Result<Journal> {
    Ok(Journal::open(&Location::File(directory.join(name)), options)?)
}

fn around_a_call(directory: &Path, rounds: i64) -> Result<()> {
    let journal = open(directory, "one.db", Options::default())?;
    let mut halves = (Vec::new(), Vec::new());
    Times::of(rounds, |seq| {
        let (intent, finish) = (intent("fix", seq, true), finish(300));
        let started = Instant::now();
        let call = journal.begin(intent)?;
        let begun = started.elapsed();
        journal.finish(call, finish)?;
        let all = started.elapsed();
        halves.0.push(begun.as_secs_f64() * 1e6);
        halves.1.push(all.saturating_sub(begun).as_secs_f64() * 1e6);
        Ok(all)
    })?
    .print("row around a call");
    Times(halves.0).print("  intent");
    Times(halves.1).print("  outcome, 300 bytes");
    Times::of(rounds / 10, |seq| {
        let (intent, finish) = (intent("large", seq, true), finish(100_000));
        let started = Instant::now();
        let call = journal.begin(intent)?;
        journal.finish(call, finish)?;
        Ok(started.elapsed())
    })?
    .print("row around a call, output of 100 KB");
    Ok(())
}

fn behind(directory: &Path, rounds: i64) -> Result<()> {
    let journal = open(directory, "behind.db", Options::default())?;
    Times::of(rounds, |seq| {
        let (intent, finish) = (intent("fix", seq, false), finish(300));
        let started = Instant::now();
        journal.record(intent, finish)?;
        let time = started.elapsed();
        // A read takes some time, and then comes the next.
        thread::sleep(Duration::from_micros(20));
        Ok(time)
    })?
    .print("row of a read, written behind");
    journal.close()?;
    Ok(())
}

fn together(
    directory: &Path,
    name: &str,
    options: Options,
    rounds: i64,
    threads: i64,
) -> Result<()> {
    let file = format!("{name}-{threads}.db").replace(' ', "-");
    let journal = open(directory, &file, options)?;
    let started = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let journal = &journal;
                scope.spawn(move || -> Result<()> {
                    let node = format!("node {thread}");
                    for seq in 0..rounds {
                        let call = journal.begin(intent(&node, seq, true))?;
                        journal.finish(call, finish(300))?;
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err("a thread panicked".into()))
        })
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let each = started.elapsed().as_secs_f64() * 1e6 / (rounds * threads) as f64;
    println!("{:<44} {each:39.1}", format!("{name}, {threads} threads, wall time per call"));
    Ok(())
}

fn reading(directory: &Path) -> Result<()> {
    let journal = open(directory, "list.db", Options::default())?;
    for seq in 0..100_000 {
        journal.record(intent("fix", seq, false), finish(300))?;
    }
    journal.flush()?;
    let task = intent("fix", 0, false).task;
    let run = task.run_id.clone();
    let timed = |name: &str, act: &dyn Fn() -> Result<usize>| -> Result<()> {
        let times = Times::of(5, |_| {
            let started = Instant::now();
            if act()? == 0 {
                return Err("nothing was read".into());
            }
            Ok(started.elapsed())
        })?;
        times.print(name);
        Ok(())
    };
    timed("100,000 rows: list of a task", &|| Ok(journal.list(&task)?.len()))?;
    timed("100,000 rows: list of a run", &|| Ok(journal.list_run(&run, Order::Forward)?.len()))?;
    timed("100,000 rows: tail", &|| Ok(journal.tail(0, usize::MAX)?.len()))?;
    timed("100,000 rows: sums of the runs", &|| Ok(journal.list_runs()?.len()))?;
    timed("100,000 rows: the last 10", &|| Ok(journal.tail(99_990, 100)?.len()))?;
    Ok(())
}

fn beside(directory: &Path, rounds: i64) -> Result<()> {
    let arguments = r#"{"cmd":"node","args":["--test","src/parse.test.js"],"opts":{"cwd":"core"}}"#;
    let task = intent("fix", 0, true).task;
    Times::of(rounds, |_| {
        let started = Instant::now();
        let hash = keys::args_hash(arguments);
        let key = keys::call_idempotency_key(&task, "bash", &hash, 1);
        let time = started.elapsed();
        if key.is_empty() { Err("no key".into()) } else { Ok(time) }
    })?
    .print("hash of the arguments and key");
    let journal = open(directory, "locks.db", Options::default())?;
    Times::of(rounds / 10, |_| {
        let started = Instant::now();
        drop(journal.lock_task(&task, 1)?);
        Ok(started.elapsed())
    })?
    .print("lock of a task, taken and given back");
    Times::of(20, |round| {
        let started = Instant::now();
        open(directory, &format!("new-{round}.db"), Options::default())?.close()?;
        Ok(started.elapsed())
    })?
    .print("a new journal, opened and closed");
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds = arguments.next().map_or(Ok(20_000), |rounds| rounds.parse())?;
    let directory = base.join(format!("journal-times-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "microseconds", "10 %", "median", "99 %", "mean");
    around_a_call(&directory, rounds)?;
    behind(&directory, rounds)?;
    for threads in [2, 8] {
        together(&directory, "together", Options::default(), rounds / 4, threads)?;
    }
    let full = Options { synchronous: Synchronous::Full, ..Options::default() };
    for threads in [1, 8, 32] {
        together(&directory, "power-safe", full.clone(), rounds / 200, threads)?;
    }
    beside(&directory, rounds)?;
    reading(&directory)?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
