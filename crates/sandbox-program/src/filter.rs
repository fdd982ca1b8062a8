//! The system call filter.
//!
//! The filter lists the calls that it refuses. Other calls are allowed up to the highest number that was
//! reviewed for the list. Calls with higher numbers do not exist (`ENOSYS`): what a later kernel adds
//! stays closed, and programs fall back as on an older kernel.
//!
//! The program is assembled here and not by `seccompiler`, which tests one number after the other and
//! knows neither ranges nor the calling conventions of other architectures. This one searches the
//! numbers by halving. When a program is installed, a kernel since 5.11 runs it once for each number, to
//! find those that need no run, so short paths make installing cheap. After that, only calls whose
//! arguments matter run the program.
//!
//! # What is answered
//!
//! | Answer | To | Because |
//! | --- | --- | --- |
//! | the process is killed | another architecture's calls (i386 on x86-64, arm on aarch64) | their numbers mean something else, and nothing ordinary makes them |
//! | `ENOSYS` | x32, newer calls, `io_uring`, `clone3`, `openat2`, keyrings, System V and POSIX message queues that are the host's | programs and libc take it for an older or smaller kernel and use another way |
//! | `EPERM` | everything else by number: mounting, namespaces, modules, clocks, … | what the kernel itself answers to the unprivileged |
//! | `EACCES` | sockets of the internet and of unix, or types of them, that are closed | `socket(2)` has it for "permission denied" by a policy, and messages then say so |
//! | `EAFNOSUPPORT` | every other family | as if the kernel were built without; libaudit and the `AF_ALG` engine of OpenSSL look for exactly this |
//! | `EPROTONOSUPPORT` | other protocols of an open family | Go's MPTCP and libaudit's netlink look for exactly this and do without |
//!
//! # What numbers do not show
//!
//! With a process namespace of its own, a command is kept from changing its worker, the first process
//! there: limits, priorities and scheduling of process 1, and priorities of all processes of a user.
//! The kernel itself drops signals to it, and its memory is closed because it is not dumpable. So the processes of a
//! command may trace each other, but for the option that suspends filters.
//!
//! Without a process namespace the filter refuses what reaches all processes (`kill(-1)`, priorities
//! of a user) or another process (limits, priorities of a process). It cannot distinguish a thread of the
//! caller from a stranger, so signals to single processes and groups, `sched_setaffinity` and
//! `sched_setscheduler` stay: `pthread_*` makes the same calls. Landlock's scope stops the signals.
//! `personality` stays: its flags change only the caller's own memory, and sanitizers need it.
//! Addresses are memory, which a filter cannot read: see [`crate::broker`].

use std::io;

use libc::sock_filter;
use thiserror::Error;

use toolwright_sandbox::plan::{Files, Network};

pub(crate) mod arguments;
pub(crate) mod assembler;
pub(crate) mod calls;
pub(crate) mod priority;
pub(crate) mod reported;
pub(crate) mod sockets;
#[cfg(test)]
pub(crate) mod specification;

use assembler::{Assembler, Exception, Test};
pub(crate) use calls::Architecture;

/// What the filter depends on: the plan, and which namespaces hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct FilterPlan {
    /// What of the network commands reach.
    pub network: Network,
    /// Whether writes are confined. Unix sockets are open only to a plan that confines nothing.
    pub files: Files,
    /// A network namespace holds.
    pub own_net: bool,
    /// A namespace for System V objects and message queues holds.
    pub own_ipc: bool,
    /// A process namespace holds.
    pub own_pids: bool,
    /// A broker makes calls for commands: on names, on unix sockets, and with the set-group bit. It also refuses those that
    /// are [reported].
    pub brokers_files: bool,
    /// Processes of a command may trace each other: a process namespace holds, and its worker can never be traced.
    pub traces: bool,
}

/// A filter as the kernel takes it.
pub type Program = Vec<sock_filter>;

/// A mistake in the rules: a branch is longer than the 255 instructions it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the system call filter has become too long for its branches")]
pub struct FilterTooLong;

/// The filter of a worker and the commands it runs.
///
/// With a network that [waits for a broker](Network::is_brokered) it leaves open what the worker needs to make connections for its
/// commands; [`crate::broker::program`] closes it in the command's child, and without that the
/// loopback of the host would be the whole network.
pub fn worker_filter(plan: &FilterPlan) -> Result<Program, FilterTooLong> {
    worker_filter_on(Architecture::OURS, *plan)
}

fn worker_filter_on(arch: Architecture, plan: FilterPlan) -> Result<Program, FilterTooLong> {
    let mut asm = Assembler::default();
    let mut rules = Rules::new(arch);
    for &(call, errno) in calls::REFUSED {
        rules.add(call, asm.refuse(errno));
    }
    if !plan.brokers_files {
        reported::add(&mut asm, &mut rules, plan, false);
    }
    if !plan.network.is_brokered() && !plan.brokers_files {
        rules.add(calls::PIDFD_GETFD, asm.refuse(libc::EPERM));
        if !plan.traces {
            rules.add(calls::PROCESS_VM_READV, asm.refuse(libc::EPERM));
        }
    }
    if plan.traces {
        rules.add(calls::PTRACE, arguments::trace(&mut asm));
    } else {
        for call in [calls::PTRACE, calls::PROCESS_VM_WRITEV] {
            rules.add(call, asm.refuse(libc::EPERM));
        }
    }
    if !plan.own_ipc {
        for &call in calls::SHARED_OBJECTS {
            rules.add(call, asm.refuse(libc::ENOSYS));
        }
    }
    if !plan.own_pids {
        rules.add(calls::KILL, arguments::kill(&mut asm));
    }
    let on_process = arguments::on_process(&mut asm, plan.own_pids);
    rules.add(calls::PRLIMIT64, arguments::prlimit(&mut asm, on_process));
    rules.add(calls::SETRLIMIT, arguments::setrlimit(&mut asm));
    rules.add(calls::FCNTL, arguments::fcntl(&mut asm));
    if plan.own_pids {
        for &call in calls::SCHEDULING {
            rules.add(call, on_process);
        }
    }
    for (call, user) in [
        (calls::SETPRIORITY, arguments::PRIO_USER),
        (calls::IOPRIO_SET, arguments::IOPRIO_WHO_USER),
    ] {
        rules.add(call, arguments::priority(&mut asm, user, plan.own_pids));
    }
    if plan.files == Files::Confined {
        for &(call, argument) in calls::MODES {
            rules.add(call, arguments::mode(&mut asm, argument));
        }
        // The set-group bit of a directory waits for the broker.
        for &(call, argument) in calls::CHMODS.iter().filter(|_| !plan.brokers_files) {
            rules.add(call, arguments::mode(&mut asm, argument));
        }
        for &(call, argument) in calls::OPENS {
            rules.add(call, arguments::open(&mut asm, argument));
        }
        if !plan.brokers_files {
            rules.add(calls::OPENAT2, asm.refuse(libc::ENOSYS));
        }
    }
    rules.add(calls::IOCTL, arguments::ioctl(&mut asm));
    rules.finish(asm)
}

/// An addition for commands without a process namespace: `setsid` and `setpgid` do nothing and
/// report success, so that no process leaves the group it is killed with. Installed by the command's
/// child after it has begun its group. It relies on [`worker_filter`] for other architectures, because it is
/// installed for each command and every instruction costs.
pub fn pin_filter() -> Result<Program, FilterTooLong> {
    pin_filter_on(Architecture::OURS)
}

fn pin_filter_on(arch: Architecture) -> Result<Program, FilterTooLong> {
    let mut asm = Assembler::default();
    // An error of number 0 is a result of 0.
    let (allow, nothing) = (asm.allow(), asm.refuse(0));
    let pinned: Vec<_> =
        [calls::SETSID, calls::SETPGID].into_iter().filter_map(|call| call.number(arch)).collect();
    let number = asm.any_of(&pinned, nothing, allow);
    asm.load(assembler::NUMBER, number);
    asm.finish()
}

/// Installs a filter in the calling thread, and in what it starts from now on. Needs
/// `no_new_privs`. Allocates nothing and takes no lock.
pub fn install(program: &[sock_filter]) -> io::Result<()> {
    set_filter(program, 0).map(drop)
}

/// Installs a filter and returns what the kernel does: a descriptor if `flags` ask for one.
pub(crate) fn set_filter(
    program: &[sock_filter],
    flags: libc::c_ulong,
) -> io::Result<libc::c_long> {
    let len =
        u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    let description = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel copies `len` instructions, which `program` has, and writes nothing.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::from_ref(&description),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Numbers and where each leads, before they are put in order.
pub(crate) struct Rules {
    arch: Architecture,
    exceptions: Vec<Exception>,
}

impl Rules {
    pub(crate) fn new(arch: Architecture) -> Self {
        Self { arch, exceptions: Vec::new() }
    }

    pub(crate) fn add(&mut self, call: calls::Call, to: assembler::At) {
        if let Some(number) = call.number(self.arch) {
            self.exceptions.push(Exception { first: number, last: number, to });
        }
    }

    /// Neighbours with the same answer become one range; then comes what every program begins with.
    pub(crate) fn finish(mut self, mut asm: Assembler) -> Result<Program, FilterTooLong> {
        self.exceptions.sort_by_key(|exception| exception.first);
        self.exceptions.dedup_by(|next, range| {
            let joins = next.first == range.last + 1 && next.to == range.to;
            if joins {
                range.last = next.last;
            }
            joins
        });
        let allow = asm.allow();
        let known = asm.search(&self.exceptions, 0, allow);
        // The numbers of x32 have bit 30, so they are among the unknown ones.
        let unknown = asm.refuse(libc::ENOSYS);
        let bounded = asm.branch(Test::AtLeast, calls::FIRST_UNKNOWN, unknown, known);
        let number = asm.load(assembler::NUMBER, bounded);
        let kill = asm.kill();
        let native = asm.branch(Test::Equal, self.arch.audit_number(), number, kill);
        asm.load(assembler::ARCHITECTURE, native);
        asm.finish()
    }
}
