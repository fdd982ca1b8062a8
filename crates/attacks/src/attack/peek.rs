//! The memory, the descriptors and the counters of another process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::arguments::Arguments;
use crate::outcome::{Attack, Named, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("ptrace-attach", ptrace_attach),
    ("ptrace-seize", ptrace_seize),
    ("ptrace-poke", ptrace_poke),
    ("memory-read", memory_read),
    ("memory-write", memory_write),
    ("proc-memory-read", proc_memory_read),
    ("proc-memory-write", proc_memory_write),
    ("take-descriptor", take_descriptor),
    ("compare", compare),
    ("advise", advise),
    ("count", count),
    ("descriptors", descriptors),
];

const STEP: usize = size_of::<libc::c_long>();

/// Attaches, and waits until the process has stopped.
fn attach(pid: i32) -> Result<(), Refused> {
    system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_ATTACH, pid, 0, 0)?;
    let mut status = 0_i32;
    system_call!("wait4", libc::SYS_wait4, pid, &raw mut status, libc::__WALL, 0)?;
    Ok(())
}

fn peek(pid: i32, address: usize, length: usize) -> Outcome {
    let mut bytes = Vec::new();
    for at in (0..length).step_by(STEP) {
        let mut word: libc::c_long = 0;
        let place = address + at;
        system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_PEEKDATA, pid, place, &raw mut word)?;
        bytes.extend(word.to_ne_bytes());
    }
    bytes.truncate(length);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ptrace_attach(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    attach(pid)?;
    let read = peek(pid, arguments.number(1)?, arguments.number(2)?);
    let _ = system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_DETACH, pid, 0, 0);
    read
}

fn ptrace_seize(arguments: &Arguments) -> Outcome {
    let pid = arguments.number::<i32>(0)?;
    system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_SEIZE, pid, 0, 0)?;
    system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_INTERRUPT, pid, 0, 0)?;
    let mut status = 0_i32;
    system_call!("wait4", libc::SYS_wait4, pid, &raw mut status, libc::__WALL, 0)?;
    let read = peek(pid, arguments.number(1)?, arguments.number(2)?);
    let _ = system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_DETACH, pid, 0, 0);
    read
}

fn ptrace_poke(arguments: &Arguments) -> Outcome {
    let pid = arguments.number(0)?;
    let address = arguments.number::<usize>(1)?;
    attach(pid)?;
    for (at, part) in arguments.text(2)?.as_bytes().chunks_exact(STEP).enumerate() {
        let word = libc::c_long::from_ne_bytes(part.try_into().unwrap_or_default());
        let place = address + at * STEP;
        system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_POKEDATA, pid, place, word)?;
    }
    system_call!("ptrace", libc::SYS_ptrace, libc::PTRACE_DETACH, pid, 0, 0)?;
    Ok(String::new())
}

fn memory_read(arguments: &Arguments) -> Outcome {
    let (pid, address) = (arguments.number::<i32>(0)?, arguments.number::<usize>(1)?);
    let mut bytes = vec![0_u8; arguments.number(2)?];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    let (call, number) = ("process_vm_readv", libc::SYS_process_vm_readv);
    let got = vectors(call, number, pid, &here, &there)?;
    Ok(String::from_utf8_lossy(&bytes[..got]).into_owned())
}

fn memory_write(arguments: &Arguments) -> Outcome {
    let (pid, address) = (arguments.number::<i32>(0)?, arguments.number::<usize>(1)?);
    let token = arguments.text(2)?;
    let here = libc::iovec { iov_base: token.as_ptr().cast_mut().cast(), iov_len: token.len() };
    let there = libc::iovec { iov_base: address as *mut _, iov_len: token.len() };
    let (call, number) = ("process_vm_writev", libc::SYS_process_vm_writev);
    vectors(call, number, pid, &here, &there)?;
    Ok(String::new())
}

fn vectors(
    call: &'static str,
    number: libc::c_long,
    pid: i32,
    here: &libc::iovec,
    there: &libc::iovec,
) -> Result<usize, Refused> {
    let (here, there, one) = (std::ptr::from_ref(here), std::ptr::from_ref(there), 1_usize);
    // SAFETY: both vectors live, and the first points to the caller's buffer.
    let result = unsafe { libc::syscall(number, pid, here, one, there, one, 0_usize) };
    crate::outcome::check(call, result)
}

fn proc_memory_read(arguments: &Arguments) -> Outcome {
    let mut bytes = vec![0_u8; arguments.number(2)?];
    let file = File::open(format!("/proc/{}/mem", arguments.text(0)?)).named("open")?;
    file.read_exact_at(&mut bytes, arguments.number(1)?).named("read")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn proc_memory_write(arguments: &Arguments) -> Outcome {
    let path = format!("/proc/{}/mem", arguments.text(0)?);
    let file = OpenOptions::new().write(true).open(path).named("open")?;
    file.write_all_at(arguments.text(2)?.as_bytes(), arguments.number(1)?).named("write")?;
    Ok(String::new())
}

fn take(pid: i32, descriptor: i32) -> Outcome {
    let process = system_call!("pidfd_open", libc::SYS_pidfd_open, pid, 0)?;
    let fd = system_call!("pidfd_getfd", libc::SYS_pidfd_getfd, process, descriptor, 0)?;
    let mut bytes = [0_u8; 256];
    let (place, length) = (bytes.as_mut_ptr(), bytes.len());
    let got = system_call!("pread", libc::SYS_pread64, fd, place, length, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..got]).into_owned())
}

fn take_descriptor(arguments: &Arguments) -> Outcome {
    take(arguments.number(0)?, arguments.number(1)?)
}

/// Where the memory of another process is, compared with ours: the order of kernel addresses.
fn compare(arguments: &Arguments) -> Outcome {
    let own = std::process::id();
    let order = system_call!("kcmp", libc::SYS_kcmp, arguments.number::<i32>(0)?, own, 1, 0, 0)?;
    Ok(format!("order {order}"))
}

/// Asks the kernel to page out memory of another process.
fn advise(arguments: &Arguments) -> Outcome {
    const COLD: i32 = 20;
    let pid = arguments.number::<i32>(0)?;
    let page = arguments.number::<usize>(1)? & !4095;
    let there = libc::iovec { iov_base: page as *mut _, iov_len: 4096 };
    let process = system_call!("pidfd_open", libc::SYS_pidfd_open, pid, 0)?;
    let number = libc::SYS_process_madvise;
    let got = system_call!("process_madvise", number, process, &raw const there, 1, COLD, 0)?;
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
    let number = libc::SYS_perf_event_open;
    let fd = system_call!("perf_event_open", number, attributes.as_ptr(), pid, -1, -1, 0)?;
    Ok(format!("descriptor {fd}"))
}

/// Reads whatever the descriptors hold that this program was started with, but for the first three.
fn descriptors(_: &Arguments) -> Outcome {
    let mut found = Vec::new();
    for fd in 3..1024 {
        let mut bytes = [0_u8; 256];
        let (place, length) = (bytes.as_mut_ptr(), bytes.len());
        if let Ok(got) = system_call!("pread", libc::SYS_pread64, fd, place, length, 0) {
            found.push(format!("{fd}: {}", String::from_utf8_lossy(&bytes[..got])));
        }
    }
    if found.is_empty() { Err(Refused::without_effect("read")) } else { Ok(found.join(" ")) }
}
