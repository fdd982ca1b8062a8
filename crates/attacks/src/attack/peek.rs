//! The memory, the descriptors and the counters of another process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::arguments::Arguments;
use crate::descriptors::{read_from_start, text};
use crate::outcome::{Done, Named, Outcome, Refused, attacks, system_call};

attacks! {
    ptrace_attach, ptrace_seize, ptrace_poke, memory_read, memory_write, proc_memory_read,
    proc_memory_write, take_descriptor, compare, advise, count, descriptors,
}

const STEP: usize = size_of::<libc::c_long>();

fn trace(request: impl Into<libc::c_long>, pid: i32) -> Outcome {
    system_call!(SYS_ptrace, request.into(), pid, 0, 0).done()
}

/// Waits until the process has stopped.
fn wait(pid: i32) -> Outcome {
    system_call!(SYS_wait4, pid, 0, libc::__WALL, 0).done()
}

fn peek(pid: i32, address: usize, length: usize) -> Outcome {
    let mut bytes = Vec::new();
    for at in (0..length).step_by(STEP) {
        let mut word: libc::c_long = 0;
        let place = address + at;
        system_call!(SYS_ptrace, libc::PTRACE_PEEKDATA, pid, place, &raw mut word)?;
        bytes.extend(word.to_ne_bytes());
    }
    bytes.truncate(length);
    Ok(text(&bytes))
}

fn peek_and_detach(pid: i32, arguments: &Arguments) -> Outcome {
    wait(pid)?;
    let read = peek(pid, arguments.number(1)?, arguments.number(2)?);
    let _ = trace(libc::PTRACE_DETACH, pid);
    read
}

fn ptrace_attach(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    trace(libc::PTRACE_ATTACH, pid)?;
    peek_and_detach(pid, arguments)
}

fn ptrace_seize(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    trace(libc::PTRACE_SEIZE, pid)?;
    trace(libc::PTRACE_INTERRUPT, pid)?;
    peek_and_detach(pid, arguments)
}

fn ptrace_poke(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    let address = arguments.number::<usize>(1)?;
    trace(libc::PTRACE_ATTACH, pid)?;
    wait(pid)?;
    for (at, part) in arguments.text(2)?.as_bytes().chunks_exact(STEP).enumerate() {
        let word = libc::c_long::from_ne_bytes(part.try_into().unwrap_or_default());
        let place = address + at * STEP;
        system_call!(SYS_ptrace, libc::PTRACE_POKEDATA, pid, place, word)?;
    }
    trace(libc::PTRACE_DETACH, pid)
}

fn memory_read(arguments: &Arguments) -> Outcome {
    let (pid, address) = (arguments.number::<i32>(0)?, arguments.number::<usize>(1)?);
    let mut bytes = vec![0_u8; arguments.number(2)?];
    // Each is one `struct iovec`: an address and a length.
    let here = [bytes.as_mut_ptr() as usize, bytes.len()];
    let there = [address, bytes.len()];
    let got = system_call!(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0)?;
    Ok(text(&bytes[..got]))
}

fn memory_write(arguments: &Arguments) -> Outcome {
    let (pid, address) = (arguments.number::<i32>(0)?, arguments.number::<usize>(1)?);
    let token = arguments.text(2)?;
    let here = [token.as_ptr() as usize, token.len()];
    let there = [address, token.len()];
    system_call!(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0).done()
}

fn proc_memory_read(arguments: &Arguments) -> Outcome {
    let mut bytes = vec![0_u8; arguments.number(2)?];
    let file = File::open(format!("/proc/{}/mem", arguments.text(0)?)).named("open")?;
    file.read_exact_at(&mut bytes, arguments.number(1)?).named("read")?;
    Ok(text(&bytes))
}

fn proc_memory_write(arguments: &Arguments) -> Outcome {
    let path = format!("/proc/{}/mem", arguments.text(0)?);
    let file = OpenOptions::new().write(true).open(path).named("open")?;
    file.write_all_at(arguments.text(2)?.as_bytes(), arguments.number(1)?).named("write").done()
}

fn take_descriptor(arguments: &Arguments) -> Outcome {
    let (pid, descriptor) = (arguments.number::<i32>(0)?, arguments.number::<i32>(1)?);
    let process = system_call!(SYS_pidfd_open, pid, 0)?;
    let fd = system_call!(SYS_pidfd_getfd, process, descriptor, 0)?;
    read_from_start(fd)
}

/// Where the memory of another process is, compared with ours: the order of kernel addresses.
fn compare(arguments: &Arguments) -> Outcome {
    let own = std::process::id();
    let order = system_call!(SYS_kcmp, arguments.number::<i32>(0)?, own, 1, 0, 0)?;
    Ok(format!("order {order}"))
}

/// Asks the kernel to page out memory of another process.
fn advise(arguments: &Arguments) -> Outcome {
    const COLD: i32 = 20;
    let pid = arguments.number::<i32>(0)?;
    let page = arguments.number::<usize>(1)? & !4095;
    let there = libc::iovec { iov_base: page as *mut _, iov_len: 4096 };
    let process = system_call!(SYS_pidfd_open, pid, 0)?;
    let got = system_call!(SYS_process_madvise, process, &raw const there, 1, COLD, 0)?;
    Ok(format!("{got} bytes"))
}

/// Counts what another process does.
fn count(arguments: &Arguments) -> Outcome {
    const SOFTWARE: u32 = 1;
    const SIZE: u32 = 128;
    let mut attributes = [0_u8; SIZE as usize];
    attributes[..4].copy_from_slice(&SOFTWARE.to_ne_bytes());
    attributes[4..8].copy_from_slice(&SIZE.to_ne_bytes());
    // Without the kernel and the hypervisor: the events that an ordinary user may count.
    attributes[40] = 0b110_0000;
    let pid = arguments.number::<i32>(0)?;
    let fd = system_call!(SYS_perf_event_open, &attributes, pid, -1, -1, 0)?;
    Ok(format!("descriptor {fd}"))
}

/// Reads whatever the descriptors hold that this program was started with, but for the first three.
fn descriptors(_: &Arguments) -> Outcome {
    let mut leaks = Vec::new();
    for fd in 3..1024 {
        if let Ok(text) = read_from_start(fd) {
            leaks.push(format!("{fd}: {text}"));
        }
    }
    if leaks.is_empty() { Err(Refused::without_effect("read")) } else { Ok(leaks.join(" ")) }
}
