//! The program itself, as a host has it: a supervisor, and a worker that runs one command after the other.

use std::fs;
use std::io::{Read, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};
use toolwright_sandbox::refused_git::RefusedGit;
use toolwright_sandbox::wire::{
    Inbox, Order, Reply, Request, WORKER, command_fork_frame, discard_private_frame, fork_frame,
    kill_frame, plain_frame, private_frame, run_frame, send, settle_private_frame, write_order,
};

/// The same for commands inside and outside.
pub(crate) const VARIABLES: [(&str, &str); 9] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/nowhere"),
    ("LC_ALL", "C"),
    ("GIT_AUTHOR_NAME", "a"),
    ("GIT_AUTHOR_EMAIL", "a@b"),
    ("GIT_COMMITTER_NAME", "a"),
    ("GIT_COMMITTER_EMAIL", "a@b"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

pub(crate) struct Sandbox {
    supervisor: Child,
    socket: UnixStream,
    worker: Inbox,
    pub(crate) layers: Layers,
    pub(crate) root: PathBuf,
    place: Option<tempfile::TempDir>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) made_git_directories: bool,
    /// What a strict plan has refused.
    pub(crate) refused: Vec<RefusedGit>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::with(true, Network::PrivateLoopback)
    }

    pub(crate) fn with(hides: bool, network: Network) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let change =
            |plan: &mut Plan| (plan.hides_git_directories, plan.network) = (hides, network);
        let mut sandbox = Self::start_at(&root, change);
        sandbox.place = Some(place);
        sandbox
    }

    /// As [`new`](Self::new), under a strict plan.
    pub(crate) fn strict() -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let mut sandbox = Self::start_at(&root, |plan| plan.is_git_strict = true);
        sandbox.place = Some(place);
        assert!(!sandbox.holds() || sandbox.layers.strict_git.holds(), "{:?}", sandbox.layers);
        sandbox
    }

    /// As [`new`](Self::new), with a root that the caller has made, and a plan that it changes.
    pub(crate) fn start_at(root: &Path, change: impl FnOnce(&mut Plan)) -> Self {
        Self::start_prepared(root, change, |_| {})
    }

    /// As [`start_at`](Self::start_at), where the program is prepared before it starts.
    pub(crate) fn start_prepared(
        root: &Path,
        change: impl FnOnce(&mut Plan),
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let root = root.to_owned();
        let mut plan = Plan {
            root: root.clone(),
            network: Network::PrivateLoopback,
            files: Files::Confined,
            writable: vec![root.clone()],
            hides_git_directories: true,
            limits: Limits { processes: Some(4096), ..Limits::default() },
            ..Plan::default()
        };
        change(&mut plan);
        let (socket, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright-sandbox"));
        prepare(&mut command);
        let supervisor = command
            .arg0("toolwright-sandbox")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let order = Order {
            plan,
            without_mounts: None,
            idle_ms: 600_000,
            joins_network: false,
            shares_temporary: false,
        };
        send(&socket, &plain_frame(&write_order(&order)), &[]).unwrap();
        let (worker, layers) = Self::worker(&socket);
        Self { supervisor, socket, worker, layers, root, place: None }
    }

    fn worker(supervisor: &UnixStream) -> (Inbox, Layers) {
        let (socket, theirs) = UnixStream::pair().unwrap();
        send(supervisor, &plain_frame(WORKER), &[theirs.as_fd()]).unwrap();
        drop(theirs);
        let mut worker = Inbox::new(socket.into());
        let reply = Reply::read(&worker.wait().unwrap().unwrap()).unwrap();
        worker.take_descriptor();
        let Reply::Ready(layers) = reply else { panic!("{reply:?}") };
        (worker, layers)
    }

    /// Has the next commands run in another worker of the same supervisor. The former one is kept.
    pub(crate) fn exchange_worker(&mut self) -> Inbox {
        std::mem::replace(&mut self.worker, Self::worker(&self.socket).0)
    }

    /// Whether git directories of commands are private here.
    pub(crate) fn holds(&self) -> bool {
        let holds = self.layers.hidden_git.holds();
        if !holds {
            let Layers { mount, pid, .. } = self.layers;
            assert!(!mount.holds() || !pid.holds(), "{:?}", self.layers);
            eprintln!("skipped: {:?}", self.layers);
        }
        holds
    }

    /// Starts a shell.
    pub(crate) fn start(&self, script: &str) -> impl Read + use<> {
        self.start_program("/bin/bash", &["bash", "-c", script])
    }

    /// Runs a program without arguments to its end.
    pub(crate) fn run_program(&mut self, program: &str) {
        drop(self.start_program(program, &[program]));
        assert!(self.end().0.success());
    }

    fn start_program(&self, program: &str, arguments: &[&str]) -> impl Read + use<> {
        Self::start_program_on(&self.worker, program, arguments)
    }

    /// Starts a shell on another worker.
    pub(crate) fn start_on(worker: &Inbox, script: &str) -> impl Read + use<> {
        Self::start_program_on(worker, "/bin/bash", &["bash", "-c", script])
    }

    fn start_program_on(worker: &Inbox, program: &str, arguments: &[&str]) -> impl Read + use<> {
        let (reader, writer) = pipe().unwrap();
        let request = Request { program: program.as_bytes(), cwd: b"", ..Request::default() };
        let arguments = arguments.iter().map(|argument| argument.as_bytes());
        let variables = VARIABLES.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let frame = run_frame(&request, arguments, variables.into_iter());
        send(worker, &frame, &[writer.as_fd()]).unwrap();
        reader
    }

    /// Ends what was started.
    pub(crate) fn end(&mut self) -> (ExitStatus, bool) {
        Self::end_on(&mut self.worker)
    }

    /// Ends what was started on another worker.
    pub(crate) fn end_on(worker: &mut Inbox) -> (ExitStatus, bool) {
        let (status, made, _) = Self::whole_end_on(worker);
        (status, made)
    }

    fn whole_end_on(worker: &mut Inbox) -> (ExitStatus, bool, Vec<RefusedGit>) {
        loop {
            match Reply::read(&worker.wait().unwrap().unwrap()).unwrap() {
                Reply::Ended(_) => send(&*worker, &kill_frame(), &[]).unwrap(),
                Reply::Done(status, _, _, made, refused) => {
                    return (ExitStatus::from_raw(status), made, refused);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn kill(&self) {
        send(&self.worker, &kill_frame(), &[]).unwrap();
    }

    /// Runs a shell to its end.
    pub(crate) fn run(&mut self, script: &str) -> Ended {
        let mut reader = self.start(script);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        let (status, made_git_directories, refused) = Self::whole_end_on(&mut self.worker);
        let output = String::from_utf8_lossy(&bytes).into_owned();
        Ended { status, output, made_git_directories, refused }
    }

    /// Runs a shell that has to succeed.
    pub(crate) fn output(&mut self, script: &str) -> String {
        let ended = self.run(&format!("exec 2>&1; set -e; {script}"));
        assert!(ended.status.success(), "{script}: {ended:?}");
        ended.output
    }

    fn ask(&self, frame: &[u8]) -> Inbox {
        let (socket, theirs) = UnixStream::pair().unwrap();
        send(&self.socket, frame, &[theirs.as_fd()]).unwrap();
        Inbox::new(socket.into())
    }

    /// The private directories: where they are, their content, and what the host sees there.
    pub(crate) fn private(&self) -> Vec<(PathBuf, OwnedFd, OwnedFd)> {
        let mut all = Vec::new();
        loop {
            let mut answer = self.ask(&private_frame(u32::try_from(all.len()).unwrap()));
            match Reply::read(&answer.wait().unwrap().unwrap()).unwrap() {
                Reply::Private(path) => {
                    let mut next = || answer.take_descriptor().unwrap();
                    let (content, covered) = (next(), next());
                    all.push((path, content, covered));
                }
                Reply::NoPrivate => return all,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Where they are, below the root.
    pub(crate) fn private_paths(&self) -> Vec<String> {
        let below = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        self.private().iter().map(|(path, ..)| below(path)).collect()
    }

    pub(crate) fn discard(&self, path: &Path) {
        assert!(self.ask(&discard_private_frame(path)).wait().unwrap().is_none());
    }

    /// Makes a private directory a fork, and returns what changes in that and where it lies.
    pub(crate) fn settle(&self, path: &Path) -> Result<(OwnedFd, PathBuf), i32> {
        Self::forked(path, self.ask(&settle_private_frame(path)))
    }

    /// What changes in a fork, and where it lies.
    pub(crate) fn fork(&self, path: &Path, anew: bool) -> Result<(OwnedFd, PathBuf), i32> {
        Self::forked(path, self.ask(&fork_frame(path, anew)))
    }

    /// As [`fork`](Self::fork), of a repository that commands have made.
    pub(crate) fn command_fork(&self, path: &Path) -> Result<(OwnedFd, PathBuf), i32> {
        self.command_fork_of(path, path)
    }

    /// As [`command_fork`](Self::command_fork), where commands have made another directory.
    pub(crate) fn command_fork_of(
        &self,
        path: &Path,
        made: &Path,
    ) -> Result<(OwnedFd, PathBuf), i32> {
        let metadata = fs::metadata(made).unwrap();
        let identity = (metadata.dev(), metadata.ino());
        Self::forked(path, self.ask(&command_fork_frame(path, identity)))
    }

    fn forked(path: &Path, mut answer: Inbox) -> Result<(OwnedFd, PathBuf), i32> {
        let path = match Reply::read(&answer.wait().unwrap().unwrap()).unwrap() {
            Reply::Fork => path.to_owned(),
            Reply::MovedFork(path) => path,
            Reply::NoFork(errno) => return Err(errno),
            other => panic!("{other:?}"),
        };
        Ok((answer.take_descriptor().unwrap(), path))
    }

    /// The git directories that the host sees, below the root. All of them have to be empty.
    pub(crate) fn visible(&self) -> Vec<String> {
        self.visible_but(&[])
    }

    /// As [`visible`](Self::visible), where some may have content.
    pub(crate) fn visible_but(&self, full: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        find(&self.root, &mut |path| {
            let name = path.file_name().unwrap().to_string_lossy();
            if name.eq_ignore_ascii_case(".git") {
                let metadata = fs::symlink_metadata(path).unwrap();
                if metadata.is_dir() {
                    let content: Vec<_> = fs::read_dir(path).unwrap().map(Result::unwrap).collect();
                    let below = path.strip_prefix(&self.root).unwrap().display().to_string();
                    let may_be_full = full.contains(&below);
                    assert!(may_be_full || content.is_empty(), "{below}: {content:?}");
                }
                found.push(path.strip_prefix(&self.root).unwrap().display().to_string());
            }
        });
        found.sort();
        found
    }
}

/// Calls `on` for each entry below a directory.
pub(crate) fn find(directory: &Path, on: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        on(&entry.path());
        if entry.file_type().unwrap().is_dir() {
            find(&entry.path(), on);
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.worker, rustix::net::Shutdown::Both);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.supervisor.wait();
    }
}
