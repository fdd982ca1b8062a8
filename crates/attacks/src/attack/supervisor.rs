//! Attacks on the process that runs the commands: the parent, or the first process of the
//! namespace.

use std::os::unix::fs::FileExt;
use std::time::Duration;
use std::{fs, io, thread};

use crate::arguments::{Arguments, c_string};
use crate::descriptors::{open, read_from_start, write};
use crate::outcome::{Named, Outcome, Refused, attacks, system_call};
use crate::{priority, signals};

/// Time for a signal to do its work, while this process still runs.
const EFFECT: Duration = Duration::from_millis(50);

attacks! { siege }

/// `siege HOST-NAMESPACE WHO HOW`: `WHO` is `parent`, or a process of the own namespace such as `1`
/// or `-1`. The latter only runs where the namespace is not that of the host, as its name shows.
fn siege(arguments: &Arguments) -> Outcome {
    let who = if arguments.text(1)? == "parent" {
        // SAFETY: takes nothing and cannot fail.
        unsafe { libc::getppid() }
    } else {
        let own = fs::read_link("/proc/self/ns/pid").named("readlink")?;
        if own.to_string_lossy() == arguments.text(0)? {
            let error = io::Error::other("this is the namespace of the host: spared");
            return Err(Refused::new("siege", error));
        }
        arguments.number(1)?
    };
    match arguments.text(2)? {
        "end" => signal(who, libc::SIGTERM),
        "kill" => signal(who, libc::SIGKILL),
        "stop" => signal(who, libc::SIGSTOP),
        "trace" => trace(who),
        "overwrite" => overwrite(who),
        "steal" => steal(who),
        "hijack" => hijack(who),
        "close" => close(who),
        "owner" => owned_signal(who),
        "look" => look(who),
        how => priority::change(how, who),
    }
}

/// By the kernel, which sends a signal for a pipe whose owner is set to that process.
fn owned_signal(who: i32) -> Outcome {
    signals::by_owner(who, libc::SIGKILL)?;
    thread::sleep(EFFECT);
    Ok("signal by owner".to_owned())
}

/// The state of a process, and where its memory lies.
fn look(who: i32) -> Outcome {
    let mut seen = Vec::new();
    for name in ["environ", "maps", "auxv", "syscall", "stack", "personality"] {
        if fs::read(format!("/proc/{who}/{name}")).is_ok_and(|text| !text.is_empty()) {
            seen.push(name);
        }
    }
    if seen.is_empty() { Err(Refused::without_effect("open")) } else { Ok(seen.join(" ")) }
}

fn signal(who: i32, signal: i32) -> Outcome {
    system_call!(SYS_kill, who, signal)?;
    thread::sleep(EFFECT);
    Ok(format!("signal {signal}"))
}

fn trace(who: i32) -> Outcome {
    system_call!(SYS_ptrace, libc::PTRACE_SEIZE, who, 0, 0)?;
    Ok("traced".to_owned())
}

/// Fills the stack of the process with zeros.
fn overwrite(who: i32) -> Outcome {
    let maps = fs::read_to_string(format!("/proc/{who}/maps")).named("open maps")?;
    let stack = maps.lines().find(|line| line.ends_with("[stack]")).unwrap_or_default();
    let mut ends = stack.split([' ', '-']).map(|text| u64::from_str_radix(text, 16).unwrap_or(0));
    let (from, to) = (ends.next().unwrap_or(0), ends.next().unwrap_or(0));
    let memory =
        fs::OpenOptions::new().write(true).open(format!("/proc/{who}/mem")).named("open mem")?;
    memory.write_all_at(&vec![0; (to - from) as usize], from).named("write")?;
    Ok(format!("{} bytes overwritten", to - from))
}

/// Takes every descriptor it can, by both ways there are, and reads what they hold.
fn steal(who: i32) -> Outcome {
    let mut got = Vec::new();
    for (name, fd) in taken(who)? {
        got.push(format!("{name}: {}", read_from_start(fd).unwrap_or_default()));
    }
    if got.is_empty() { Err(Refused::without_effect("pidfd_getfd")) } else { Ok(got.join(" ")) }
}

/// Writes to a descriptor that it could take: a reply that the host would take for its own
/// program's.
fn hijack(who: i32) -> Outcome {
    let junk = "\0".repeat(64);
    let written = taken(who)?.into_iter().filter(|(_, fd)| write(*fd, &junk).is_ok()).count();
    if written == 0 {
        return Err(Refused::without_effect("write"));
    }
    Ok(format!("{written} written"))
}

/// Shuts down the sockets it could take.
fn close(who: i32) -> Outcome {
    let shut_down = |fd: usize| system_call!(SYS_shutdown, fd, libc::SHUT_RDWR);
    let closed = taken(who)?.into_iter().filter(|(_, fd)| shut_down(*fd).is_ok()).count();
    if closed == 0 {
        return Err(Refused::without_effect("shutdown"));
    }
    Ok(format!("{closed} closed"))
}

fn taken(who: i32) -> Result<Vec<(String, usize)>, Refused> {
    let mut all = Vec::new();
    let process = system_call!(SYS_pidfd_open, who, 0);
    for number in 0..64 {
        let path = c_string(&format!("/proc/{who}/fd/{number}"))?;
        if let Ok(fd) = open(&path, libc::O_RDWR | libc::O_NONBLOCK) {
            all.push((format!("opened {number}"), fd));
        }
        if let Ok(process) = process
            && let Ok(fd) = system_call!(SYS_pidfd_getfd, process, number, 0)
        {
            all.push((format!("taken {number}"), fd));
        }
    }
    if all.is_empty() { Err(Refused::without_effect("open and pidfd_getfd")) } else { Ok(all) }
}
