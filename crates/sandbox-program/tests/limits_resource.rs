//! What each process of a command is limited to.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "limits/command.rs"]
mod command;
#[path = "rules/user.rs"]
mod user;

use std::process::Command;
use std::{fs, io};

use child::{in_child, users};
use command::command;
use toolwright_sandbox::layers::{Bound, Layers};
use toolwright_sandbox::plan::Limits;
use toolwright_sandbox_program::limits::{GroupLimits, prepare};
use user::as_user;

#[test]
fn processor_time() {
    for user in users() {
        as_user(user, || {
            let limits = Limits { cpu_seconds: Some(1), ..Limits::default() };
            let prepared = prepare(&limits, &Layers::default(), GroupLimits::default());
            let spin = || -> u64 {
                loop {
                    std::hint::black_box(());
                }
            };
            assert_eq!(command(&prepared, spin).terminating_signal(), Some(libc::SIGXCPU));
            let spin_on = || -> u64 {
                // SAFETY: ignores a signal.
                unsafe { libc::signal(libc::SIGXCPU, libc::SIG_IGN) };
                loop {
                    std::hint::black_box(());
                }
            };
            assert_eq!(command(&prepared, spin_on).terminating_signal(), Some(libc::SIGKILL));
        });
    }
}

#[test]
fn file_size() {
    for user in users() {
        as_user(user, || {
            let limits = Limits { file_size_bytes: Some(4096), ..Limits::default() };
            let prepared = prepare(&limits, &Layers::default(), GroupLimits::default());
            let write = |bytes: u64| {
                let file = rustix::fs::memfd_create("file", rustix::fs::MemfdFlags::CLOEXEC);
                let mut file = fs::File::from(file.expect("file"));
                io::copy(&mut io::Read::take(io::repeat(1), bytes), &mut file)
            };
            let status = command(&prepared, || {
                let write = |bytes: u64| {
                    let file = rustix::fs::memfd_create("file", rustix::fs::MemfdFlags::CLOEXEC);
                    let mut file = fs::File::from(file.expect("file"));
                    io::copy(&mut io::Read::take(io::repeat(1), bytes), &mut file)
                };
                write(4096).expect("fits");
                u64::from(write(8192).is_err())
            });
            assert_eq!(status.terminating_signal(), Some(libc::SIGXFSZ));
            write(8192).expect("the worker itself has no such limit");
        });
    }
}

/// The limits of a command, as a program that it starts sees them.
#[test]
fn no_core_and_first_to_be_killed_for_memory() {
    for user in users() {
        as_user(user, || {
            let score = || -> i32 {
                let text = fs::read_to_string("/proc/self/oom_score_adj").expect("score");
                text.trim().parse().expect("number")
            };
            let before = score();
            let prepared = prepare(&Limits::default(), &Layers::default(), GroupLimits::default());
            assert_eq!((prepared.processes, prepared.memory), (Bound::Unused, Bound::Unused));
            // As the worker does; from then on its files in `/proc` are root's.
            let not = rustix::process::DumpableBehavior::NotDumpable;
            rustix::process::set_dumpable_behavior(not).expect("not dumpable");
            let status = command(&prepared, || {
                let output = Command::new("cat").arg("/proc/self/oom_score_adj").output();
                let text = String::from_utf8(output.expect("cat").stdout).expect("text");
                text.trim().parse::<u64>().expect("number") / 10
            });
            assert_eq!(status.exit_status(), Some((before + 500).min(1000) / 10));
            assert_eq!(score(), before, "the worker stays as it was");
            let status = command(&prepared, || {
                // For a limit of 0 the kernel starts the host's handler of cores.
                let limits = fs::read_to_string("/proc/self/limits").expect("limits");
                let line = limits.lines().find(|line| line.starts_with("Max core file size"));
                let words: Vec<&str> = line.expect("line").split_whitespace().collect();
                u64::from(words[4..6] != ["1", "1"])
            });
            assert_eq!(status.exit_status(), Some(0));
            let status = command(&prepared, || {
                // SAFETY: ends this child with a signal that would leave a core.
                unsafe { libc::abort() }
            });
            assert_eq!(status.terminating_signal(), Some(libc::SIGABRT));
        });
    }
}

#[test]
fn nothing_is_ever_raised() {
    for user in users() {
        as_user(user, || {
            rustix::process::setrlimit(
                rustix::process::Resource::Fsize,
                rustix::process::Rlimit { current: Some(1000), maximum: Some(2000) },
            )
            .expect("limit");
            for (asked, expected) in [(500, "500 500"), (1500, "1000 1500"), (9000, "1000 2000")] {
                let limits = Limits { file_size_bytes: Some(asked), ..Limits::default() };
                let prepared = prepare(&limits, &Layers::default(), GroupLimits::default());
                in_child(|| {
                    prepared.apply_in_child().expect("limits");
                    let text = fs::read_to_string("/proc/self/limits").expect("limits");
                    let line = text.lines().find(|line| line.starts_with("Max file size"));
                    let words: Vec<&str> = line.expect("line").split_whitespace().collect();
                    assert_eq!(words[3..5].join(" "), expected);
                });
            }
        });
    }
}
