//! Signals to a process of another program.

use std::{fs, io};

use crate::arguments::Arguments;
use crate::outcome::{Done, Named, Outcome, Refused, attacks, system_call};

attacks! {
    kill, kill_all, tkill, tgkill, sigqueue, tgsigqueue, pidfd_signal, owner_signal,
}

fn kill(arguments: &Arguments) -> Outcome {
    system_call!(SYS_kill, arguments.number::<i32>(0)?, arguments.number::<i32>(1)?).done()
}

/// Every process whose environment holds a text, and that can be seen: as `killall` would.
fn kill_all(arguments: &Arguments) -> Outcome {
    let mark = arguments.text(0)?;
    let signal = arguments.number::<i32>(1)?;
    let mut hit = 0;
    for entry in fs::read_dir("/proc").named("open")? {
        let Ok(entry) = entry else { continue };
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environ).contains(mark) && pid as u32 != std::process::id() {
            hit += i32::from(system_call!(SYS_kill, pid, signal).is_ok());
        }
    }
    if hit == 0 { Err(Refused::without_effect("kill")) } else { Ok(format!("{hit} processes")) }
}

fn tkill(arguments: &Arguments) -> Outcome {
    system_call!(SYS_tkill, arguments.number::<i32>(0)?, arguments.number::<i32>(1)?).done()
}

fn tgkill(arguments: &Arguments) -> Outcome {
    let pid = arguments.number::<i32>(0)?;
    system_call!(SYS_tgkill, pid, pid, arguments.number::<i32>(1)?).done()
}

/// A `siginfo` of a process's own making: the number, no error, "queued".
fn information(signal: i32) -> [i32; 32] {
    let mut words = [0; 32];
    words[0] = signal;
    words[2] = -1;
    words
}

fn sigqueue(arguments: &Arguments) -> Outcome {
    let (pid, signal) = (arguments.number::<i32>(0)?, arguments.number::<i32>(1)?);
    system_call!(SYS_rt_sigqueueinfo, pid, signal, &information(signal)).done()
}

fn tgsigqueue(arguments: &Arguments) -> Outcome {
    let (pid, signal) = (arguments.number::<i32>(0)?, arguments.number::<i32>(1)?);
    system_call!(SYS_rt_tgsigqueueinfo, pid, pid, signal, &information(signal)).done()
}

fn pidfd_signal(arguments: &Arguments) -> Outcome {
    let (pid, signal) = (arguments.number::<i32>(0)?, arguments.number::<i32>(1)?);
    let fd = system_call!(SYS_pidfd_open, pid, 0)?;
    system_call!(SYS_pidfd_send_signal, fd, signal, 0, 0).done()
}

fn owner_signal(arguments: &Arguments) -> Outcome {
    by_owner(arguments.number(0)?, arguments.number(1)?)
}

/// A pipe whose news are signalled to another process: the kernel sends the signal, not we.
pub(crate) fn by_owner(pid: i32, signal: i32) -> Outcome {
    const SET_SIGNAL: i32 = 10;
    let (reader, mut writer) = io::pipe().named("pipe")?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&reader);
    system_call!("F_SETOWN", libc::SYS_fcntl, fd, libc::F_SETOWN, pid)?;
    system_call!("F_SETSIG", libc::SYS_fcntl, fd, SET_SIGNAL, signal)?;
    system_call!("F_SETFL", libc::SYS_fcntl, fd, libc::F_SETFL, libc::O_ASYNC)?;
    io::Write::write_all(&mut writer, b"x").named("write").done()
}
