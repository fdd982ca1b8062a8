//! The supervisor: enters the layers that all commands of a plan share, and makes workers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::{limits, mounts, namespaces, transactions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid};
use toolwright_sandbox::layers::{Layer, Layers, is_shortage};
use toolwright_sandbox::plan::Files;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{
    Inbox, NETWORK, Order, PROGRAMS, Progress, Reply, WORKER, read_fork_frame, read_order,
    read_private_frame, send,
};

use crate::activity::Activity;
use crate::broker::files::pair;
use crate::children::{Child, Children};
use crate::environment::{BETWEEN, Environment, POLL_INTERVAL};
use crate::signals::{child_signals, forget_signals};
use crate::temporary::Temporary;
use crate::worker::{WorkerSetup, run_worker};

/// How long a supervisor without workers waits to be asked for one.
const IDLE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// How long workers wait for their next command where the host sees placeholders. Visible
/// placeholders should not stay for long.
const IDLE_VISIBLE_MS: u32 = 1_000;

/// The last signal, unnamed ones included.
const LAST_SIGNAL: libc::c_int = 64;

/// How long workers may take to end after their host.
const WORKER_GRACE: Duration = Duration::from_millis(200);

/// Runs until the host closes its socket, or asks for no worker for a while.
pub fn supervise() -> io::Result<()> {
    let host = getppid();
    let socket = detach()?;
    let mut inbox = Inbox::new(socket);
    let Some(message) = inbox.wait()? else { return Ok(()) };
    let order = read_order(&message).map_err(io::Error::other)?;
    let network = if order.joins_network { inbox.take_descriptor() } else { None };
    let mut beside = || order.shares_temporary.then(|| inbox.take_descriptor()).flatten();
    let shared = beside().zip(beside()).map(|(mounts, files)| mounts::Shared::new(mounts, files));
    let mut forked = || order.plan.root_fork.as_ref().and_then(|_| inbox.take_descriptor());
    // The lock is held as long as there is a mount, by this process and by its workers.
    let (root_fork, _lock) = (forked(), forked());
    let ended = child_signals()?;
    let mut workers = Children::new();
    // From here on there is something to remove.
    let mut environment = prepare(&order, network, (shared, root_fork), host);
    let outcome = serve(&mut inbox, &ended, &order, &mut environment, &mut workers);
    drop(inbox);
    wait_for_workers(&mut workers, &ended, &mut environment, host);
    drop(workers);
    if let Some(mut tree) = environment.tree {
        let forked = tree.take_forked();
        tree.remove_placeholders();
        transactions::finish(forked, host);
    }
    outcome
}

/// Waits for the workers. When the host is gone, the sockets of the workers are closed too, and
/// they end together with their commands. A worker that still runs a command of a living host needs
/// this tree, so it is waited for. A stopped worker notices nothing, and is killed once the host is
/// gone.
fn wait_for_workers(
    workers: &mut Children,
    ended: &OwnedFd,
    environment: &mut Environment,
    host: Option<Pid>,
) {
    let (mut alone_since, mut ended_since) = (None, None);
    loop {
        if workers.collect() {
            // The kernel may count a process for a moment after it was collected.
            let since = *ended_since.get_or_insert_with(Instant::now);
            if !workers.has_inhabited_groups() || since.elapsed() > WORKER_GRACE {
                return;
            }
        }
        // When a process ends, its children get another parent.
        if getppid() != host {
            let since = *alone_since.get_or_insert_with(Instant::now);
            if since.elapsed() > WORKER_GRACE {
                workers.kill();
            }
        }
        environment.renew_covers(workers.is_active());
        let mut fds = vec![PollFd::new(ended, PollFlags::IN)];
        fds.extend(environment.changes());
        fds.extend(workers.sockets().map(|socket| PollFd::new(socket, PollFlags::IN)));
        let _ = poll(&mut fds, environment.pause().or(Some(&POLL_INTERVAL)));
        forget_signals(ended);
        workers.answer(&mut environment.tree);
    }
}

/// Makes this process independent of the process that started it, and takes the socket.
pub(crate) fn detach() -> io::Result<OwnedFd> {
    // SAFETY: the process has just begun and has one thread. Descriptor 0 is the host's socket and
    // is replaced below; nothing in this program uses a descriptor above 2 yet.
    unsafe {
        // A signal that the host ignores would be ignored here too, and the ends of children not be
        // reported.
        for signal in 1..=LAST_SIGNAL {
            libc::signal(signal, libc::SIG_DFL);
        }
        // First, because the descriptors may leave no room for one more.
        if libc::syscall(libc::SYS_close_range, 3, libc::c_int::MAX, 0) != 0 {
            close_one_by_one();
        }
        let socket = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // Both are /dev/null.
        libc::dup2(1, 0);
        libc::setsid();
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// For kernels before 5.9.
fn close_one_by_one() {
    let names = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<libc::c_int> =
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|open| *open > 2) {
        // SAFETY: nothing in this program uses these descriptors, which the host left open.
        unsafe { libc::close(descriptor) };
    }
}

fn prepare(
    order: &Order,
    joined: Option<OwnedFd>,
    (shared, root_fork): (Option<mounts::Shared>, Option<OwnedFd>),
    host: Option<Pid>,
) -> Environment {
    let mut layers = Layers::default();
    let (mut tree, mut watch) = (None, None);
    let mut idle_ms = order.idle_ms;
    let mut failed = None;
    // While the host's own control group can be found.
    let groups = limits::Groups::find(&order.plan.limits);
    namespaces::enter(&order.plan, order.without_mounts.is_none(), joined.as_ref(), &mut layers);
    drop(joined);
    // While `/proc` is the host's.
    let network = if layers.net.holds() { namespaces::own_network() } else { None };
    let mut mounts = if network.is_some() { mounts::own_mounts() } else { None };
    if let Some(errno) = order.without_mounts {
        layers.mount = Layer::Refused(errno);
    }
    if let Some(errno) = layers.shortage() {
        let what = "the system is out of processes or memory".to_owned();
        failed = Some(Reply::Failed(FailedStep::Mounts, errno, what));
    } else if getppid() != host {
        // What others can see is not made for a host that is gone, only to be removed again.
        let what = "the host is gone".to_owned();
        failed = Some(Reply::Failed(FailedStep::Other, libc::ESRCH, what));
    } else if order.plan.root_fork.is_some() && !layers.mount.holds() {
        // Without a tree of its own, a command would change the root itself.
        let what = "a fork takes a mount namespace".to_owned();
        let errno = if let Layer::Refused(errno) = layers.mount { errno } else { libc::ENOSYS };
        failed = Some(Reply::Failed(FailedStep::Other, errno, what));
    } else if layers.mount.holds() {
        let beside = mounts::Beside { shared: shared.as_ref(), root_fork: root_fork.as_ref() };
        match mounts::build_beside(&order.plan, beside) {
            Ok(built) => {
                watch = mounts::Watch::of(&built, &order.plan.root).ok();
                layers.forks = built.forks();
                if built.is_visible() {
                    idle_ms = idle_ms.min(IDLE_VISIBLE_MS);
                }
                tree = Some(built);
                (layers.closed, layers.protected) = (Layer::Holds, Layer::Holds);
            }
            Err(error) => {
                let what = error.to_string();
                // A full disk, for example, must not be a way to run without a tree.
                let is_final = error.step == "protect" && !is_shortage(error.errno);
                let step = match error.step {
                    mounts::GRANTED => FailedStep::Granted,
                    _ if is_final => FailedStep::Other,
                    _ => FailedStep::Mounts,
                };
                failed = Some(Reply::Failed(step, error.errno, what));
            }
        }
    }
    drop((shared, root_fork));
    if tree.is_none() {
        mounts = None;
    }
    // Without it, commands have no temporary directory but the root.
    let needs_temporary = failed.is_none() && !layers.mount.holds();
    let temporary = (needs_temporary && order.plan.files == Files::Confined)
        .then(|| Temporary::make().ok())
        .flatten();
    let missing_since = None;
    Environment {
        layers,
        idle_ms,
        groups,
        network,
        mounts,
        tree,
        watch,
        temporary,
        missing_since,
        failed,
    }
}

fn serve(
    inbox: &mut Inbox,
    ended: &OwnedFd,
    order: &Order,
    environment: &mut Environment,
    workers: &mut Children,
) -> io::Result<()> {
    loop {
        while let Some(message) = inbox.take().map_err(io::Error::other)? {
            let fork = read_fork_frame(&message);
            let is_known = [WORKER, PROGRAMS, NETWORK].contains(&&*message);
            let private = read_private_frame(&message);
            let is_known = is_known || fork.is_some() || private.is_some();
            let Some(socket) = inbox.take_descriptor().filter(|_| is_known) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            if message == NETWORK {
                if let Some((reply, descriptors)) = environment.spaces() {
                    let _ = send(&socket, &reply.frame(), &descriptors);
                }
                continue;
            }
            if let Some(request) = fork {
                environment.answer_fork(&order.plan.root, request, &socket);
                continue;
            }
            if let Some(request) = private {
                if !workers.is_active()
                    && let Some(tree) = &mut environment.tree
                {
                    tree.rest();
                }
                environment.answer_private(&order.plan.root, request, &socket);
                continue;
            }
            if message == PROGRAMS {
                if let Some(tree) = &environment.tree {
                    tree.make_programs();
                }
                // Closing the socket is the answer.
                continue;
            }
            let is_stale = |watch: &mounts::Watch| watch.has_changed().unwrap_or(true);
            if let Some(failed) = &environment.failed {
                let _ = send(&socket, &failed.frame(), &[]);
            } else if environment.watch.as_ref().is_some_and(is_stale) {
                let _ = send(&socket, &Reply::Stale.frame(), &[]);
                return Ok(());
            } else if let Some(worker) = make_worker(order, environment, inbox, socket, workers) {
                workers.add(worker);
            }
        }
        // Also while no command runs: one may be about to, and sees nothing that was lost before its worker began to
        // watch.
        let is_active = workers.is_active();
        environment.renew_covers(is_active);
        let mut fds = vec![PollFd::new(&*inbox, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        fds.extend(environment.changes());
        let sockets = fds.len();
        fds.extend(workers.sockets().map(|socket| PollFd::new(socket, PollFlags::IN)));
        let wait = match (workers.is_empty(), is_active) {
            (true, _) => Some(&IDLE),
            (false, true) => environment.pause(),
            // Nothing tells of the next command.
            (false, false) => environment.pause().map(|_| &BETWEEN),
        };
        match poll(&mut fds, wait) {
            Ok(0) if workers.is_empty() => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [has_message, has_ended] = [0, 1].map(|index: usize| !fds[index].revents().is_empty());
        let has_questions = fds[sockets..].iter().any(|polled| !polled.revents().is_empty());
        drop(fds);
        if has_questions {
            workers.answer(&mut environment.tree);
        }
        if has_ended {
            forget_signals(ended);
            workers.collect();
        }
        if has_message && inbox.fill(false)? == Progress::Closed {
            return Ok(());
        }
    }
}

/// Makes a worker. `None` means that there is none, and that the host has been sent the reason.
fn make_worker(
    order: &Order,
    environment: &mut Environment,
    inbox: &Inbox,
    socket: OwnedFd,
    others: &Children,
) -> Option<Child> {
    // Without one, the worker reports that it makes no calls for commands.
    let (asked, asks) = environment.layers.mount.holds().then(pair).and_then(Result::ok).unzip();
    // The first worker finds out whether there can be process namespaces, in which a control group
    // is hardly ever needed.
    let mut expected = environment.layers;
    if expected.pid == Layer::Unused {
        expected.pid = Layer::Holds;
    }
    let group = environment.groups.make(&expected);
    let forked = Activity::new().and_then(|activity| {
        namespaces::make_worker(&mut environment.layers).map(|forked| (forked, activity))
    });
    match forked {
        Ok((namespaces::Forked::Parent(pid), activity)) => {
            Some(Child { pid, group, activity, socket: asked })
        }
        Ok((namespaces::Forked::Child, activity)) => {
            // SAFETY: the child ends below without returning, so nothing uses the descriptors again.
            unsafe {
                libc::close(inbox.as_fd().as_raw_fd());
                // A worker needs no writable mount.
                let tree = environment.tree.iter();
                for descriptor in tree.flat_map(mounts::Tree::writable_descriptors) {
                    libc::close(descriptor);
                }
                for socket in others.sockets().chain(&asked) {
                    libc::close(socket.as_fd().as_raw_fd());
                }
            }
            (environment.network, environment.mounts) = (None, None);
            let temporary =
                environment.temporary.as_ref().map(|temporary| temporary.path.as_path());
            let setup = WorkerSetup {
                order,
                group: &group,
                tree: environment.tree.as_ref(),
                temporary,
                idle_ms: environment.idle_ms,
            };
            run_worker(&setup, activity, environment.layers, socket, asks);
            // SAFETY: `_exit` ends the process without running the destructors of the supervisor's
            // values, which would remove what the supervisor has made.
            unsafe { libc::_exit(0) }
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
            let reply = Reply::Failed(FailedStep::Fork, errno, error.to_string());
            let _ = send(&socket, &reply.frame(), &[]);
            None
        }
    }
}
