//! File rules by Landlock.
//!
//! A rule grants, and no rule takes a grant back. So a path is closed by granting everything around it
//! (see `rules/reading.rs`). That happens only where no mount covers the path. A command cannot remove
//! a mount, and closing by rules would also make every later file beside a closed path unreadable.
//!
//! This module makes the three system calls itself. The `landlock` crate consumes a ruleset when it
//! applies it, while one ruleset here serves many commands and may not allocate. It reports refusals as
//! types, while the report needs the error number. Choosing what to grant would remain here anyway.
//!
//! No file of `/proc` can be written under these rules. `/proc/self` is another file in every process, so
//! a rule could only open all of `/proc`, with `/proc/sys` and the scores by which the kernel chooses a
//! victim for memory. The calls that fail (naming another thread, lowering one's own score) may fail
//! for every program that makes them.

mod probe;
mod reading;
mod system;
pub(crate) mod trial;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use self::system::Handled;
use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::{FileIdentity, Files, Network, Plan};

/// The private directories that come with the mounts.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Files that may be written everywhere. All of them get `ioctl` too: programs ask by it whether a
/// file is a terminal, and expect the kernel's own answer.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// The rules for the commands of one plan, and what of it they can hold.
#[derive(Debug)]
pub struct Ruleset {
    fd: Option<OwnedFd>,
    flags: u32,
    /// The version of the interface, or 0 where there is none.
    pub abi: u32,
    /// Writes are confined.
    pub files: Layer,
    /// Closed paths are closed. Unused where mounts do it.
    pub closed: Layer,
    /// Protected paths cannot be written. Unused where mounts do it.
    pub protected: Layer,
    /// Signals and abstract sockets end at the command.
    pub scope: Layer,
    /// TCP is refused.
    pub tcp: Layer,
    /// How many paths should be granted and are not: entries beside a closed path beyond the bound,
    /// and directories above one that cannot be listed. Nothing becomes readable by this.
    pub left_out: usize,
}

/// The layers and paths that the rules complement.
#[derive(Clone, Copy)]
struct Ground<'a> {
    mounts_hold: bool,
    own_net: bool,
    temporary: &'a [PathBuf],
}

/// Builds the rules. They bind the files that the paths lead to now, and no later mount; the worker's
/// `/proc` must be mounted already.
///
/// Without mounts, the rules for reading depend on the siblings of closed paths. A command that renames
/// those could mislead rules that are built after it, so they are built once, before any command.
///
/// `mounts_hold`: the mount tree is in place, which covers closed paths, holds protected ones, and
/// has private temporary directories. `own_net`: the commands have a network of their own.
/// `temporary`: directories that are writable beside those of the plan.
#[must_use]
pub fn prepare(plan: &Plan, mounts_hold: bool, own_net: bool, temporary: &[PathBuf]) -> Ruleset {
    let ground = Ground { mounts_hold, own_net, temporary };
    match build(plan, ground) {
        Ok(ruleset) => ruleset,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ENOSYS);
            let what = |asked| if asked { Layer::Refused(errno) } else { Layer::Unused };
            Ruleset {
                fd: None,
                flags: 0,
                abi: 0,
                files: what(plan.files == Files::Confined),
                closed: what(!mounts_hold && !plan.closed.is_empty()),
                protected: what(!mounts_hold && read_only(plan).next().is_some()),
                scope: what(true),
                tcp: what(no_tcp(plan, ground)),
                left_out: 0,
            }
        }
    }
}

impl Ruleset {
    /// Restricts the calling thread for good, and does nothing where there is no Landlock. The
    /// thread must not be able to gain privileges. Neither allocates nor locks.
    pub fn restrict_self(&self) -> io::Result<()> {
        match &self.fd {
            Some(fd) => Ok(system::restrict_self(fd.as_fd(), self.flags)?),
            None => Ok(()),
        }
    }
}

fn build(plan: &Plan, ground: Ground<'_>) -> io::Result<Ruleset> {
    let abi = system::version()?;
    let handled = system::known(abi, handled_rights(plan, ground));
    let fd = system::create(&handled)?;
    let may = |rights| rights & handled.files;

    let private = if ground.mounts_hold { &PRIVATE[..] } else { &[] };
    let writable = plan.writable.iter().chain(ground.temporary).map(PathBuf::as_path);
    let writable = writable.chain(private.iter().map(Path::new));
    // Where a git directory or a cache has no fork, its mount is read-only.
    let (forks, caches) =
        if ground.mounts_hold { (&plan.forks[..], &plan.caches[..]) } else { (&[][..], &[][..]) };
    let writable = writable.chain(forks.iter().chain(caches).map(PathBuf::as_path));

    let root = openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut read = reading::Outcome::default();
    if ground.mounts_hold || plan.closed.is_empty() {
        system::grant(fd.as_fd(), &root, may(system::READ | system::READ_DIR))?;
    } else {
        // Names cannot be closed: listing a directory would need a grant for it alone.
        system::grant(fd.as_fd(), &root, may(system::READ_DIR))?;
        read = reading::grant(fd.as_fd(), &root, may(system::READ), plan, ground.temporary)?;
    }
    if plan.files == Files::Full {
        // What does not handle it refuses it altogether.
        let refer = may(system::REFER);
        if refer != 0 {
            system::grant(fd.as_fd(), &root, refer)?;
        }
    } else {
        let named_sockets = if plan.is_git_strict { system::MAKE_SOCK } else { 0 };
        let beneath = system::WRITE_BENEATH & !named_sockets;
        let rights = may(beneath | system::READ | system::RESOLVE_UNIX);
        // What lies there is no work tree of a person's, unless one is mounted below it.
        let holds_none = |path: &&Path| !plan.writable.iter().any(|at| at.starts_with(path));
        for path in private.iter().map(Path::new).filter(holds_none) {
            grant_at(&fd, path, rights | may(named_sockets), plan)?;
        }
        for path in writable {
            read.left_out += usize::from(!grant_at(&fd, path, rights, plan)?);
        }
        let rights = may(system::WRITE_FILE | system::READ_FILE | system::IOCTL_DEV);
        for path in DEVICES {
            grant_at(&fd, Path::new(path), rights, plan)?;
        }
    }
    let flags = system::flags(abi);
    let trial = probe::restricted(fd.as_fd(), flags)?;

    let layer =
        |asked: bool, handled: u64, confirmed: Option<bool>| match (asked, handled, confirmed) {
            (false, ..) => Layer::Unused,
            (true, 0, _) | (_, _, Some(false)) => Layer::Refused(libc::EOPNOTSUPP),
            (true, ..) => Layer::Holds,
        };
    let confined = plan.files == Files::Confined;
    Ok(Ruleset {
        fd: Some(fd),
        flags,
        abi,
        files: layer(confined, handled.files, trial.confines_writes),
        closed: closed(plan, ground, &read),
        protected: protected(plan, ground),
        scope: layer(true, handled.scopes, trial.confines_signals),
        tcp: layer(no_tcp(plan, ground), handled.ports, trial.refuses_tcp),
        left_out: read.left_out,
    })
}

/// The rights that the plan would handle on a kernel that knows all of them.
fn handled_rights(plan: &Plan, ground: Ground<'_>) -> Handled {
    let mut handled_rights = Handled {
        files: system::READ | system::READ_DIR | system::REFER,
        ports: 0,
        scopes: system::SCOPES,
    };
    if plan.files == Files::Confined {
        handled_rights.files |= system::WRITE;
        if plan.network != Network::Open {
            handled_rights.files |= system::RESOLVE_UNIX;
        }
    }
    // What is granted nowhere is refused everywhere.
    if plan.is_git_strict {
        handled_rights.files |= system::MAKE_SOCK;
    }
    if no_tcp(plan, ground) {
        handled_rights.ports = system::PORTS;
    }
    handled_rights
}

/// Whether a command has nothing to connect to. By the broker it is the supervisor that connects.
fn no_tcp(plan: &Plan, ground: Ground<'_>) -> bool {
    match plan.network {
        Network::Open => false,
        Network::PrivateLoopback | Network::Names => !ground.own_net,
        Network::Nothing | Network::HostLoopback => true,
    }
}

fn closed(plan: &Plan, ground: Ground<'_>, read: &reading::Outcome) -> Layer {
    if ground.mounts_hold || plan.closed.is_empty() {
        Layer::Unused
    } else if read.left_open {
        Layer::Refused(libc::EOPNOTSUPP)
    } else {
        Layer::Holds
    }
}

/// What may not be written below a writable path. Without mounts nothing has a fork.
fn read_only(plan: &Plan) -> impl Iterator<Item = &PathBuf> {
    plan.protected.iter().chain(&plan.forks)
}

fn protected(plan: &Plan, ground: Ground<'_>) -> Layer {
    let is_granted = |path: &PathBuf| {
        plan.writable.iter().chain(ground.temporary).any(|granted| path.starts_with(granted))
    };
    if ground.mounts_hold || read_only(plan).next().is_none() {
        Layer::Unused
    } else if plan.files == Files::Full || read_only(plan).any(is_granted) {
        Layer::Refused(libc::EOPNOTSUPP)
    } else {
        Layer::Holds
    }
}

/// Grants the file at a path, if there is one. `false` means that a file is there and is not granted.
///
/// No link is followed. The plan has none, so a command has put it there, and would choose what is
/// granted. A directory other than the granted one is refused too.
fn grant_at(ruleset: &OwnedFd, path: &Path, rights: u64, plan: &Plan) -> io::Result<bool> {
    let opened = match open(path) {
        Ok(opened) => opened,
        Err(error) => return Ok(error == Errno::NOENT),
    };
    if !plan.is_granted(path, &FileIdentity::of(&opened)?) {
        return Ok(false);
    }
    match system::grant(ruleset.as_fd(), &opened, rights) {
        // Not a directory.
        Err(Errno::INVAL) => system::grant(ruleset.as_fd(), &opened, rights & system::OF_FILES)?,
        other => other?,
    }
    Ok(true)
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // A container's filter that is older than the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        other => return other,
    }
    let flags = flags | OFlags::NOFOLLOW;
    let start = openat(CWD, "/", flags, Mode::empty())?;
    // A link on the way is opened as itself, and contains nothing.
    let opened = path
        .components()
        .skip(1)
        .try_fold(start, |at, name| openat(at, name.as_os_str(), flags, Mode::empty()))?;
    let kind = FileType::from_raw_mode(fstat(&opened)?.st_mode);
    if kind == FileType::Symlink { Err(Errno::LOOP) } else { Ok(opened) }
}
