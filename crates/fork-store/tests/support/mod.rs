//! A base and a store on a real file system.
#![allow(clippy::allow_attributes, dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_exec::{Cancel, ExecRequest, Exit, Sandbox, run};
use toolwright_fork_store::{Change, ChangeKind, EntryKind, ForkError, OpenFork, Store};
use toolwright_sandbox::plan::{Forked, Granted, Limits, Network, Plan};

pub(crate) struct Place {
    pub(crate) base: PathBuf,
    pub(crate) store: Store,
    pub(crate) never: AtomicBool,
    _temporary: tempfile::TempDir,
}

impl Place {
    /// `None`: this machine makes no overlays.
    pub(crate) fn new(files: &[(&str, &str)]) -> Option<Self> {
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let above = temporary.path().canonicalize().unwrap();
        let base = above.join("base");
        fs::create_dir(&base).unwrap();
        for (path, content) in files {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let store = Store::open(&above.join("store/forks"), vec![".vscode".into()]).unwrap();
        match store.fork(&base, None) {
            Ok(probe) => probe.discard().unwrap(),
            Err(ForkError::Unavailable { reason, .. }) => {
                eprintln!("skipped: {reason}");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
        Some(Self { base, store, never: AtomicBool::new(false), _temporary: temporary })
    }

    /// A fork, and a path to what is in it.
    pub(crate) fn fork(&self) -> (OpenFork, PathBuf) {
        let open = self.store.fork(&self.base, Some("test")).unwrap();
        let view = view(&open);
        (open, view)
    }

    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, String> {
        tree(&self.base)
    }
}

/// A path to what is in a fork.
pub(crate) fn view(open: &OpenFork) -> PathBuf {
    let root = Arc::new(open.granted("rootDir").open().unwrap());
    // The fork keeps the descriptor open.
    let number = root.as_fd().as_raw_fd();
    format!("/proc/self/fd/{number}").into()
}

/// Runs a command line in a fork as commands of tools run.
pub(crate) fn sh(open: &OpenFork, line: &str) -> String {
    let grant = open.granted("rootDir");
    let (path, identity) = grant.real_path().unwrap();
    let plan = Plan {
        root: path.to_owned(),
        network: Network::Nothing,
        writable: vec![path.to_owned()],
        root_fork: Forked::of(&grant),
        granted: vec![Granted { path: path.to_owned(), identity }],
        limits: Limits::DEFAULT,
        ..Plan::default()
    };
    let finished = run(&ExecRequest {
        cwd: &view(open),
        sandbox: Some(Sandbox {
            plan: &plan,
            below: Path::new(""),
            required: true,
            isolated: false,
            on_open_files: |_| (),
        }),
        timeout: Duration::from_secs(60),
        cancel: &Cancel::new(),
        ..ExecRequest::new("sh", &["-ec".to_owned(), line.to_owned()])
    })
    .unwrap();
    let output = String::from_utf8_lossy(&finished.output.bytes).into_owned();
    assert_eq!(finished.exit, Exit::Code(0), "{output}");
    output
}

/// Each change as one line.
pub(crate) fn shown(changes: &[Change]) -> Vec<String> {
    let line = |change: &Change| {
        let sign = match change.kind {
            ChangeKind::Created => '+',
            ChangeKind::Modified => '~',
            ChangeKind::Deleted => '-',
        };
        let slash = if change.entry == EntryKind::Directory { "/" } else { "" };
        let conflict = if change.conflict.is_some() { " !" } else { "" };
        format!("{sign} {}{slash}{conflict}", change.path.display())
    };
    changes.iter().map(line).collect()
}

/// All files and links of a directory with what they hold, and empty directories.
pub(crate) fn tree(directory: &Path) -> BTreeMap<PathBuf, String> {
    fn add(directory: &Path, top: &Path, into: &mut BTreeMap<PathBuf, String>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        let mut is_empty = true;
        for entry in entries {
            is_empty = false;
            let path = entry.unwrap().path();
            let relative = path.strip_prefix(top).unwrap().to_owned();
            // A fork lists what the base had until it looks at it.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let kind = found.file_type();
            if kind.is_dir() {
                add(&path, top, into);
            } else if kind.is_symlink() {
                into.insert(relative, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else {
                into.insert(relative, fs::read_to_string(&path).unwrap_or_default());
            }
        }
        if is_empty {
            into.insert(directory.strip_prefix(top).unwrap().to_owned(), "/".to_owned());
        }
    }
    let mut all = BTreeMap::new();
    add(directory, directory, &mut all);
    all
}
