//! A worker: one command at a time, in a process namespace of its own where there is one.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::filter::{self, FilterPlan};
use crate::{errno, limits, mounts, namespaces, rules};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use toolwright_sandbox::background::Facts;
use toolwright_sandbox::layers::{Bound, Layer, Layers};
use toolwright_sandbox::plan::{FileIdentity, Files, Plan};
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{HostMessage, Inbox, Order, Reply, read_request_frame, send};

use crate::activity::Activity;
use crate::broker::Ends;
use crate::broker::files::{
    Confinement, FileThread, GitCalls, NameRules, SocketGround, SupervisorSocket,
};
use crate::broker::listener::Listener;
use crate::brokered::{Brokered, Failure, brokered, file_thread, held, mistake, refuse, resolver};
use crate::command::{Command, CommandCalls, CommandEnd, Event};
use crate::facts::Counters;
use crate::observe::SocketList;
use crate::prefork::{ForkOutcome, Stack, wait_for_command};
use crate::scheduling::Scheduling;
use crate::signals::child_signals;
use crate::temporary::Variables;

/// What all commands of a worker have in common.
pub(crate) struct Worker {
    pub(crate) pid: Pid,
    pub(crate) activity: Activity,
    /// Whether everything in this process namespace, but for the worker, is the command's.
    pub(crate) alone: bool,
    pub(crate) root: OwnedFd,
    /// Becomes readable when a child has ended.
    pub(crate) children: OwnedFd,
    pub(crate) stack: Stack,
    pub(crate) rules: rules::Ruleset,
    pub(crate) limits: limits::Prepared,
    pub(crate) scheduling: Scheduling,
    pub(crate) sockets: SocketList,
    pub(crate) capabilities: namespaces::RetainedCapabilities,
    pub(crate) pin: filter::Program,
    pub(crate) temporary: Variables,
    /// What makes connections to the host's loopback for a command, where the plan has that.
    pub(crate) brokered: Option<Brokered>,
    counters: Counters,
    watch: Option<mounts::Watch>,
}

pub(crate) struct WorkerSetup<'a> {
    pub(crate) order: &'a Order,
    pub(crate) group: &'a limits::Group,
    /// The tree of files, where there is one of its own.
    pub(crate) tree: Option<&'a mounts::Tree>,
    /// The temporary directory of commands, where the tree of files has none.
    pub(crate) temporary: Option<&'a Path>,
    pub(crate) idle_ms: u32,
}

pub(crate) fn run_worker(
    setup: &WorkerSetup<'_>,
    activity: Activity,
    mut layers: Layers,
    socket: OwnedFd,
    supervisor: Option<SupervisorSocket>,
) {
    match Worker::new(setup, activity, &mut layers, supervisor) {
        Ok(worker) => {
            // Without it the host has only the socket to end this process by.
            let own = pidfd_open(getpid(), PidfdFlags::empty()).ok();
            let beside: Vec<_> = own.iter().map(AsFd::as_fd).collect();
            if send(&socket, &Reply::Ready(layers).frame(), &beside).is_ok() {
                drop(beside);
                drop(own);
                worker.serve(&mut Inbox::new(socket), setup.idle_ms);
            }
        }
        Err((step, error)) => {
            let errno = errno::of(&error).raw_os_error();
            let _ = send(&socket, &Reply::Failed(step, errno, error.to_string()).frame(), &[]);
        }
    }
}

/// What counts the refusals of a command. The limits of the plan are prepared.
fn counters(plan: &Plan, group: &limits::Group, layers: &Layers) -> Counters {
    let most = plan.limits.processes.filter(|_| layers.processes != Bound::ControlGroup);
    let (memory, processes) = (group.memory_events(), group.process_events());
    Counters::open(layers.net.holds(), memory, processes, most)
}

impl Worker {
    fn new(
        setup: &WorkerSetup<'_>,
        activity: Activity,
        layers: &mut Layers,
        supervisor: Option<SupervisorSocket>,
    ) -> Result<Self, Failure> {
        let WorkerSetup { order, group, tree, temporary, .. } = *setup;
        let plan = &order.plan;
        let at = |step: FailedStep| move |error: io::Error| (step, error);
        let alone = layers.pid.holds();
        let group_limits = group.enter();
        if !alone {
            // Processes that a command leaves behind become children of this one, which then finds
            // them.
            rustix::process::set_child_subreaper(Some(getpid())).map_err(other)?;
        }
        let children = child_signals().map_err(at(FailedStep::Other))?;
        // Before the numbers of processes are bounded, and while there are all rights.
        let absent = tree.map(mounts::Tree::absent).unwrap_or_default();
        let asks = supervisor.as_ref().filter(|_| !absent.is_empty());
        let asks =
            asks.map(SupervisorSocket::try_clone).transpose().map_err(at(FailedStep::Other))?;
        let answers = (supervisor.filter(|_| alone), !absent.is_empty());
        let files = file_thread(plan, answers, layers)?;
        let prepared = limits::prepare(&plan.limits, layers, group_limits);
        (layers.processes, layers.memory) = (prepared.processes, prepared.memory);
        let counters = counters(plan, group, layers);
        if alone {
            mounts::close_proc().map_err(|error| (FailedStep::Mounts, error.into()))?;
        }
        let resolver = resolver(plan, alone, layers)?;
        let mount = layers.mount.holds();
        let private: Vec<PathBuf> = temporary.map(Path::to_owned).into_iter().collect();
        let rules = rules::prepare(plan, mount, layers.net.holds(), &private);
        layers.landlock = rules.files;
        layers.landlock_abi = rules.abi;
        layers.scope = rules.scope;
        if !mount {
            (layers.closed, layers.protected) = (rules.closed, rules.protected);
        }
        let root = open_root(plan)?;
        let capabilities =
            namespaces::drop_capabilities(layers).map_err(at(FailedStep::Capabilities))?;
        rustix::thread::set_no_new_privs(true).map_err(other)?;
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(other)?;
        layers.tracing = tracing(alone);
        // Before the filter, which lets no process change the first one of a namespace.
        let scheduling = Scheduling::yielding();
        let sockets = SocketList::open();
        let filter_plan = FilterPlan {
            network: plan.network,
            files: plan.files,
            own_net: layers.net.holds() && layers.loopback.holds(),
            own_ipc: layers.ipc.holds(),
            own_pids: alone,
            brokers_files: files.is_some(),
            traces: layers.tracing.holds(),
        };
        let filter = filter::worker_filter(&filter_plan).map_err(mistake)?;
        layers.seccomp = held(filter::install(&filter).as_ref());
        let ground = SocketGround {
            private: tree.map(mounts::Tree::temporary_devices).unwrap_or_default(),
            own_network: layers.net.holds(),
            elsewhere: plan.network.is_brokered(),
        };
        let confinement = Confinement {
            rules: &rules,
            filter: &filter,
            capabilities,
            names: NameRules { plan, absent },
            sockets: ground,
        };
        // Nothing waits where there are no filters.
        let files = files.filter(|_| layers.seccomp.holds());
        if let Layer::Refused(errno) = layers.seccomp {
            refuse(plan, layers, errno);
        }
        let files = files
            .map(|(thread, supervisor)| thread.confine(confinement, supervisor).map(|()| thread));
        let files = files.transpose().map_err(at(FailedStep::Broker))?;
        let pin = if alone { Vec::new() } else { filter::pin_filter().map_err(mistake)? };
        let brokered = brokered((plan, filter_plan, !absent.is_empty()), resolver, files, layers)?;
        if let Some(errno) = layers.shortage() {
            return Err((FailedStep::Other, io::Error::from_raw_os_error(errno)));
        }
        let stack = Stack::new().map_err(at(FailedStep::Other))?;
        let temporary = variables(plan, mount, temporary);
        let keeps_absent = brokered.as_ref().is_some_and(|brokered| brokered.keeps_absent);
        let watch = tree.filter(|_| mount);
        let watch = watch.map(|tree| watch_tree((tree, keeps_absent), plan, asks.as_ref()));
        let watch = watch.transpose()?;
        Ok(Self {
            pid: getpid(),
            activity,
            alone,
            watch,
            temporary,
            brokered,
            counters,
            root,
            children,
            stack,
            rules,
            limits: prepared,
            scheduling,
            sockets,
            capabilities,
            pin,
        })
    }

    /// Whether the tree no longer matches the plan.
    pub(crate) fn is_stale(&self) -> io::Result<bool> {
        self.watch.as_ref().map_or(Ok(false), |watch| Ok(watch.has_changed()?))
    }

    /// The thread that makes the calls on names, where these wait.
    pub(crate) fn file_thread(&self) -> Option<&FileThread> {
        self.brokered.as_ref()?.files.as_ref()
    }

    /// Waits for a command, and takes what answers its calls.
    fn start_command(
        &self,
        inbox: &mut Inbox,
        idle_ms: u32,
    ) -> io::Result<(ForkOutcome, CommandCalls<'_>)> {
        let mut calls = CommandCalls::default();
        let Some(brokered) = &self.brokered else {
            return Ok((wait_for_command(self, inbox, idle_ms)?, calls));
        };
        let mut start = || -> (io::Result<ForkOutcome>, Option<OwnedFd>, Option<OwnedFd>) {
            let outcome = wait_for_command(self, inbox, idle_ms);
            let is_command = matches!(outcome, Ok(ForkOutcome::Command { .. }));
            let ends = if is_command { brokered.channel.take_ends().ok().flatten() } else { None };
            let (listener, gate) =
                ends.map_or((None, None), |Ends { listener, gate }| (Some(listener), gate));
            (outcome, listener, gate)
        };
        // Without a broker, the kernel refuses the calls that would wait for it.
        let Some(files) = &brokered.files else {
            let (outcome, listener, gate) = start();
            let listener = listener.map(Listener::new);
            calls.broker = listener.and_then(|listener| brokered.broker(listener, gate));
            return Ok((outcome?, calls));
        };
        let is_shared = brokered.connections.is_some();
        let ((outcome, gate), session) = files.start_command(is_shared, || {
            let (outcome, listener, gate) = start();
            ((outcome, gate), listener)
        })?;
        if let Some((session, listener)) = session {
            calls.session = Some(session);
            calls.broker = listener.and_then(|listener| brokered.broker(listener, gate));
        }
        Ok((outcome?, calls))
    }

    fn serve(&self, inbox: &mut Inbox, idle_ms: u32) {
        while let Ok(true) = self.serve_one(inbox, idle_ms) {}
    }

    /// Waits for one command and runs it. Returns `false` when the worker has to end.
    fn serve_one(&self, inbox: &mut Inbox, idle_ms: u32) -> io::Result<bool> {
        let (outcome, calls) = self.start_command(inbox, idle_ms)?;
        let (leader, input) = match outcome {
            ForkOutcome::Command { leader, is_background, input } => {
                if is_background {
                    send(&*inbox, &Reply::Started.frame(), &[])?;
                }
                (leader, input)
            }
            other => return self.report_no_command(inbox, other),
        };
        let mut command = Command::new(self, leader, input, calls);
        match command.wait_for_event(inbox)? {
            Event::Kill => command.note_server(),
            Event::HostGone => {
                command.end();
                return Ok(false);
            }
            Event::Exited { status, is_all_gone: true } => {
                return self.report_end(inbox, command.end_with(status));
            }
            Event::Exited { status, is_all_gone: false } => {
                send(&*inbox, &Reply::Ended(status).frame(), &[])?;
                // The host reads what late writers write, and then asks for the end.
                if !wait_for_kill(inbox)? {
                    command.end();
                    return Ok(false);
                }
            }
        }
        let end = command.end();
        self.report_end(inbox, end)
    }

    /// The flag is cleared first: as soon as the host knows, it may remove the tree.
    fn report_end(&self, inbox: &Inbox, end: CommandEnd) -> io::Result<bool> {
        let CommandEnd { status, killed, mut usage, was_watched, git_calls } = end;
        if status != 0 {
            let Facts { refused_call, served_port, .. } = usage.facts;
            usage.facts = Facts { refused_call, served_port, ..self.counters.since() };
        }
        if was_watched {
            self.scheduling.attend(false);
        }
        self.activity.set(false);
        // A call that does not come to its end keeps the thread that makes them.
        let continues = git_calls.is_some();
        let unknown = GitCalls { made_directories: true, refused: Vec::new() };
        let GitCalls { made_directories, refused } = git_calls.unwrap_or(unknown);
        let done = Reply::Done(status, killed, usage, made_directories, refused);
        send(inbox, &done.frame(), &[])?;
        // The host has its answer.
        self.counters.settle();
        Ok(continues)
    }

    fn report_no_command(&self, inbox: &Inbox, outcome: ForkOutcome) -> io::Result<bool> {
        self.activity.set(false);
        if let Some(brokered) = &self.brokered {
            // The listener of a command that failed is not for the next one.
            let _ = brokered.channel.take();
        }
        let (reply, continues) = match outcome {
            ForkOutcome::Failed(step, errno) => (Reply::NotRun(step, errno), true),
            ForkOutcome::Stale => (Reply::Stale, false),
            ForkOutcome::Idle => (Reply::Goodbye, false),
            ForkOutcome::Retry => return Ok(true),
            ForkOutcome::HostGone | ForkOutcome::Command { .. } => return Ok(false),
        };
        send(inbox, &reply.frame(), &[])?;
        Ok(continues)
    }
}

/// Watches the tree. Where nobody keeps its absent paths absent, something has to stand for them.
fn watch_tree(
    (tree, keeps_absent): (&mounts::Tree, bool),
    plan: &Plan,
    asks: Option<&SupervisorSocket>,
) -> Result<mounts::Watch, Failure> {
    let mut absent = tree.absent().to_vec();
    if !absent.is_empty() && !keeps_absent {
        asks.ok_or(rustix::io::Errno::NOSYS).and_then(SupervisorSocket::stand_in).map_err(other)?;
        absent.clear();
    }
    let watch = mounts::Watch::of(tree, &plan.root).map_err(other)?;
    Ok(watch.keeping_absent(absent))
}

/// The root, while the tree is still this process's to look at.
fn open_root(plan: &Plan) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(&plan.root, flags, Mode::empty()).map_err(other)?;
    let identity = FileIdentity::of(&root).map_err(|error| (FailedStep::Other, error))?;
    // A root that is closed is covered by a directory of our own.
    if !plan.closed.contains(&plan.root) && !plan.is_granted(&plan.root, &identity) {
        return Err((FailedStep::Granted, rustix::io::Errno::STALE.into()));
    }
    Ok(root)
}

/// What names the directories for temporary files.
fn variables(plan: &Plan, mount: bool, temporary: Option<&Path>) -> Variables {
    match (plan.files, mount) {
        (Files::Full, _) => Variables::new(vec!["/".into()], None),
        (Files::Confined, true) => Variables::of_tree(plan.writable.clone()),
        (Files::Confined, false) => Variables::new(plan.writable.clone(), temporary),
    }
}

/// Whether the processes of a command may trace each other, and nothing else that they see: all of them are its own but
/// this one, which stays what no process may look into.
fn tracing(alone: bool) -> Layer {
    if !alone {
        return Layer::Refused(libc::EOPNOTSUPP);
    }
    // A change of rights makes this process what the system wants all such processes to be, and a thread of it changes
    // its rights for each caller that has others.
    match fs::read_to_string("/proc/sys/fs/suid_dumpable").as_deref().map(str::trim) {
        Ok("0" | "2") => Layer::Holds,
        _ => Layer::Refused(libc::EPERM),
    }
}

/// Waits until the host asks for the end. `false`: it is gone.
fn wait_for_kill(inbox: &mut Inbox) -> io::Result<bool> {
    while let Some(content) = inbox.wait()? {
        if let HostMessage::Kill = read_request_frame(&content).map_err(io::Error::other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn other(error: rustix::io::Errno) -> Failure {
    (FailedStep::Other, error.into())
}
