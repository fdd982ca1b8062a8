//! Work of a worker after it has installed the filter, under every plan.

use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_void, pid_t};
use toolwright_sandbox_program::filter::pin_filter;

use super::*;

/// The argument of the child that shares memory with the worker.
struct Command {
    pin: Option<Program>,
}

const STACK: usize = 64 * 1024;

extern "C" fn run(command: *mut c_void) -> c_int {
    // SAFETY: the worker waits, and its `Command` with it, until this child has executed `true`.
    let command = unsafe { &*command.cast::<Command>() };
    let allowed = command
        .pin
        .as_ref()
        .is_none_or(|pin| toolwright_sandbox_program::filter::install(pin).is_ok());
    let argv = [c"true".as_ptr(), std::ptr::null()];
    // SAFETY: plain calls; the strings live.
    unsafe {
        if !allowed || libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0) != 0 {
            libc::_exit(3);
        }
        libc::execv(c"/bin/true".as_ptr(), argv.as_ptr());
        libc::_exit(4);
    }
}

/// Starts `true` in a child that shares memory; returns its process and descriptor.
fn start(command: &mut Command) -> (pid_t, c_int) {
    let mut stack = vec![0_u128; STACK / 16];
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the stack and the command live until the child has left this memory, for which the
    // call waits.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        libc::clone(run, top.cast(), flags, std::ptr::from_mut(command).cast(), &raw mut pidfd)
    };
    (pid, pidfd)
}

/// Sends a descriptor from one end of the pair to the other; returns what came.
fn pass(pair: &[OwnedFd; 2], passed: c_int) -> bool {
    use std::io::{IoSlice, IoSliceMut};

    use rustix::net::*;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut sent = SendAncillaryBuffer::new(&mut space);
    // SAFETY: it is open.
    let fds = [unsafe { std::os::fd::BorrowedFd::borrow_raw(passed) }];
    sent.push(SendAncillaryMessage::ScmRights(&fds));
    let Ok(1) = sendmsg(&pair[0], &[IoSlice::new(b"x")], &mut sent, SendFlags::empty()) else {
        return false;
    };
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut came = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received =
        recvmsg(&pair[1], &mut [IoSliceMut::new(&mut byte)], &mut came, RecvFlags::CMSG_CLOEXEC);
    received.is_ok_and(|it| it.bytes == 1) && came.drain().next().is_some()
}

#[test]
fn a_worker_can_work() {
    let pin = pin_filter().unwrap();
    for plan in PLANS.into_iter().chain([NARROWEST]) {
        let filter = filter(plan);
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let pair = [OwnedFd::from(one), OwnedFd::from(other)];
        let report = in_child(Setup { filters: &[&filter], user: None }, || {
            let mut command = Command { pin: (!plan.own_pids).then(|| pin.clone()) };
            let (pid, pidfd) = start(&mut command);
            let (mut status, mut info) = (-1, [0_u64; 16]);
            let mut poll = libc::pollfd { fd: pidfd, events: libc::POLLIN, revents: 0 };
            // SAFETY: plain calls on memory of this child.
            let waited = unsafe {
                [
                    i64::from(libc::poll(&raw mut poll, 1, 10_000)),
                    libc::waitid(
                        libc::P_PIDFD,
                        pidfd.cast_unsigned(),
                        info.as_mut_ptr().cast(),
                        libc::WEXITED | libc::WNOWAIT,
                    )
                    .into(),
                    libc::kill(pid, libc::SIGKILL).into(),
                    i64::from(libc::wait4(pid, &raw mut status, 0, std::ptr::null_mut()) == pid),
                    status.into(),
                ]
            };
            let passed = pass(&pair, pair[0].as_raw_fd());
            let rest = last_calls();
            waited.into_iter().chain([passed.into()]).chain(rest).collect()
        });
        assert_eq!(report.answers, [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0], "{plan:?}");
    }
}

/// Gives up rights as the child of a command does: 0 for each that worked.
fn last_calls() -> [i64; 5] {
    let mut header = [0x2008_0522_u32, 0];
    let mut rights = [0_u32; 6];
    let (header, rights) = (header.as_mut_ptr() as c_long, rights.as_mut_ptr() as c_long);
    let limit = libc::rlimit { rlim_cur: 256, rlim_max: 256 };
    let landlock = match call(libc::SYS_landlock_create_ruleset, [0, 0, 1, 0, 0, 0]) {
        1.. => {
            // One right to handle: executing files.
            let handled = [1_u64];
            let ruleset = call(
                libc::SYS_landlock_create_ruleset,
                [handled.as_ptr() as c_long, 8, 0, 0, 0, 0],
            );
            call(libc::SYS_landlock_restrict_self, [ruleset as c_long, 0, 0, 0, 0, 0])
        }
        // This kernel has none.
        _ => 0,
    };
    [
        call(libc::SYS_capset, [header, rights, 0, 0, 0, 0]),
        call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 0, 0, 0, 0, 0]),
        call(libc::SYS_prlimit64, [0, 7, std::ptr::from_ref(&limit) as c_long, 0, 0, 0]),
        landlock,
        // Another filter may be added: it fails at the null address, not before.
        call(libc::SYS_seccomp, [1, 0, 0, 0, 0, 0]) + i64::from(libc::EFAULT),
    ]
}
