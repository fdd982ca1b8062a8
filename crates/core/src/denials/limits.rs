//! Limits of a command that it has met.

use toolwright_exec::Exit;

use super::{Denial, Ended, Layer};
use crate::command::end::End;
use crate::voice::Door;

/// `SIGXCPU` and `SIGXFSZ`, and the codes with which a shell reports them.
const CPU: (i32, i32) = (24, 128 + 24);
const FILE_SIZE: (i32, i32) = (25, 128 + 25);

/// How programs say that a process or a thread could not be started for want of room. All words of one
/// entry are in one line.
const PROCESSES: [&[&str]; 11] = [
    &["fork", "resource temporarily unavailable"],
    &["cannot fork"],
    &["can't fork"],
    &["spawn", "eagain"],
    &["can't start new thread"],
    &["can't create thread"],
    &["err_worker_init_failed"],
    &["unable to create", "native thread"],
    &["failed to create new os thread"],
    &["failed to spawn thread", "resource temporarily unavailable"],
    &["thread constructor failed", "resource temporarily unavailable"],
];

/// How they say that the system has refused them memory. That V8 has no more room in its own heap is its own
/// limit.
const MEMORY: [&[&str]; 13] = [
    &["err_memory_allocation_failed"],
    &["array buffer allocation failed"],
    &["could not reserve enough space"],
    &["reserveshadowmemoryrange failed"],
    &["memoryerror"],
    &["cannot allocate memory"],
    &["can't allocate memory"],
    &["enomem"],
    &["std::bad_alloc"],
    &["memory exhausted"],
    &["virtual memory exhausted"],
    &["memory allocation of", "bytes failed"],
    &["runtime: out of memory"],
];

const FILE_SIZES: [&[&str]; 3] = [&["file too large"], &["efbig"], &["file size limit exceeded"]];
const CPU_TIMES: [&[&str]; 2] = [&["cpu time limit exceeded"], &["cputime limit exceeded"]];

pub(super) fn denials(ended: &Ended<'_>, printed: &[&str]) -> Vec<Denial> {
    let limits = &ended.plan.limits;
    let is_tools = ended.door == Door::Tools;
    let limit = |subject: &str, option: Option<&'static str>| Denial {
        layer: Layer::Limits,
        subject: subject.to_owned(),
        option,
    };
    // A session has no options for these.
    let option = |name: &'static str| is_tools.then_some(name);
    let facts = ended.facts;
    let mut all = Vec::new();
    if ended.end.is_timeout() {
        let option = if is_tools { "toolTimeoutMs" } else { "timeout_ms" };
        all.push(limit("time", Some(option)));
    }
    all.extend(facts.fork_full.map(|_| fork_is_full(ended.door)));
    let says = |phrases: &[&[&str]]| printed.iter().any(|text| says(text, phrases));
    let is_by = |(signal, code): (i32, i32)| match ended.end {
        End::Exited(Exit::Signal { number, .. }) => *number == signal,
        End::Exited(Exit::Code(exit)) => *exit == code,
        End::TimedOut => false,
    };
    // Where the kernel counts, the words decide nothing.
    let counted = |count: Option<u32>, says: &dyn Fn() -> bool| match count {
        Some(count) => count > 0,
        None => says(),
    };
    let says_forks = || says(&PROCESSES) || cannot_fork(ended, printed);
    if limits.processes.is_some() && counted(facts.refused_processes, &says_forks) {
        all.push(limit("processes", option("sandbox.limits.processes")));
    }
    if limits.memory_bytes.is_some() && counted(facts.memory_kills, &|| says(&MEMORY)) {
        all.push(limit("memory", option("sandbox.limits.memoryBytes")));
    }
    if limits.cpu_seconds.is_some() && (is_by(CPU) || says(&CPU_TIMES)) {
        all.push(limit("processor time", option("sandbox.limits.cpuSeconds")));
    }
    if limits.file_size_bytes.is_some() && (is_by(FILE_SIZE) || says(&FILE_SIZES)) {
        all.push(limit("file size", option("sandbox.limits.fileSizeBytes")));
    }
    all
}

/// It was stopped, because the fork that it ran in has more bytes than it may.
pub(crate) fn fork_is_full(door: Door) -> Denial {
    let option = (door == Door::Tools).then_some("openFork.maxBytes");
    Denial { layer: Layer::Limits, subject: "fork size".to_owned(), option }
}

/// Python says `BlockingIOError` of a fork, in a line of its own, and of a lock that is taken.
fn cannot_fork(ended: &Ended<'_>, printed: &[&str]) -> bool {
    let forks = |text: &str| text.contains("fork");
    printed.iter().any(|text| text.contains("BlockingIOError: [Errno 11]"))
        && (printed.iter().any(|text| forks(text))
            || ended.command.1.iter().any(|text| forks(text)))
}

fn says(text: &str, phrases: &[&[&str]]) -> bool {
    text.lines().any(|line| {
        let line = line.to_lowercase();
        phrases.iter().any(|words| words.iter().all(|word| line.contains(word)))
    })
}
