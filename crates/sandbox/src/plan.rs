//! What a command may do. The host resolves the caller's options to a [`Plan`], and the sandbox
//! program carries it out without deciding anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_fs::DirectoryGrant;
pub use toolwright_fs::FileIdentity;
use toolwright_git::name::holds_git_name;

/// The directory of our own programs, which only commands with a tree of their own have.
pub const PROGRAMS: &str = "/dev/toolwright";
/// The one that is in it: it applies patches.
pub const APPLY_PATCH: &str = "apply_patch";

/// Where commands find the objects of the git directories that they have forks of, for reading. Each has a
/// directory there, named by a number.
pub const OBJECTS: &str = "/dev/toolwright-objects";

/// Where commands find the certificates that they trust, where the plan adds one: that alone, and all.
pub const TRUSTED: &str = "/dev/toolwright-trust";
/// The one that is added.
pub const TRUSTED_ONE: &str = "/dev/toolwright-trust/authority.pem";
/// All of them, which also lie over those of the system.
pub const TRUSTED_ALL: &str = "/dev/toolwright-trust/bundle.pem";
/// There, the keys of SSH hosts.
pub const TRUSTED_HOSTS: &str = "/dev/toolwright-trust/known_hosts";
/// The SSH agent of commands. No file is there: a connection to this path is one to the host process.
pub const SSH_AGENT: &str = "/dev/toolwright-ssh-agent";

/// All of them, as Java reads them.
pub const TRUSTED_JAVA: &str = "/dev/toolwright-trust/cacerts";
/// Where systems keep those.
pub const SYSTEM_TRUSTED_JAVA: [&str; 2] = ["/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts"];
/// Where systems keep the certificates of all authorities in one file. Several may be the same file.
pub const SYSTEM_TRUSTED: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
];

/// The modification time of everything that stands for an absent protected path, in seconds: in the year
/// 2001, when nothing of this existed. Every file system can store whole and even seconds.
pub const PLACEHOLDER_TIME: i64 = 981_173_106;

/// One configuration. Commands of equal plans share a supervisor, and with it the private loopback,
/// the private temporary directory, shared memory and message queues. While a background process runs,
/// commands of its [`origin`](Self::origin) share its loopback too.
///
/// All paths are absolute, without `.`, `..`, doubled slashes or a slash at the end, and without
/// symbolic links at the time the plan was made.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Plan {
    /// The directory commands work in.
    pub root: PathBuf,
    /// What of the network they reach.
    pub network: Network,
    /// The hosts of [`Network::Names`]. Commands of other hosts share no loopback with these.
    pub names: Option<Arc<Names>>,
    /// Whether writes are confined to [`writable`](Self::writable).
    pub files: Files,
    /// Writable directories while files are confined: the root, and those that the caller adds.
    pub writable: Vec<PathBuf>,
    /// Paths that may not be read: credential stores, paths that the caller closes, and with a
    /// narrow read scope everything that is neither the system's nor the root's. All of them exist.
    pub closed: Vec<PathBuf>,
    /// What may be read below a closed path, beside what may be written.
    pub readable: Vec<PathBuf>,
    /// The links on the way from the names of grants. Commands have them where they see nothing else of the host.
    pub links: Vec<Link>,
    /// What may not be written below a writable path. Need not exist.
    pub protected: Vec<PathBuf>,
    /// Git directories of which commands have forks: they see them as they are, and what they write stays with
    /// them. The host parses it, and writes what it accepts. All of them exist. What has no objects is
    /// read-only. Commands share a supervisor whatever these are.
    pub forks: Vec<PathBuf>,
    /// Directories of hooks in the project of which commands have forks too: what they write there reaches nobody
    /// else. All of them exist and are [`protected`](Self::protected).
    pub hooks: Vec<PathBuf>,
    /// Where programs keep what they can make again, outside of what may be written. Commands have forks of these:
    /// they find what is there, and what they write stays in memory with them. All of them exist. Where no fork can be
    /// made, they are read-only.
    pub caches: Vec<PathBuf>,
    /// Whether git directories that commands make are private to them: the host sees an empty directory where a
    /// command made one, and gets the content as data.
    pub hides_git_directories: bool,
    /// Whether the host sees nothing that git would obey while a command runs either: calls that open files for
    /// writing wait too, and what would complete a git directory of plain files is refused. Addresses of
    /// repositories that were there before do not change. Holds only together with
    /// [`hides_git_directories`](Self::hides_git_directories).
    pub is_git_strict: bool,
    /// Where the host looks after commands for repositories that they have made or changed.
    pub looks_below: Option<PathBuf>,
    /// Absent paths that programs on the host would obey. The host sets aside what commands make there.
    pub set_aside: Vec<PathBuf>,
    /// Where the host keeps what it knows of all that while commands run, for the next host if this one is killed.
    /// Commands that can write around it find it closed.
    pub marks: Option<PathBuf>,
    /// The fork that commands see in the place of a directory: the root, or one around or beside it. The directory itself
    /// is then out of their reach.
    pub root_fork: Option<Forked>,
    /// What commands trust besides the authorities of the system.
    pub trust: Option<Arc<Trust>>,
    /// The identities of the root and other granted directories. One that has become another is not
    /// bound, and one inside a writable directory is kept in its place.
    pub granted: Vec<Granted>,
    /// Bounds on the resources of a command.
    pub limits: Limits,
    /// What was asked for. Without one, the plan itself is all that is known of that.
    pub origin: Option<Arc<Origin>>,
}

/// What a caller asked for. The plan made of it depends on the disk as well: on the stores, repositories
/// and sessions that there are. What is asked for stays the same as they come and go.
///
/// It decides which commands reach each other's servers, and grants nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The root, if there is one for all commands.
    pub root: Option<PathBuf>,
    /// The fork that commands see.
    pub root_fork: Option<Forked>,
    /// What of the network they reach.
    pub network: Network,
    /// The hosts of [`Network::Names`].
    pub names: Option<Arc<Names>>,
    /// Whether writes are confined.
    pub files: Files,
    /// What may be written besides the root.
    pub writable: Vec<PathBuf>,
    /// What may be read in spite of what closes it.
    pub readable: Vec<PathBuf>,
    /// Whether nothing but the system, toolchains and the root may be read.
    pub is_narrow: bool,
    /// What may not be read, by name.
    pub closed: Vec<PathBuf>,
    /// What may not be written, by name.
    pub protected: Vec<PathBuf>,
    /// Which directories the root and the writable ones are.
    pub granted: Vec<Granted>,
    /// Bounds on the resources of a command.
    pub limits: Limits,
    /// The home directory that names begin in.
    pub home: Option<PathBuf>,
}

/// A certificate authority that commands trust besides those of the system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Trust {
    /// Its certificate, in PEM form.
    pub authority: String,
    /// Files with the others. What cannot be read is left out.
    pub others: Vec<PathBuf>,
    /// The keys of SSH hosts, as a file of known hosts. Empty: there are none.
    pub known_hosts: String,
}

/// A fork that commands see in the place of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Forked {
    /// Its number in this process.
    pub number: u64,
    /// The directory: absolute, and without links.
    pub base: PathBuf,
}

/// A path that was granted by name, and which file it was then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Granted {
    /// Absolute, and without links when it was looked at.
    pub path: PathBuf,
    /// The file that must be there.
    pub identity: FileIdentity,
}

/// A link of the host, which leads to something granted. It opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Where it is: absolute, and without links above it.
    pub path: PathBuf,
    /// What it contains.
    pub target: PathBuf,
}

impl Forked {
    /// What is seen by commands of a grant; `None` for one that is no fork.
    #[must_use]
    pub fn of(grant: &DirectoryGrant) -> Option<Self> {
        Some(Self { number: grant.fork()?, base: grant.forked()?.to_owned() })
    }
}

impl Plan {
    /// Whether a path lies in the directory that commands see a fork of. What the host has there is not what commands see.
    #[must_use]
    pub fn is_forked(&self, path: &Path) -> bool {
        self.root_fork.as_ref().is_some_and(|seen| path.starts_with(&seen.base))
    }

    /// Whether this plan without forks is the other one, whatever that has of them.
    #[must_use]
    pub fn is_but_for_forks(&self, other: &Self) -> bool {
        let Self {
            root,
            network,
            names,
            files,
            writable,
            closed,
            readable,
            links,
            protected,
            hooks,
            caches,
            hides_git_directories,
            is_git_strict,
            looks_below,
            set_aside,
            marks,
            root_fork,
            trust,
            granted,
            limits,
            origin,
            forks,
        } = self;
        forks.is_empty()
            && *root == other.root
            && *network == other.network
            && *names == other.names
            && *files == other.files
            && *writable == other.writable
            && *closed == other.closed
            && *readable == other.readable
            && *links == other.links
            && *protected == other.protected
            && *hooks == other.hooks
            && *caches == other.caches
            && *hides_git_directories == other.hides_git_directories
            && *is_git_strict == other.is_git_strict
            && *looks_below == other.looks_below
            && *set_aside == other.set_aside
            && *marks == other.marks
            && *root_fork == other.root_fork
            && *trust == other.trust
            && *granted == other.granted
            && *limits == other.limits
            && *origin == other.origin
    }

    /// Whether the file at a path is the granted one. A path that was not granted by name may be
    /// any file.
    #[must_use]
    pub fn is_granted(&self, path: &Path, identity: &FileIdentity) -> bool {
        self.granted.iter().all(|granted| granted.path != path || granted.identity.is(identity))
    }

    /// Whether commands may write at a path.
    #[must_use]
    pub fn writes(&self, path: &Path) -> bool {
        self.files == Files::Full || self.writable.iter().any(|written| path.starts_with(written))
    }

    /// Leaves commands these directories to write. A fork of what they may not write would bring changes back.
    pub fn narrow(&mut self, writable: Vec<PathBuf>) {
        self.writable = writable;
        let (mut forks, mut hooks) =
            (std::mem::take(&mut self.forks), std::mem::take(&mut self.hooks));
        forks.retain(|path| self.writes(path));
        hooks.retain(|path| self.writes(path));
        (self.forks, self.hooks) = (forks, hooks);
    }

    /// Whether a path lies in a git directory, wherever that is. Commands have a fork of it at most.
    #[must_use]
    pub fn is_of_git(&self, path: &Path) -> bool {
        self.hides_git_directories && holds_git_name(path)
            || self.forks.iter().any(|fork| path.starts_with(fork))
    }

    /// Whether a path may not be read. The longest path around it decides.
    #[must_use]
    pub fn closes(&self, path: &Path) -> bool {
        self.closed_around(path).is_some()
    }

    /// The closed path by which a path may not be read.
    #[must_use]
    pub fn closed_around(&self, path: &Path) -> Option<&Path> {
        let length = |one: &PathBuf| one.components().count();
        let around = |paths| <[PathBuf]>::iter(paths).filter(|one| path.starts_with(one));
        let open = around(&self.readable).chain(around(&self.writable)).map(length).max();
        let closed = around(&self.closed).max_by_key(|one| length(one))?;
        (open <= Some(length(closed))).then_some(closed)
    }
}

/// What of the network a command reaches.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// All that the host reaches.
    Open,
    /// Nothing but a loopback interface that the commands of this plan have for themselves.
    PrivateLoopback,
    /// Nothing: there are no internet sockets.
    #[default]
    Nothing,
    /// The loopback interface of the host, by a broker that makes the connections.
    HostLoopback,
    /// Hosts by name, beside a private loopback interface: a resolver there knows the names, and the host
    /// makes the connections.
    Names,
}

impl Network {
    /// Whether commands have a loopback interface for themselves.
    #[must_use]
    pub fn has_private_loopback(self) -> bool {
        matches!(self, Self::PrivateLoopback | Self::Names)
    }

    /// Whether connections wait for a broker.
    #[must_use]
    pub fn is_brokered(self) -> bool {
        matches!(self, Self::HostLoopback | Self::Names)
    }
}

/// The hosts that commands reach by name, as the caller wrote them. What they mean is decided where
/// connections are made; in a plan they tell one list from another.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    /// Patterns of hosts, with a port or without.
    pub allow: Vec<String>,
    /// Patterns of hosts that are reached if the host program agrees.
    pub ask: Vec<String>,
    /// Patterns of hosts that are not reached in spite of that.
    pub deny: Vec<String>,
    /// Lists of patterns, each of which has to allow a host as well.
    pub within: Vec<Vec<String>>,
    /// Names, and the address that each leads to in place of what the system says.
    pub addresses: Vec<(String, String)>,
    /// Whether the TLS server name must equal the name that is connected to.
    pub tls_names: bool,
}

/// Whether writes are confined.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Files {
    /// Writes reach the writable directories, a private temporary directory and harmless devices.
    #[default]
    Confined,
    /// Writes reach everything that the user may write, except protected paths. Closed paths stay
    /// closed.
    Full,
}

/// Bounds on the resources of a command's processes. `None` leaves the system's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Limits {
    /// How many processes and threads there may be at once.
    pub processes: Option<u64>,
    /// How much memory: of all processes together where a control group holds it, else of each.
    pub memory_bytes: Option<u64>,
    /// How much processor time each process may use.
    pub cpu_seconds: Option<u64>,
    /// How long a file may become.
    pub file_size_bytes: Option<u64>,
}

impl Limits {
    /// The limits where the caller has none: a number of processes, threads included. It is as many
    /// as a parallel build on a large machine has, and no more than a system can bear from one command.
    ///
    /// Memory has no bound: any number would be wrong for some compiler, a bound for each process says
    /// nothing about their sum, and when memory runs out the kernel kills the command first. The
    /// timeout of the call bounds processor time, and the disk bounds file size.
    ///
    /// ```
    /// use toolwright_sandbox::plan::Limits;
    ///
    /// assert_eq!(Limits::DEFAULT, Limits { processes: Some(4096), ..Limits::default() });
    /// ```
    pub const DEFAULT: Self = Self {
        processes: Some(4096),
        memory_bytes: None,
        cpu_seconds: None,
        file_size_bytes: None,
    };
}
