//! Attacks on the process that runs the commands: the parent, or the first process of the
//! namespace.

use std::os::unix::fs::FileExt;
use std::{fs, io};

use crate::arguments::Arguments;
use crate::outcome::{Attack, Named, Outcome, Refused, system_call};
use crate::priority;

pub(crate) const ATTACKS: &[Attack] = &[("siege", siege)];

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
    crate::signals::by_owner(who, libc::SIGKILL)?;
    std::thread::sleep(std::time::Duration::from_millis(50));
    Ok("signal by owner".to_owned())
}

/// The state of a process, and where its memory lies.
fn look(who: i32) -> Outcome {
    let mut seen = Vec::new();
    for name in ["environ", "maps", "auxv", "syscall", "stack", "personality"] {
        if std::fs::read(format!("/proc/{who}/{name}")).is_ok_and(|text| !text.is_empty()) {
            seen.push(name);
        }
    }
    if seen.is_empty() { Err(Refused::without_effect("open")) } else { Ok(seen.join(" ")) }
}

/// Time for a signal to do its work, while this process still runs.
fn signal(who: i32, signal: i32) -> Outcome {
    system_call!("kill", libc::SYS_kill, who, signal)?;
    std::thread::sleep(std::time::Duration::from_millis(50));
    Ok(format!("signal {signal}"))
}

fn trace(who: i32) -> Outcome {
    system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_SEIZE, who, 0, 0)?;
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
        let mut bytes = [0_u8; 64];
        let (place, length) = (bytes.as_mut_ptr(), bytes.len());
        let read = system_call!("pread", libc::SYS_pread64, fd, place, length, 0).unwrap_or(0);
        got.push(format!("{name}: {}", String::from_utf8_lossy(&bytes[..read])));
    }
    if got.is_empty() { Err(Refused::without_effect("pidfd_getfd")) } else { Ok(got.join(" ")) }
}

/// Writes to a descriptor that it could take: a reply that the host would take for its own
/// program's.
fn hijack(who: i32) -> Outcome {
    let junk = [0_u8; 64];
    let mut written = 0;
    for (_, fd) in taken(who)? {
        written +=
            usize::from(system_call!("write", libc::SYS_write, fd, junk.as_ptr(), 64).is_ok());
    }
    if written == 0 {
        Err(Refused::without_effect("write"))
    } else {
        Ok(format!("{written} written"))
    }
}

/// Shuts down the sockets it could take.
fn close(who: i32) -> Outcome {
    let mut closed = 0;
    for (_, fd) in taken(who)? {
        closed +=
            usize::from(system_call!("shutdown", libc::SYS_shutdown, fd, libc::SHUT_RDWR).is_ok());
    }
    if closed == 0 {
        Err(Refused::without_effect("shutdown"))
    } else {
        Ok(format!("{closed} closed"))
    }
}

fn taken(who: i32) -> Result<Vec<(String, usize)>, Refused> {
    let mut all = Vec::new();
    let process = system_call!("pidfd_open", libc::SYS_pidfd_open, who, 0);
    for number in 0..64 {
        let path = crate::arguments::c_string(&format!("/proc/{who}/fd/{number}"))?;
        let (here, flags) = (libc::AT_FDCWD, libc::O_RDWR | libc::O_NONBLOCK);
        if let Ok(fd) = system_call!("open", libc::SYS_openat, here, path.as_ptr(), flags, 0) {
            all.push((format!("opened {number}"), fd));
        }
        if let Ok(process) = process
            && let Ok(fd) = system_call!("getfd", libc::SYS_pidfd_getfd, process, number, 0)
        {
            all.push((format!("taken {number}"), fd));
        }
    }
    if all.is_empty() { Err(Refused::without_effect("open and pidfd_getfd")) } else { Ok(all) }
}
