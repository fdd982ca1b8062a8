//! A command exchanges what the host reads after other commands: the host waits for none of it, and grows by none.

use std::fmt::Write as _;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::{Grounds, PROJECT, factor, has_namespaces};
use crate::support::done_alone;

/// How many calls end during each run of the loop in an ordinary run. A soak has 10,000 in all.
const ORDINARY: u64 = 20;

/// How much longer the host may take for one call than it does beside a loop that exchanges nothing it reads.
const LONGER: Duration = Duration::from_millis(50);
/// What a machine that is busy adds to a single call.
const BUSY: Duration = Duration::from_secs(2);
/// How many kilobytes the host may grow by.
const GROWTH: u64 = 32 << 10;

/// What is exchanged for another thing, again and again.
const PLACES: &[&str] = &[
    ".git/HEAD",
    ".git/config",
    ".git/index",
    ".git/packed-refs",
    ".git/refs/heads/x",
    ".git/logs/HEAD",
    ".git/objects/00",
    ".git/objects/pack/pack-0000000000000000000000000000000000000000.pack",
    ".git/rebase-merge",
    ".git/MERGE_MSG",
    ".git/shallow",
    ".git/info/exclude",
    ".git/worktrees/new",
    ".git/modules/new",
    ".git/modules/sub/config",
    "new/.git/config",
    "new/.git/HEAD",
    "new/.git/refs",
    "new/.git/index",
    "new/.git/objects/00",
    "e/.git",
    "bare/HEAD",
    "bare/config",
    "bare/objects",
    "bare/refs",
    "f",
    ".vscode",
    ".mcp.json",
    "wt/.git",
    "sub/.git",
];

/// What it is exchanged for. `zero` and `tty` cannot be made, so links lead there.
fn kinds(entries: u64) -> String {
    format!(
        "mkdir -p k/dir k/bare/objects k/bare/refs k/many k/dot/.git; mkfifo k/pipe; ln -s /dev/zero k/zero; ln -s /dev/tty k/tty; ln -s loop k/loop; \
         truncate -s 10G k/huge; echo 'gitdir: ../k/bare' > k/lead; echo 'ref: refs/heads/main' > k/text; cp k/text k/bare/HEAD; cp /bin/true k/program; \
         perl -e 'use IO::Socket::UNIX; IO::Socket::UNIX->new(Local => q(k/socket), Listen => 1)'; \
         (cd k/many; seq 1 {entries} | xargs touch)"
    )
}

/// A loop of a command that never ends by itself.
fn exchange(entries: u64) -> String {
    let mut script = kinds(entries);
    script.push_str("; git init -q new; mkdir e; git init -q --bare bare; : > ready; until [ -e stop ]; do for k in pipe zero tty loop huge lead text dir bare many socket program; do ");
    for place in PLACES {
        // These move as they are, and not to another file system: to copy them takes too long.
        let moves = if place.contains(".git/") {
            String::new()
        } else {
            format!(
                "mv -T {place} k/kept; mv -T k/$k {place} && mv -T {place} k/$k; mv -T k/kept {place}"
            )
        };
        write!(
            script,
            "[ -e stop ] && exit; case $k in many|huge|socket) {moves};; *) cp -a k/$k k/x; rm -rf {place}; mv -T k/x {place}; rm -rf k/x;; esac; "
        )
        .expect("written");
    }
    script.push_str("done; done 2>/dev/null");
    script
}

/// The most memory that this process has had since the last time, in kilobytes.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    line.split_ascii_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
}

fn forget_memory() {
    fs::write("/proc/self/clear_refs", "5").expect("written");
}

/// How long each of some calls takes while a command is at work. They run no git: it would wait for what the other
/// command leaves in the fork.
fn calls(grounds: &Grounds, busy: &str, count: usize) -> Vec<Duration> {
    let root = grounds.root();
    let mut took = Vec::new();
    while took.len() < count {
        grounds.restore();
        thread::scope(|threads| {
            let command = threads.spawn(|| grounds.scene.confined(busy));
            let began = Instant::now();
            while !root.join("ready").exists() {
                // A million entries take their time.
                assert!(began.elapsed() < Duration::from_secs(100), "it begins");
                thread::sleep(Duration::from_millis(5));
            }
            // The loop is ended before its time is over.
            let ready = Instant::now();
            while took.len() < count && ready.elapsed() < Duration::from_secs(25) {
                let started = Instant::now();
                let (printed, _) =
                    grounds.scene.confined("touch e/y wt/y .git/y; rm -f e/y; echo still");
                took.push(started.elapsed());
                assert!(printed.contains("still\n"), "{printed}");
            }
            fs::write(root.join("stop"), "").expect("written");
            command.join().expect("it ends");
        });
    }
    took.sort_unstable();
    took
}

#[test]
fn what_is_exchanged_meanwhile_makes_the_host_neither_wait_nor_grow() {
    let name = "law::swaps::what_is_exchanged_meanwhile_makes_the_host_neither_wait_nor_grow";
    if !has_namespaces() || done_alone(name, "") {
        return;
    }
    let grounds = Grounds::new(PROJECT);
    let entries = if factor() < 100 { 20_000 } else { 1_000_000 };
    let count = usize::try_from(ORDINARY * factor().min(500)).expect("small");
    let idle = format!(
        "mkdir e; {}; : > ready; until [ -e stop ]; do for k in text dir; do cp -a k/$k k/x; rm -rf k/y; mv -T k/x k/y; done; done; true",
        kinds(10)
    );
    let usual = calls(&grounds, &idle, count.min(100));
    forget_memory();
    let before = most_memory();
    let took = calls(&grounds, &exchange(entries), count);
    let grown = most_memory().saturating_sub(before);
    let middle = |all: &[Duration]| all[all.len() / 2];
    let last = |all: &[Duration]| *all.last().expect("some");
    eprintln!(
        "{count} calls: {:?} and at most {:?}, usually {:?} and at most {:?}; {grown} KB more",
        middle(&took),
        last(&took),
        middle(&usual),
        last(&usual)
    );
    eprintln!("the slowest: {:?}", &took[took.len().saturating_sub(10)..]);
    assert!(last(&took) < last(&usual) + BUSY, "the host waits: {:?}", last(&took));
    assert!(middle(&took) < middle(&usual) * 2 + LONGER * 2, "the host waits: {:?}", middle(&took));
    assert!(grown < GROWTH, "it grows by {grown} KB");
}
