//! What a command costs, beside what it costs with the standard library alone.
//!
//! ```text
//! cargo run --release -p toolwright-exec --example timings -- [rounds] [ballast in MB]
//! ```
//!
//! All variants of a row are measured in turn, in changing order, in one process. With ballast the
//! process is made that large first: the cost of a start must not grow with it.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use toolwright_exec::{Cancel, Chunk, ExecRequest, Sink, Streams, run, run_streaming};

type Variant<'a> = (&'a str, Box<dyn Fn() + 'a>);

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let rounds = numbers.next().unwrap_or(200).max(1);
    let ballast = vec![1u8; numbers.next().unwrap_or(0) << 20];
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{rounds} rounds, {} MB of ballast; milliseconds: median / minimum / 90 %",
        ballast.len() >> 20
    )?;

    row(
        &mut out,
        "true",
        rounds,
        &[
            ("std, status alone", Box::new(std_status)),
            ("std, own group, pipe", Box::new(|| std_capture("true", &[]))),
            ("run, flag", Box::new(|| ours("true", &[], Streams::Joined, false))),
            ("run, Cancel", Box::new(|| ours("true", &[], Streams::Joined, true))),
            ("run, apart", Box::new(|| ours("true", &[], Streams::Apart, true))),
        ],
    )?;
    for megabytes in [1usize, 10] {
        let bytes = (megabytes * 1_000_000).to_string();
        let args = ["-c", &bytes, "/dev/zero"];
        row(
            &mut out,
            &format!("{megabytes} MB of output"),
            rounds.div_ceil(megabytes * 2),
            &[
                ("std, read and drop", Box::new(|| std_drain(&args))),
                ("std, captured", Box::new(|| std_capture("head", &args))),
                ("run, whole", Box::new(|| limited(&args, usize::MAX))),
                ("run, 200 KB", Box::new(|| limited(&args, 200_000))),
                ("run_streaming, whole", Box::new(|| streamed(&args, usize::MAX))),
            ],
        )?;
    }
    row(
        &mut out,
        "64 at once, wall",
        rounds.div_ceil(10),
        &[
            ("std, own group, pipe", Box::new(|| at_once(|| std_capture("true", &[])))),
            ("run, Cancel", Box::new(|| at_once(|| ours("true", &[], Streams::Joined, true)))),
        ],
    )?;
    latency(&mut out, rounds.min(50))
}

fn row(
    out: &mut dyn Write,
    title: &str,
    rounds: usize,
    variants: &[Variant<'_>],
) -> io::Result<()> {
    let mut times = vec![Vec::with_capacity(rounds); variants.len()];
    for round in 0..rounds + 3 {
        for offset in 0..variants.len() {
            let which = (round + offset) % variants.len();
            let started = Instant::now();
            variants[which].1();
            if round >= 3 {
                times[which].push(started.elapsed());
            }
        }
    }
    writeln!(out, "\n{title}")?;
    for ((name, _), times) in variants.iter().zip(&mut times) {
        writeln!(out, "  {name:<26}{}", summary(times))?;
    }
    Ok(())
}

fn summary(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let at = |part: usize| ms(times[(times.len() - 1) * part / 10]);
    format!("{:8.3} {:8.3} {:8.3}", at(5), at(0), at(9))
}

/// From `cancel()` in another thread to the return of `run`.
fn latency(out: &mut dyn Write, rounds: usize) -> io::Result<()> {
    writeln!(out, "\ncancel of a sleeping command, until run has returned")?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let cancel = Cancel::new();
        let args = ["30".to_owned()];
        let request = ExecRequest { cancel: &cancel, ..ExecRequest::new("sleep", &args) };
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let result = run(&request);
                (result.is_err(), Instant::now())
            });
            thread::sleep(Duration::from_millis(5));
            let started = Instant::now();
            cancel.cancel();
            if let Ok((true, returned)) = call.join() {
                times.push(returned - started);
            }
        });
    }
    writeln!(out, "  {:<26}{}", "Cancel", summary(&mut times))
}

fn at_once(call: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(&call);
        }
    });
}

fn ours(cmd: &str, args: &[&str], streams: Streams, wakes: bool) {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let request = ExecRequest { cwd: Path::new("/"), streams, ..ExecRequest::new(cmd, &args) };
    if wakes {
        let cancel = Cancel::new();
        assert!(run(&ExecRequest { cancel: &cancel, ..request }).is_ok());
    } else {
        assert!(run(&request).is_ok());
    }
}

fn limited(args: &[&str], max_output_bytes: usize) {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let request = ExecRequest { max_output_bytes, ..ExecRequest::new("head", &args) };
    assert!(run(&request).is_ok());
}

struct Count(usize);

impl Sink for Count {
    fn ready(&mut self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        self.0 += chunk.bytes.len();
    }
}

fn streamed(args: &[&str], max_output_bytes: usize) {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let request = ExecRequest { max_output_bytes, ..ExecRequest::new("head", &args) };
    let mut count = Count(0);
    assert!(run_streaming(&request, &mut count).is_ok() && count.0 >= 1_000_000);
}

fn std_status() {
    let status = Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()));
}

/// The least that does the same job.
fn std_capture(cmd: &str, args: &[&str]) {
    use std::os::unix::process::CommandExt;
    let Ok((mut reader, writer)) = io::pipe() else { return };
    let mut command = Command::new(cmd);
    command.args(args).current_dir("/").process_group(0).stdin(Stdio::null());
    let Ok(twin) = writer.try_clone() else { return };
    command.stdout(writer).stderr(twin);
    let Ok(mut child) = command.spawn() else { return };
    drop(command);
    let mut output = Vec::new();
    let _ = reader.read_to_end(&mut output);
    let _ = child.wait();
    assert_eq!(output.is_empty(), args.is_empty());
}

/// The speed of the pipe.
fn std_drain(args: &[&str]) {
    let Ok((mut reader, writer)) = io::pipe() else { return };
    let mut command = Command::new("head");
    let Ok(mut child) = command.args(args).stdout(writer).spawn() else { return };
    drop(command);
    let mut block = vec![0; 64 << 10];
    while reader.read(&mut block).is_ok_and(|count| count > 0) {}
    let _ = child.wait();
}
