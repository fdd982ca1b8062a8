//! What stops a command that uses too much, by each of the means there are.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "limits/command.rs"]
mod command;
#[path = "rules/user.rs"]
mod user;
#[path = "limits/worker.rs"]
mod worker;

use std::time::Duration;
use std::{fs, io};

use child::{User, in_child, users};
use command::command;
use toolwright_sandbox::layers::{Bound, Layers};
use toolwright_sandbox::plan::Limits;
use toolwright_sandbox_program::limits::{GroupLimits, Groups, Prepared, prepare};
use user::{as_user, become_user};
use worker::{Namespaces, in_namespaces};

const PROCESSES: u64 = 50;
const MEMORY: u64 = 64 << 20;

fn processes() -> Limits {
    Limits { processes: Some(PROCESSES), ..Limits::default() }
}

fn memory() -> Limits {
    Limits { memory_bytes: Some(MEMORY), ..Limits::default() }
}

/// Starts children that do nothing until no more can be started; how many there were, if what
/// stopped it was a bound.
fn fork_until_refused() -> u64 {
    let mut children = Vec::new();
    let error = loop {
        // SAFETY: the child does nothing but wait.
        match unsafe { libc::fork() } {
            0 => loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            },
            -1 => break io::Error::last_os_error(),
            pid => children.push(pid),
        }
        assert!(children.len() < 2000, "nothing stops it");
    };
    for pid in &children {
        // SAFETY: a child of ours, not waited for yet.
        unsafe {
            libc::kill(*pid, libc::SIGKILL);
            libc::waitpid(*pid, std::ptr::null_mut(), 0);
        }
    }
    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
    children.len() as u64
}

/// As [`fork_until_refused`] for a command; never more than fits into an exit code.
fn count_of_forks(prepared: &Prepared) -> u64 {
    let status = command(prepared, || fork_until_refused().min(250));
    u64::try_from(status.exit_status().expect("counted")).expect("a number")
}

/// Removes the rest at the end of a failed test.
struct Sweep(Limits);

impl Drop for Sweep {
    fn drop(&mut self) {
        drop(Groups::find(&self.0));
    }
}

#[test]
fn a_control_group_bounds_processes() {
    for user in users() {
        let _sweep = Sweep(processes());
        in_child(|| {
            if user == User::Nobody {
                become_user(user);
            }
            let group = Groups::find(&processes()).make(&Layers::default());
            let group_limits = group.enter();
            // The child is in it, so that it is the next one's to remove.
            std::mem::forget(group);
            if !group_limits.processes {
                eprintln!("skipped as {user:?}: no control group for processes here");
                return;
            }
            become_user(user);
            let prepared = prepare(&processes(), &Layers::default(), group_limits);
            assert_eq!(prepared.processes, Bound::ControlGroup);
            // The command's first process counts, and starts the others.
            assert_eq!(count_of_forks(&prepared), PROCESSES - 1);
            assert_eq!(count_of_forks(&prepared), PROCESSES - 1, "and again");
        });
    }
}

#[test]
fn the_process_namespace_bounds_processes() {
    for user in users() {
        for with_user in [false, true] {
            if user == User::Nobody && !with_user {
                continue;
            }
            in_child(|| {
                // Root keeps the capabilities to make namespaces for now.
                if user == User::Nobody {
                    become_user(user);
                }
                let host = fs::read("/proc/sys/kernel/pid_max").expect("number");
                let namespaces = Namespaces { user: with_user, pid: true };
                in_namespaces(namespaces, || {
                    let prepared =
                        prepare(&processes(), &namespaces.layers(), GroupLimits::default());
                    if prepared.processes != Bound::Namespace {
                        let release = rustix::system::uname();
                        panic!("{:?} on {:?}", prepared.processes, release.release());
                    }
                    let max = PROCESSES + 300;
                    // While its numbers are fresh, there are some hundred more.
                    let status = command(&prepared, || {
                        let count = fork_until_refused();
                        u64::from(!(PROCESSES - 1..PROCESSES + 300).contains(&count))
                    });
                    assert_eq!(status.exit_status(), Some(0), "no more than {max}");
                    for _ in 0..3 {
                        assert_eq!(count_of_forks(&prepared), PROCESSES - 1);
                    }
                });
                assert_eq!(fs::read("/proc/sys/kernel/pid_max").expect("number"), host);
            });
        }
    }
}

#[test]
fn a_bomb_of_forks_stays_bounded_and_the_worker_alive() {
    for user in users() {
        in_child(|| {
            if user == User::Nobody {
                become_user(user);
            }
            let namespaces = Namespaces { user: true, pid: true };
            in_namespaces(namespaces, || {
                let prepared = prepare(&processes(), &namespaces.layers(), GroupLimits::default());
                assert_eq!(prepared.processes, Bound::Namespace);
                // SAFETY: this process has one thread.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    prepared.apply_in_child().expect("limits");
                    loop {
                        // SAFETY: every copy only forks.
                        unsafe { libc::fork() };
                    }
                }
                std::thread::sleep(Duration::from_millis(300));
                // The crowd would leave this process no time to count it.
                // SAFETY: the signal goes to the other processes of this namespace alone.
                unsafe { libc::kill(-1, libc::SIGSTOP) };
                let entries = fs::read_dir("/proc").expect("proc").flatten();
                let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                let count = names.filter(|name| name.parse::<u32>().is_ok()).count() as u64;
                assert!((PROCESSES..=PROCESSES + 301).contains(&count), "{count}");
                // SAFETY: all others in this namespace.
                unsafe { libc::kill(-1, libc::SIGKILL) };
                while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
                assert_eq!(count_of_forks(&prepared), PROCESSES - 1);
            });
        });
    }
}

#[test]
fn a_resource_limit_bounds_processes_of_all_but_root() {
    for user in users() {
        for with_user in [false, true] {
            in_child(|| {
                if user == User::Nobody {
                    become_user(user);
                }
                let namespaces = Namespaces { user: with_user, pid: false };
                in_namespaces(namespaces, || {
                    if user == User::Root {
                        become_user(user);
                    }
                    let prepared =
                        prepare(&processes(), &namespaces.layers(), GroupLimits::default());
                    if user == User::Root {
                        // The kernel does not count those of the system's root.
                        assert_eq!(prepared.processes, Bound::Nothing);
                        return;
                    }
                    assert_eq!(prepared.processes, Bound::ResourceLimit);
                    let status = command(&prepared, || {
                        let text = fs::read_to_string("/proc/loadavg").expect("tasks");
                        let all = text.split([' ', '/']).nth(4).expect("number");
                        let all: u64 = all.parse().expect("number");
                        let count = fork_until_refused();
                        u64::from(!(PROCESSES - 4..PROCESSES + all + 50).contains(&count))
                    });
                    assert_eq!(status.exit_status(), Some(0));
                    if with_user {
                        // Processes outside do not count; the worker and the process that waits for
                        // it do.
                        let count = count_of_forks(&prepared);
                        assert!((PROCESSES - 4..PROCESSES).contains(&count), "{count}");
                    }
                });
            });
        }
    }
}

/// Touches a lot of memory: 0 when it could, 1 when it was refused.
fn use_memory(bytes: usize) -> u64 {
    let mut memory: Vec<u8> = Vec::new();
    if memory.try_reserve_exact(bytes).is_err() {
        return 1;
    }
    memory.resize(bytes, 1);
    std::hint::black_box(&memory);
    0
}

fn hog() -> u64 {
    use_memory(256 << 20)
}

/// Four that stay below the limit each, and are above it together; how many were killed.
fn hogs() -> u64 {
    let pids = [(); 4].map(|()| {
        // SAFETY: this process has one thread.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let mut memory = vec![1u8; 40 << 20];
            std::hint::black_box(&mut memory);
            std::thread::sleep(Duration::from_millis(300));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) }
        }
        pid
    });
    let killed = pids.iter().filter(|pid| {
        let mut status = 0;
        // SAFETY: room for the status.
        unsafe { libc::waitpid(**pid, &raw mut status, 0) };
        status == libc::SIGKILL
    });
    killed.count() as u64
}

#[test]
fn a_control_group_bounds_the_memory_of_all_together() {
    if users().is_empty() {
        return;
    }
    let _sweep = Sweep(memory());
    in_child(|| {
        let group = Groups::find(&memory()).make(&Layers::default());
        let group_limits = group.enter();
        std::mem::forget(group);
        if !group_limits.memory {
            eprintln!("skipped: no control group for memory here");
            return;
        }
        let prepared = prepare(&memory(), &Layers::default(), group_limits);
        assert_eq!(prepared.memory, Bound::ControlGroup);
        assert_eq!(command(&prepared, || use_memory(16 << 20)).exit_status(), Some(0));
        assert_eq!(command(&prepared, hog).terminating_signal(), Some(libc::SIGKILL));
        let killed = command(&prepared, hogs).exit_status();
        // The kernel chooses their number: a killed process frees its memory a moment later.
        assert!((1..=4).contains(&killed.expect("the command itself lives")), "{killed:?}");
        // A file in memory is memory.
        let status = command(&prepared, || {
            let file = rustix::fs::memfd_create("hog", rustix::fs::MemfdFlags::CLOEXEC);
            let mut file = fs::File::from(file.expect("file"));
            u64::from(io::copy(&mut io::Read::take(io::repeat(1), 256 << 20), &mut file).is_err())
        });
        assert_eq!(status.terminating_signal(), Some(libc::SIGKILL));
    });
}

#[test]
fn a_resource_limit_bounds_the_memory_of_each() {
    for user in users() {
        as_user(user, || {
            let prepared = prepare(&memory(), &Layers::default(), GroupLimits::default());
            assert_eq!(prepared.memory, Bound::ResourceLimit);
            assert_eq!(command(&prepared, || use_memory(16 << 20)).exit_status(), Some(0));
            assert_eq!(command(&prepared, hog).exit_status(), Some(1), "refused");
            assert_eq!(command(&prepared, hogs).exit_status(), Some(0), "each has its own");
            assert_eq!(use_memory(128 << 20), 0, "the worker itself has no such limit");
        });
    }
}
