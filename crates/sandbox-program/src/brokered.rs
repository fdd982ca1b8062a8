//! Calls of commands that are answered by their worker.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use toolwright_sandbox::layers::{Layer, Layers, is_shortage};
use toolwright_sandbox::plan::{Files, Network, Plan};
use toolwright_sandbox::step::FailedStep;

use crate::broker::files::{FileThread, Probed, SupervisorSocket, WaitingNames};
use crate::broker::listener::Listener;
use crate::command::CommandBroker;
use crate::filter::sockets::unix_is_open;
use crate::{broker, errno, filter, mounts};

/// The step that failed, and why.
pub(crate) type Failure = (FailedStep, io::Error);

/// A filter whose calls are answered here, and how its listener gets here.
pub(crate) struct Brokered {
    pub(crate) channel: broker::Channel,
    pub(crate) program: filter::Program,
    /// Whether calls can wait here. Otherwise the kernel refuses those that would.
    can_wait: bool,
    /// Which connections wait.
    pub(crate) connections: Option<broker::Connections>,
    /// Where the plan names hosts.
    pub(crate) resolver: Option<broker::Resolver>,
    /// Makes the calls on names, where these wait.
    pub(crate) files: Option<FileThread>,
    /// Whether paths that are to stay absent do: whatever could make or write a file waits.
    pub(crate) keeps_absent: bool,
}

impl Brokered {
    /// Whether the filter can be installed before the command is known: no gate of a command comes with it.
    pub(crate) fn is_known_early(&self) -> bool {
        matches!(self.connections, None | Some(broker::Connections::Own { .. }))
    }

    /// Installs the filter in the process of a command. Allocates nothing.
    pub(crate) fn install(&self, gate: Option<BorrowedFd<'_>>) -> io::Result<()> {
        if self.can_wait {
            broker::install_in_child(&self.program, self.channel.child_end(), gate)
        } else {
            filter::install(&self.program)
        }
    }

    pub(crate) fn broker(
        &self,
        listener: Listener,
        gate: Option<OwnedFd>,
    ) -> Option<CommandBroker<'_>> {
        let connections = self.connections?;
        CommandBroker::new(listener, gate, connections, self.resolver.as_ref()).ok()
    }
}

/// A resolver that the commands of this worker ask, and no other. It has to have a tree of mounts for
/// itself. What commands trust besides the authorities of the system is laid over those.
pub(crate) fn resolver(
    plan: &Plan,
    alone: bool,
    layers: &mut Layers,
) -> Result<Option<broker::Resolver>, Failure> {
    if plan.network != Network::Names {
        return Ok(None);
    }
    mounts::lay_trust(plan.trust.as_deref().filter(|_| alone))
        .map_err(|error| (FailedStep::Mounts, error.into()))?;
    let open = || -> io::Result<broker::Resolver> {
        if !alone || !layers.net.holds() || !layers.loopback.holds() {
            return Err(rustix::io::Errno::OPNOTSUPP.into());
        }
        let resolver = broker::Resolver::open()?;
        mounts::name_resolver(&resolver.settings())?;
        Ok(resolver)
    };
    let opened = open();
    layers.resolver = held(opened.as_ref());
    Ok(opened.ok())
}

/// The thread that makes calls for commands, where some are to wait, and what it asks the supervisor by.
pub(crate) fn file_thread(
    plan: &Plan,
    (supervisor, keeps_absent): (Option<SupervisorSocket>, bool),
    layers: &mut Layers,
) -> Result<Option<(FileThread, SupervisorSocket)>, Failure> {
    if !layers.mount.holds() {
        return Ok(None);
    }
    let Some(supervisor) = supervisor else {
        refuse(plan, layers, libc::EOPNOTSUPP);
        return Ok(None);
    };
    let is_forked = plan.root_fork.is_some();
    if !plan.hides_git_directories && !owns_sockets(plan) && !keeps_absent && !is_forked {
        return Ok(None);
    }
    match FileThread::start() {
        Ok(thread) => Ok(Some((thread, supervisor))),
        Err(error) => {
            let errno = errno::of(&error).raw_os_error();
            // That the system is out of processes or memory is no finding.
            if is_shortage(errno) {
                return Err((FailedStep::Broker, error));
            }
            refuse(plan, layers, errno);
            Ok(None)
        }
    }
}

/// Whether commands have unix sockets of their own, and no others.
fn owns_sockets(plan: &Plan) -> bool {
    !unix_is_open(plan.network, plan.files)
}

/// Notes that no thread makes calls for commands.
pub(crate) fn refuse(plan: &Plan, layers: &mut Layers, errno: i32) {
    if plan.hides_git_directories {
        layers.hidden_git = Layer::Refused(errno);
    }
    if owns_sockets(plan) {
        layers.own_sockets = Layer::Refused(errno);
    }
}

/// The broker of a plan whose connections or calls on names wait for one. With `keeps_absent` there are paths that are
/// to stay absent.
pub(crate) fn brokered(
    (plan, filter_plan, keeps_absent): (&Plan, filter::FilterPlan, bool),
    resolver: Option<broker::Resolver>,
    files: Option<FileThread>,
    layers: &mut Layers,
) -> Result<Option<Brokered>, Failure> {
    let at = |error| (FailedStep::Broker, error);
    let connections = match plan.network {
        Network::Names => Some(broker::Connections::Names),
        Network::HostLoopback => Some(broker::Connections::Loopback),
        _ => None,
    };
    if connections.is_none() && files.is_none() {
        return Ok(None);
    }
    let channel = broker::Channel::new().map_err(at)?;
    let hides = plan.hides_git_directories;
    let mut rules = files.as_ref().map(|files| broker::FileRules {
        thread: files.number(),
        waits: true,
        // What is tried is a call on a name.
        names: WaitingNames::Everything,
        plan: filter_plan,
        closes_openat2: plan.files == Files::Confined || plan.is_git_strict || keeps_absent,
        opens: plan.is_git_strict || keeps_absent,
    });
    if let (Some(files), Some(rules)) = (&files, &mut rules) {
        let program = broker::program_of(None, Some(*rules)).map_err(mistake)?;
        let probed = held(files.probe(&program, &channel, Probed::Name).as_ref());
        rules.waits = probed.holds();
        rules.names = if hides || keeps_absent {
            WaitingNames::Everything
        } else if plan.root_fork.is_some() {
            WaitingNames::Renames
        } else {
            WaitingNames::Nothing
        };
        if hides {
            layers.hidden_git = probed;
        }
        if owns_sockets(plan) {
            layers.own_sockets = probed;
        }
        let everything = rules.names == WaitingNames::Everything;
        if rules.waits && everything && rules.opens {
            let probed = held(files.probe(&program, &channel, Probed::Opening).as_ref());
            rules.opens = probed.holds();
            if hides && plan.is_git_strict {
                layers.strict_git = probed;
            }
        }
    }
    let waits = rules.is_some_and(|rules| rules.waits);
    let keeps_absent = rules
        .is_some_and(|rules| rules.waits && rules.names == WaitingNames::Everything && rules.opens);
    if connections.is_some() {
        let program = broker::program_of(connections, None).map_err(mistake)?;
        layers.broker = held(broker::probe(&program).as_ref());
    }
    let own = broker::Connections::Own { listens: !layers.net.holds() };
    let connections = connections.or((waits && owns_sockets(plan)).then_some(own));
    let program = broker::program_of(connections, rules).map_err(mistake)?;
    let can_wait = waits || layers.broker.holds();
    let brokered =
        Brokered { channel, program, can_wait, connections, resolver, files, keeps_absent };
    Ok(Some(brokered))
}

/// What became of a layer that was tried.
pub(crate) fn held<T>(result: Result<&T, &io::Error>) -> Layer {
    match result {
        Ok(_) => Layer::Holds,
        Err(error) => Layer::Refused(errno::of(error).raw_os_error()),
    }
}

pub(crate) fn mistake(error: filter::FilterTooLong) -> Failure {
    (FailedStep::Seccomp, io::Error::other(error))
}
