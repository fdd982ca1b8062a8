//! A worker as the broker has it: it installs its own filter, makes the command's child, and answers
//! while the command runs.

use std::io::{Read, pipe};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_parent_process_death_signal,
};
use toolwright_sandbox::plan::{Files, Network};
use toolwright_sandbox_program::broker::{Broker, Channel, install_in_child, program};
use toolwright_sandbox_program::filter::{FilterPlan, install, worker_filter};

pub(crate) const PLAN: FilterPlan = FilterPlan {
    network: Network::HostLoopback,
    files: Files::Confined,
    own_net: false,
    own_ipc: true,
    own_pids: true,
    brokers_files: false,
    traces: false,
};

/// A user without any right.
pub(crate) const NOBODY: u32 = 65534;

/// No test takes as long, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `work` as a command and returns its answers, once for each available user.
pub(crate) fn as_each_user(work: impl Fn() -> Vec<i64>) -> Vec<Vec<i64>> {
    let mut answers = vec![command(None, &work)];
    if rustix::process::geteuid().is_root() {
        answers.push(command(Some(NOBODY), &work));
    } else {
        println!("not root: nobody is left out");
    }
    answers
}

/// Runs `work` as a command of a worker that is `user`.
pub(crate) fn command(user: Option<u32>, work: impl FnOnce() -> Vec<i64>) -> Vec<i64> {
    command_under(&[], user, work)
}

/// Runs `work` as a command on a kernel as it was: without descriptors of threads, and without waits
/// that signals do not interrupt.
pub(crate) fn command_on_older_kernel(work: impl FnOnce() -> Vec<i64>) -> Vec<i64> {
    let number = |call| u32::try_from(call).unwrap();
    let refused = 0x5_0000 | libc::EINVAL.unsigned_abs();
    let filter = [
        (0x20, 0, 0, 0),
        (0x15, 1, 0, number(libc::SYS_pidfd_open)),
        (0x15, 0, 2, number(libc::SYS_seccomp)),
        // Flags are the second argument of both.
        (0x20, 0, 0, 24),
        (0x45, 1, 0, 0xA0),
        (0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
        (0x06, 0, 0, refused),
    ];
    let filter = filter.map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
    command_under(&filter, None, work)
}

fn command_under(
    filter: &[libc::sock_filter],
    user: Option<u32>,
    work: impl FnOnce() -> Vec<i64>,
) -> Vec<i64> {
    let (answers, writer) = pipe().unwrap();
    let worker = fork(|| {
        rustix::process::setsid().unwrap();
        become_worker(user);
        if !filter.is_empty() {
            install(filter).unwrap();
        }
        let channel = Channel::new().unwrap();
        let program = program().unwrap();
        let command = fork(|| {
            set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
            // SAFETY: a plain call. A command that was executed is so again.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
            install_in_child(&program, channel.child_end(), None).unwrap();
            let bytes: Vec<u8> = work().into_iter().flat_map(i64::to_ne_bytes).collect();
            rustix::io::write(&writer, &bytes).unwrap();
        });
        // A worker's own child shares memory, and has finished with this when the worker continues.
        let mut broker = loop {
            if let Some(broker) = channel.take().unwrap() {
                break broker;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        serve(&mut broker, command);
        wait(command);
    });
    drop(writer);
    let bytes = read_patiently(answers);
    // The whole session, so that nothing is left where the worker failed.
    let _ = rustix::process::kill_process_group(worker, Signal::KILL);
    wait(worker);
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| i64::from_ne_bytes(*word)).collect()
}

/// Installs the filter of a worker, as `user`.
pub(crate) fn become_worker(user: Option<u32>) {
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    if let Some(user) = user {
        // SAFETY: the calls change only the identity of this process, and touch no memory.
        let became = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(user, user, user) == 0
                && libc::setresuid(user, user, user) == 0
        };
        assert!(became);
    }
    // SAFETY: plain calls.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    install(&worker_filter(&PLAN).unwrap()).unwrap();
}

/// Answers until the command has ended.
pub(crate) fn serve(broker: &mut Broker, command: Pid) {
    let ended = pidfd_open(command, PidfdFlags::empty()).unwrap();
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let both = &mut [
            PollFd::from_borrowed_fd(broker.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
        ];
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        if poll(both, Some(&second)).is_err() {
            continue;
        }
        let [calls, end] = [both[0].revents(), both[1].revents()];
        if !end.is_empty() {
            return;
        }
        if !calls.is_empty() {
            let looked = Instant::now();
            broker.handle().unwrap();
            // The promise that it does not wait for others.
            assert!(looked.elapsed() < Duration::from_secs(1), "{:?}", looked.elapsed());
        }
    }
    let _ = kill_process(command, Signal::KILL);
}

/// Runs `work` in a child, which ends with it. A panic in it is printed and kills it.
pub(crate) fn fork(work: impl FnOnce()) -> Pid {
    // SAFETY: the child uses plain calls, memory of its own and the allocator, which libc makes safe
    // to use after a fork, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork");
    if pid == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: ends the child without running what belongs to the test.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    Pid::from_raw(pid).unwrap()
}

pub(crate) fn wait(pid: Pid) {
    while rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).is_err() {}
}

/// Everything that is written until all writers have ended, or the time is over.
fn read_patiently(mut reader: impl Read + AsFd) -> Vec<u8> {
    let (mut bytes, began) = (Vec::new(), Instant::now());
    while began.elapsed() < PATIENCE + Duration::from_secs(10) {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let readable = poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&second));
        let mut chunk = [0; 4096];
        if readable.is_ok_and(|ready| ready > 0) {
            match reader.read(&mut chunk).unwrap() {
                0 => break,
                len => bytes.extend(&chunk[..len]),
            }
        }
    }
    bytes
}
