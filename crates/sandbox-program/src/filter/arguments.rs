//! Calls that depend on an argument, beside those about sockets.

use super::FilterError;
use super::assembler::{Assembler, At, Test, high, low};

// They put words into a terminal's input, or load a line discipline into the kernel.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
const TIOCSETD: u32 = 0x5423;

/// Every namespace that `clone` can make. In `clone`, unlike `unshare`, the bit of the time namespace
/// belongs to the signal number.
const CLONE_NEW: u32 = 0x7E02_0000;

/// What `unshare` may separate: `CLONE_VM`, `_FS`, `_FILES`, `_SIGHAND`, `_THREAD` and `_SYSVSEM`.
/// Later kernels give a meaning to more bits.
const UNSHARE_HARMLESS: u32 = 0x0005_0F00;

const RLIMIT_CORE: u32 = 4;

const F_SETLEASE: u32 = 1024;
const F_SETDELEG: u32 = 1024 + 16;

/// The number of the worker in a process namespace of its own.
const WORKER: u32 = 1;

const PRIO_USER: u32 = 2;
const IOPRIO_WHO_USER: u32 = 3;

/// The bits that let a program run with the rights of its owner or group, and those of `open` with
/// which it makes a file and looks at the mode.
const SET_ID: u32 = 0o6000;
const O_CREAT: u32 = 0o100;
const O_TMPFILE: u32 = 0o20_000_000;

/// A mode in that argument, without the bits that lend rights. What a command leaves in the root
/// stays there after it, for others to run.
pub(super) fn mode(asm: &mut Assembler, argument: u32) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let bits = asm.branch(Test::AnyBit, SET_ID, refuse, allow)?;
    Ok(asm.load(low(argument), bits))
}

/// The same for a file that `open` makes; its flags are in the argument before the mode.
pub(super) fn open(asm: &mut Assembler, argument: u32) -> Result<At, FilterError> {
    let allow = asm.allow();
    let mode = mode(asm, argument)?;
    let makes = asm.branch(Test::AnyBit, O_CREAT | O_TMPFILE, mode, allow)?;
    Ok(asm.load(low(argument - 1), makes))
}

pub(super) fn ioctl(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let known = asm.any_of(&[TIOCSTI, TIOCLINUX, TIOCSETD], refuse, allow)?;
    Ok(asm.load(low(1), known))
}

pub(super) fn clone(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let flags = asm.branch(Test::AnyBit, CLONE_NEW, refuse, allow)?;
    Ok(asm.load(low(0), flags))
}

pub(super) fn unshare(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let lower = asm.branch(Test::AnyBit, !UNSHARE_HARMLESS, refuse, allow)?;
    let lower = asm.load(low(0), lower);
    let upper = asm.branch(Test::Equal, 0, lower, refuse)?;
    Ok(asm.load(high(0), upper))
}

/// Not all processes at once.
pub(super) fn kill(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let pid = asm.branch(Test::Equal, u32::MAX, refuse, allow)?;
    Ok(asm.load(low(0), pid))
}

/// A limit of a process. The limit of core files stays as it is, and a call that sets it succeeds.
pub(super) fn prlimit(asm: &mut Assembler, on_process: At) -> Result<At, FilterError> {
    let nothing = asm.refuse(0);
    // Without a new limit it is only asked for.
    let upper = asm.branch(Test::Equal, 0, on_process, nothing)?;
    let upper = asm.load(high(2), upper);
    let lower = asm.branch(Test::Equal, 0, upper, nothing)?;
    let sets = asm.load(low(2), lower);
    let resource = asm.branch(Test::Equal, RLIMIT_CORE, sets, on_process)?;
    Ok(asm.load(low(1), resource))
}

/// The same by the older call.
pub(super) fn setrlimit(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, nothing) = (asm.allow(), asm.refuse(0));
    let resource = asm.branch(Test::Equal, RLIMIT_CORE, nothing, allow)?;
    Ok(asm.load(low(0), resource))
}

/// No leases and delegations, because they delay others that open the file, the host too.
pub(super) fn fcntl(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let known = asm.any_of(&[F_SETLEASE, F_SETDELEG], refuse, allow)?;
    Ok(asm.load(low(1), known))
}

/// Calls that change another process, named by the first argument: its limits and its scheduling.
pub(super) fn on_process(asm: &mut Assembler, own_pids: bool) -> Result<At, FilterError> {
    on_whom(asm, 0, own_pids)
}

pub(super) fn setpriority(asm: &mut Assembler, own_pids: bool) -> Result<At, FilterError> {
    not_on_user(asm, PRIO_USER, own_pids)
}

pub(super) fn ioprio_set(asm: &mut Assembler, own_pids: bool) -> Result<At, FilterError> {
    not_on_user(asm, IOPRIO_WHO_USER, own_pids)
}

/// Not all processes of a user: the worker is one of them, or the host.
fn not_on_user(asm: &mut Assembler, user: u32, own_pids: bool) -> Result<At, FilterError> {
    let refuse = asm.refuse(libc::EPERM);
    let who = on_whom(asm, 1, own_pids)?;
    let which = asm.branch(Test::Equal, user, refuse, who)?;
    Ok(asm.load(low(0), which))
}

/// In a process namespace of its own: anybody but the first process, which is the worker. It has one
/// thread, and no process group there that a number names. Elsewhere: only the caller itself or its
/// group, since other numbers may be strangers.
fn on_whom(asm: &mut Assembler, argument: u32, own_pids: bool) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let id = if own_pids {
        asm.branch(Test::Equal, WORKER, refuse, allow)?
    } else {
        asm.branch(Test::Equal, 0, allow, refuse)?
    };
    Ok(asm.load(low(argument), id))
}
