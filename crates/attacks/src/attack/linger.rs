//! `attack linger HOW MARK SECONDS end|stay`: leaves processes behind that resist their end.
//!
//! A test finds them by `MARK` among their arguments. With `end` the first process ends at once;
//! with `stay` it stays until it is killed.

use std::thread;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::limits::fork;
use crate::outcome::{Outcome, Refused, attacks, say, system_call};

attacks! { linger }

fn linger(arguments: &Arguments) -> Outcome {
    let how = arguments.text(0)?;
    let seconds = Duration::from_secs(arguments.number(2)?);
    match how {
        "background" => drop(fork(|| thread::sleep(seconds))?),
        "no-hangup" => {
            ignore(&[libc::SIGHUP]);
            fork(|| thread::sleep(seconds))?;
        }
        "session" => drop(fork(|| own_session(seconds))?),
        "double-fork" => drop(fork(|| {
            let _ = fork(|| thread::sleep(seconds));
        })?),
        "daemon" => drop(fork(|| daemon(seconds))?),
        "deaf" => drop(fork(|| deaf(seconds))?),
        "stopped" => drop(fork(|| stopped(seconds))?),
        "hopping" => drop(fork(|| hop(seconds))?),
        "storm" => drop(fork(|| storm(seconds))?),
        "keeper" => drop(fork(|| keeper(seconds))?),
        "no-death-signal" => {
            let _ = system_call!(SYS_prctl, libc::PR_SET_PDEATHSIG, 0, 0, 0, 0);
            fork(|| own_session(seconds))?;
        }
        "headless" => drop(fork(|| headless(seconds))?),
        "traced" => drop(fork(|| traced(seconds))?),
        "vfork" => drop(fork(|| borrowed(seconds))?),
        "namespace" => drop(fork(|| apart(seconds))?),
        "crowd" => {
            for _ in 0..200 {
                fork(|| own_session(seconds))?;
            }
        }
        "self-stop" => stop_self(),
        _ => return Err(Refused::without_effect("arguments")),
    }
    // So that those left are on their way when the first process ends.
    thread::sleep(Duration::from_millis(20));
    say("left behind");
    if arguments.text(3)? == "stay" {
        thread::sleep(seconds);
    }
    Ok(String::new())
}

fn ignore(signals: &[i32]) {
    for signal in signals {
        // SAFETY: ignoring a signal runs no code of ours.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

fn session() {
    let _ = system_call!(SYS_setsid);
}

fn own_session(seconds: Duration) {
    session();
    thread::sleep(seconds);
}

/// As a program that means to stay does it: twice away, without a directory and without output.
fn daemon(seconds: Duration) {
    session();
    let _ = fork(|| {
        let _ = std::env::set_current_dir("/");
        for fd in 0..3 {
            let _ = system_call!(SYS_close, fd);
        }
        ignore(&[libc::SIGHUP]);
        thread::sleep(seconds);
    });
}

/// Ignores every signal that can be ignored, and blocks them all on top.
fn deaf(seconds: Duration) {
    ignore(&(1..=64).collect::<Vec<_>>());
    let all = u64::MAX;
    let (how, place) = (libc::SIG_BLOCK, &raw const all);
    let _ = system_call!(SYS_rt_sigprocmask, how, place, 0, 8);
    thread::sleep(seconds);
}

fn stop_self() {
    let own = std::process::id();
    let _ = system_call!(SYS_kill, own, libc::SIGSTOP);
}

/// A tree of which every process is stopped.
fn stopped(seconds: Duration) {
    session();
    let _ = fork(|| {
        let _ = fork(|| {
            stop_self();
            thread::sleep(seconds);
        });
        stop_self();
        thread::sleep(seconds);
    });
    stop_self();
    thread::sleep(seconds);
}

/// A process that is replaced by a child every few milliseconds, in another group and session.
fn hop(seconds: Duration) {
    let end = std::time::Instant::now() + seconds;
    while std::time::Instant::now() < end {
        let _ = system_call!(SYS_setpgid, 0, 0);
        match fork(session_mark) {
            Ok(0) => {}
            // The child continues where the parent ends.
            Ok(_) | Err(_) => thread::sleep(Duration::from_millis(2)),
        }
        let Ok(next) = split() else { break };
        if next {
            // SAFETY: ends the older of the two.
            unsafe { libc::_exit(0) };
        }
        session();
    }
}

fn session_mark() {
    session();
    thread::sleep(Duration::from_millis(5));
}

/// Forks; true in the older of the two.
fn split() -> Result<bool, Refused> {
    // SAFETY: this program has one thread here.
    let child = unsafe { libc::fork() };
    crate::outcome::check("fork", child.into())?;
    Ok(child != 0)
}

/// A number of processes that keep replacing themselves by new ones, faster than they can be
/// followed. Not faster than that: where the first process collects no children, each zombie stays.
fn storm(seconds: Duration) {
    let end = std::time::Instant::now() + seconds;
    for _ in 0..12 {
        let _ = fork(|| {
            session();
            while std::time::Instant::now() < end {
                match split() {
                    // SAFETY: ends the older of the two.
                    Ok(true) => unsafe { libc::_exit(0) },
                    Ok(false) => thread::sleep(Duration::from_millis(10)),
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        });
    }
    thread::sleep(seconds);
}

/// Becomes the parent of all orphans below it, so that no process above notices them.
fn keeper(seconds: Duration) {
    let number = libc::PR_SET_CHILD_SUBREAPER;
    let _ = system_call!(SYS_prctl, number, 1, 0, 0, 0);
    let _ = fork(|| {
        let _ = fork(|| own_session(seconds));
    });
    thread::sleep(seconds);
}

/// A process whose first thread has ended: it looks dead and lives.
fn headless(seconds: Duration) {
    thread::spawn(move || thread::sleep(seconds));
    let _ = system_call!(SYS_exit, 0);
}

/// A process that is held by a tracer.
fn traced(seconds: Duration) {
    session();
    let child = fork(|| thread::sleep(seconds));
    if let Ok(child) = child {
        let _ = system_call!(SYS_ptrace, libc::PTRACE_SEIZE, child, 0, 0);
        let _ = system_call!(SYS_ptrace, libc::PTRACE_INTERRUPT, child, 0, 0);
    }
    thread::sleep(seconds);
}

/// A process that waits in the kernel until its child lets go of its memory.
fn borrowed(seconds: Duration) {
    if let Ok(0) = system_call!(SYS_clone, libc::CLONE_VFORK | libc::SIGCHLD, 0, 0, 0, 0) {
        own_session(seconds);
    }
    thread::sleep(seconds);
}

/// A process in a namespace of its own, where it is the first.
fn apart(seconds: Duration) {
    let _ = system_call!(SYS_unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWPID);
    let _ = fork(|| own_session(seconds));
    thread::sleep(seconds);
}
