//! Calls that depend on an argument, beside those about sockets.

use super::assembler::{Assembler, At, Test, high, low};

// They put words into a terminal's input, or load a line discipline into the kernel.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
const TIOCSETD: u32 = 0x5423;

/// Requests of file systems that make an entry of a name which is in memory, where no filter can read it: a
/// subvolume or snapshot of Btrfs (in two forms each) and bcachefs, and a copy of OCFS2. Git may take it for its own.
const MAKE_ENTRIES: [u32; 6] =
    [0x5000_940E, 0x5000_9401, 0x5000_9418, 0x5000_9417, 0x4020_BC10, 0x4018_6F04];

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

pub(super) const PRIO_USER: u32 = 2;
pub(super) const IOPRIO_WHO_USER: u32 = 3;

/// The bits that let a program run with the rights of its owner or group, and those of `open` with
/// which it makes a file and looks at the mode.
pub(crate) const SET_ID: u32 = 0o6000;
const O_CREAT: u32 = 0o100;
const O_TMPFILE: u32 = 0o20_000_000;

/// Refuses the call if the test of an argument holds.
fn refuse_if(asm: &mut Assembler, argument: u32, test: Test, value: u32) -> At {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let tested = asm.branch(test, value, refuse, allow);
    asm.load(low(argument), tested)
}

/// Refuses the call if its second argument is one of these.
fn refuse_any(asm: &mut Assembler, values: &[u32]) -> At {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let known = asm.any_of(values, refuse, allow);
    asm.load(low(1), known)
}

/// A mode in that argument, without the bits that lend rights. What a command leaves in the root
/// stays there after it, for others to run.
pub(super) fn mode(asm: &mut Assembler, argument: u32) -> At {
    refuse_if(asm, argument, Test::AnyBit, SET_ID)
}

/// The same for a file that `open` makes; its flags are in the argument before the mode.
pub(super) fn open(asm: &mut Assembler, argument: u32) -> At {
    let allow = asm.allow();
    let mode = mode(asm, argument);
    let makes = asm.branch(Test::AnyBit, O_CREAT | O_TMPFILE, mode, allow);
    asm.load(low(argument - 1), makes)
}

/// Requests that set options of a tracer, which are in the fourth argument: `PTRACE_OLDSETOPTIONS`,
/// `PTRACE_SETOPTIONS`, `PTRACE_SEIZE`.
const SET_TRACER: [u32; 3] = [21, 0x4200, 0x4206];
/// `PTRACE_O_SUSPEND_SECCOMP`. The kernel asks for rights over the whole system for it.
const SUSPENDS_FILTERS: u32 = 1 << 21;

/// Tracing, without the option that suspends filters.
pub(super) fn trace(asm: &mut Assembler) -> At {
    let allow = asm.allow();
    let options = refuse_if(asm, 3, Test::AnyBit, SUSPENDS_FILTERS);
    let sets = asm.any_of(&SET_TRACER, options, allow);
    asm.load(low(0), sets)
}

pub(super) fn ioctl(asm: &mut Assembler) -> At {
    refuse_any(asm, &[&[TIOCSTI, TIOCLINUX, TIOCSETD][..], &MAKE_ENTRIES].concat())
}

pub(super) fn clone(asm: &mut Assembler, refused: At) -> At {
    let allow = asm.allow();
    let tested = asm.branch(Test::AnyBit, CLONE_NEW, refused, allow);
    asm.load(low(0), tested)
}

pub(super) fn unshare(asm: &mut Assembler, refused: At) -> At {
    let allow = asm.allow();
    let lower = asm.branch(Test::AnyBit, !UNSHARE_HARMLESS, refused, allow);
    let lower = asm.load(low(0), lower);
    let upper = asm.branch(Test::Equal, 0, lower, refused);
    asm.load(high(0), upper)
}

/// Not all processes at once.
pub(super) fn kill(asm: &mut Assembler) -> At {
    refuse_if(asm, 0, Test::Equal, u32::MAX)
}

/// A limit of a process. The limit of core files stays as it is, and a call that sets it succeeds.
pub(super) fn prlimit(asm: &mut Assembler, on_process: At) -> At {
    let nothing = asm.refuse(0);
    // Without a new limit it is only asked for.
    let upper = asm.branch(Test::Equal, 0, on_process, nothing);
    let upper = asm.load(high(2), upper);
    let lower = asm.branch(Test::Equal, 0, upper, nothing);
    let sets = asm.load(low(2), lower);
    let resource = asm.branch(Test::Equal, RLIMIT_CORE, sets, on_process);
    asm.load(low(1), resource)
}

/// The same by the older call.
pub(super) fn setrlimit(asm: &mut Assembler) -> At {
    let (allow, nothing) = (asm.allow(), asm.refuse(0));
    let resource = asm.branch(Test::Equal, RLIMIT_CORE, nothing, allow);
    asm.load(low(0), resource)
}

/// No leases and delegations, because they delay others that open the file, the host too.
pub(super) fn fcntl(asm: &mut Assembler) -> At {
    refuse_any(asm, &[F_SETLEASE, F_SETDELEG])
}

/// Calls that change another process, named by the first argument: its limits and its scheduling.
pub(super) fn on_process(asm: &mut Assembler, own_pids: bool) -> At {
    on_whom(asm, 0, own_pids)
}

/// A priority, of anything but all processes of a user: the worker is one of them, or the host.
pub(super) fn priority(asm: &mut Assembler, user: u32, own_pids: bool) -> At {
    let refuse = asm.refuse(libc::EPERM);
    let who = on_whom(asm, 1, own_pids);
    let which = asm.branch(Test::Equal, user, refuse, who);
    asm.load(low(0), which)
}

/// In a process namespace of its own: anybody but the first process, which is the worker. It has one
/// thread, and no process group there that a number names. Elsewhere: only the caller itself or its
/// group, since other numbers may be strangers.
fn on_whom(asm: &mut Assembler, argument: u32, own_pids: bool) -> At {
    if own_pids {
        return refuse_if(asm, argument, Test::Equal, WORKER);
    }
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EPERM));
    let own = asm.branch(Test::Equal, 0, allow, refuse);
    asm.load(low(argument), own)
}
