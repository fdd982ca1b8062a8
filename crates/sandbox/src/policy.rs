//! From the caller's options to a [`Plan`].

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use self::denied::Denied;
use crate::plan::{Files, Forked, Limits, Names, Network, Plan};

mod absent;
pub mod caches;
mod denied;
mod git;
mod grants;
mod links;
mod origin;
pub mod presets;
mod reserved;
mod scope;
mod sessions;
mod stamp;
mod state;
pub mod stores;
mod trail;

pub use denied::led_to;
pub use git::follows::{Follows, GitReference, GitReferenceKind, follows};
pub use grants::{
    ClosedNames, GrantError, GrantProblem, Grants, NamedGrant, RequestedPath, RequestedPaths,
    Resolved, refuse_led_out,
};
pub use sessions::sessions_directory;
pub use state::{forks_directory, marks_directory, state_directory};

/// The caller's options. Relative paths start at the root, `~/` at the home directory.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The root directory: absolute, and without symbolic links.
    pub root: &'a Path,
    /// The paths granted by name, resolved.
    pub resolved: &'a Resolved,
    /// What of the network commands reach.
    pub network: Network,
    /// The hosts of [`Network::Names`].
    pub names: Option<Arc<Names>>,
    /// Whether writes are confined.
    pub files: Files,
    /// What may be read.
    pub read_scope: ReadScope,
    /// Directories that may be written besides the root, as the caller wrote them.
    pub writable_roots: &'a [PathBuf],
    /// Readable paths below closed ones, as the caller wrote them.
    pub readable: &'a [PathBuf],
    /// Paths below the root that may not be written, and [names](presets) for several, which hold in every
    /// writable directory. `.git/hooks` and `.git/config` stand for the whole git directory, of which commands
    /// have a fork.
    pub deny_write: &'a [PathBuf],
    /// Whether commands leave nothing that git would obey while they run either ([`Plan::is_git_strict`]).
    pub is_git_strict: bool,
    /// Bounds on the resources of a command.
    pub limits: Limits,
    /// The home directory of the user, whose credentials are closed.
    pub home: Option<&'a Path>,
    /// The system's home directory of the user, if it differs.
    pub other_home: Option<&'a Path>,
    /// The environment of the host, which may move credential stores.
    pub variables: &'a [(OsString, OsString)],
    /// Where sessions of the tool contract keep their files, which others do not read.
    pub sessions: Option<&'a Path>,
    /// Where the package keeps state of this user, its [marks](Plan::marks) among it.
    pub state: Option<&'a Path>,
    /// The directories programs are looked up in, which a narrow scope leaves readable.
    pub path: Option<&'a OsStr>,
}

/// What may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadScope {
    /// Everything that is not closed.
    #[default]
    All,
    /// The system's directories, toolchains and the root.
    System,
}

/// Resolves options as the file system is now.
#[must_use]
pub fn plan(options: &Options<'_>) -> Plan {
    let Resolved { writable, readable, closed: by_name, granted, .. } = options.resolved.clone();
    let (mut writable, mut readable) = (writable, readable);
    writable.push(options.root.to_owned());
    let stores = Stores::find(options);
    // A link does not open its target in a store.
    for (written, real) in &options.resolved.links {
        if stores.are_reached_unnamed(written, real) {
            readable.retain(|path| path != real);
        }
    }
    let mut closed = by_name.clone();
    closed.extend(stores.closed());
    closed.extend(options.sessions.and_then(sessions::in_use));
    let asked_for = readable.clone();
    if options.read_scope == ReadScope::System {
        scope::narrow(options, &mut closed, &mut readable);
    }
    readable.extend(scope::temporary_toolchains(options.path, options.resolved));
    let links = links::of(options);
    // That programs are looked up in a closed directory does not open it; to name it does.
    readable.retain(|path| {
        asked_for.contains(path) || !by_name.iter().any(|closed| path.starts_with(closed))
    });
    let besides_root: Vec<PathBuf> =
        writable.iter().filter(|path| *path != options.root).cloned().collect();
    let Denied { mut protected, mut set_aside, mut hooks, mut repositories, .. } =
        Denied::find(options, &besides_root);
    let root_fork = options.resolved.root_fork.clone();
    if let Some(Forked { base, .. }) = &root_fork {
        // A fork has git directories of its own, and what commands make there comes nowhere before it is applied.
        repositories.retain(|repository| !repository.git.starts_with(base));
        for paths in [&mut set_aside, &mut hooks] {
            paths.retain(|path| !path.starts_with(base));
        }
        // What other forks have changed is none of this one's business.
        closed.extend(options.state.and_then(state::forks));
    }
    let is_writable = |path: &Path| {
        options.files == Files::Full || writable.iter().any(|writable| path.starts_with(writable))
    };
    protected.extend(stores.absent().filter(|path| is_writable(path)));
    let mut forks = Vec::new();
    let own = options.root.join(".git");
    let is_guarded = repositories.iter().any(|repository| repository.git == own);
    for repository in &repositories {
        git::hold(repository, is_writable, &mut protected, &mut forks);
    }
    let marks = options.state.map(|state| state::marks(state, is_writable));
    closed.extend(marks.iter().filter(|(_, is_closed)| *is_closed).map(|(path, _)| path.clone()));
    reserved::close(&mut closed, &mut readable);
    for paths in [&mut closed, &mut readable, &mut writable] {
        paths.sort_unstable();
        paths.dedup();
    }
    let caches = caches::of(options, &writable, &closed, &protected);
    Plan {
        root: options.root.to_owned(),
        network: options.network,
        names: options.names.clone(),
        files: options.files,
        writable,
        closed,
        readable,
        links,
        protected,
        forks,
        hides_git_directories: is_guarded,
        is_git_strict: options.is_git_strict,
        looks_below: is_guarded.then(|| options.root.to_owned()),
        hooks,
        caches,
        set_aside,
        marks: marks.map(|(path, _)| path),
        root_fork,
        trust: None,
        granted,
        limits: options.limits,
        origin: Some(Arc::new(origin::of(options))),
    }
}

/// The credential stores of a user, and which of them the caller opens.
struct Stores {
    located: Arc<stores::Located>,
    /// As they are written: a link among them that leads to a store does not name it.
    named: Vec<PathBuf>,
    /// Commands that may write wherever root may administer the system.
    with_those_of_system: bool,
}

impl Stores {
    fn find(options: &Options<'_>) -> Self {
        let mut homes: Vec<&Path> = options.home.into_iter().chain(options.other_home).collect();
        homes.dedup();
        let located = stores::find(&homes, options.variables);
        let at = |path: &PathBuf| absolute(path, options.root, options.home);
        let named = options.readable.iter().chain(options.writable_roots).map(at);
        let with_those_of_system = options.files == Files::Confined;
        Self {
            located,
            named: named.chain([options.root.to_owned()]).collect(),
            with_those_of_system,
        }
    }

    /// A store is opened by what names it, and not by what holds it.
    fn closed(&self) -> impl Iterator<Item = PathBuf> {
        let is_named = |path: &PathBuf| self.named.contains(path);
        let closed = self.located.there.iter();
        closed
            .filter(|store| self.with_those_of_system || store.rule != stores::Rule::System)
            .filter(move |store| !is_named(&store.named) && !is_named(&store.real))
            .map(|store| store.real.clone())
    }

    /// Whether a path leads into a store by a link, which a command may have made.
    fn are_reached_unnamed(&self, written: &Path, real: &Path) -> bool {
        self.located.there.iter().any(|store| {
            let is_named = written.starts_with(&store.named) || written.starts_with(&store.real);
            real.starts_with(&store.real) && !is_named
        })
    }

    /// Where something could be put that is obeyed later.
    fn absent(&self) -> impl Iterator<Item = PathBuf> {
        self.located.absent.iter().filter(|path| !self.named.contains(path)).cloned()
    }
}

/// For the hooks or the configuration of a repository: its directory, and which of them.
fn of_repository(path: &Path) -> Option<(&Path, &'static str)> {
    let directory = path.parent().filter(|above| above.file_name() == Some(OsStr::new(".git")))?;
    let name = git::NAMES.iter().find(|name| path.file_name() == Some(OsStr::new(name)))?;
    Some((directory, name))
}

/// The path without `.`, `..` and `~/`. Relative paths start at the root. No link is followed.
#[must_use]
pub fn absolute(path: &Path, root: &Path, home: Option<&Path>) -> PathBuf {
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => root.join(path),
    };
    // Nearly all are, and to take one apart takes longer than to look.
    let mut names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    if names.next() == Some(b"") && names.all(|name| !matches!(name, b"" | b"." | b"..")) {
        return path;
    }
    let mut clean = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => {
                clean.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    clean
}

#[cfg(test)]
mod tests;
