//! A fixture for commands: the test program, started again as a supervisor with workers.
//!
//! It has one thread from its first instruction on, as the real supervisor does: it does its work
//! before `main`, so there is no test harness.

#![expect(dead_code, reason = "each test program uses a part of it")]

mod older_kernel;
pub(crate) mod stepped;
mod supervisor;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs};

use rustix::process::geteuid;
use tempfile::TempDir;
use toolwright_sandbox::plan::{Files, Network, Plan};

/// A user without any rights.
pub(crate) const NOBODY: u32 = 65534;

/// The status of a worker that could not be set up.
pub(crate) const BROKEN: i32 = 99;

/// Whether the test can do what needs root. Prints a notice if not.
#[must_use]
pub(crate) fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("skipped: not root");
    }
    root
}

/// Every user that this process can become. Prints a notice if one of them cannot start this
/// program, because its directory is closed to others.
#[must_use]
pub(crate) fn users() -> Vec<u32> {
    if !geteuid().is_root() {
        return vec![geteuid().as_raw()];
    }
    let program = env::current_exe().expect("the test program has a path");
    let mut trial = Command::new(program);
    let started = trial.arg("--help").stdout(Stdio::null()).uid(NOBODY).gid(NOBODY).status();
    if started.is_ok_and(|status| status.success()) {
        return vec![0, NOBODY];
    }
    eprintln!("skipped: another user cannot enter the directory of this program");
    vec![0]
}

/// Tries something as every user that this process can be, each with a directory of its own.
pub(crate) fn each_user(act: impl Fn(u32, &Path)) {
    for user in users() {
        eprintln!("as user {user}");
        let directory = directory(user);
        act(user, directory.path());
    }
}

/// A directory of that user's, not in one for temporary files, and gone when it is dropped.
#[must_use]
pub(crate) fn directory(user: u32) -> TempDir {
    let base = if geteuid().is_root() { "/run" } else { env!("CARGO_TARGET_TMPDIR") };
    directory_in(user, Path::new(base))
}

/// As [`directory`], below `base`.
#[must_use]
pub(crate) fn directory_in(user: u32, base: &Path) -> TempDir {
    let directory = tempfile::Builder::new().prefix("toolwright ").tempdir_in(base);
    let directory = directory.expect("a directory can be made");
    chown(directory.path(), Some(user), Some(user)).expect("it can be given away");
    directory
}

/// Makes a file, its directories too, and gives all of that to the owner of `root`.
pub(crate) fn write(root: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(root).expect("it is there").uid();
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("directories can be made");
    fs::write(&path, text).expect("it can be written");
    for above in path.ancestors().take_while(|above| *above != root) {
        chown(above, Some(owner), Some(owner)).expect("it can be given away");
    }
    path
}

/// Gives a file or directory to that user.
pub(crate) fn give(user: u32, path: &Path) {
    chown(path, Some(user), Some(user)).expect("it can be given away");
}

/// Gives a directory to a group that the user namespace of its owner does not know, so that the
/// supervisor's capabilities do not count there. Only root can.
pub(crate) fn give_to_strange_group(directory: &Path) {
    let _ = chown(directory, None, Some(1));
}

/// A plan that confines files to `root`.
#[must_use]
pub(crate) fn confined(root: &Path) -> Plan {
    Plan {
        root: root.to_owned(),
        network: Network::PrivateLoopback,
        files: Files::Confined,
        writable: vec![root.to_owned()],
        ..Plan::default()
    }
}

/// This program, started as that user.
fn program_of(user: u32) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test program has a path"));
    if geteuid().as_raw() != user {
        command.uid(user).gid(user);
    }
    command
}

/// A supervisor.
pub(crate) struct Fixture {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// What became of the layers, as text.
    pub(crate) layers: String,
    /// Why the tree could not be built.
    pub(crate) error: Option<String>,
}

impl Fixture {
    /// Starts one as that user. It has all its layers.
    #[must_use]
    pub(crate) fn start(user: u32, plan: &Plan) -> Self {
        let fixture = Self::try_start(user, plan);
        assert_eq!(fixture.error, None);
        assert!(!fixture.layers.contains("Refused"), "{}", fixture.layers);
        fixture
    }

    /// Starts one as that user.
    #[must_use]
    pub(crate) fn try_start(user: u32, plan: &Plan) -> Self {
        Self::open(program_of(user), plan)
    }

    /// Starts one after a script has prepared the place, run by root in namespaces of its own, which
    /// are asked for with `unshare`'s options.
    #[must_use]
    pub(crate) fn start_prepared(user: u32, plan: &Plan, options: &[&str], script: &str) -> Self {
        Self::open(Self::prepared(user, options, script), plan)
    }

    /// As [`start_prepared`](Self::start_prepared), for which the kernel is one before Linux 5.12.
    #[must_use]
    pub(crate) fn prepared_on_older_kernel(
        user: u32,
        plan: &Plan,
        options: &[&str],
        script: &str,
    ) -> Self {
        let mut command = Self::prepared(user, options, script);
        older_kernel::pretend(&mut command);
        Self::open(command, plan)
    }

    fn prepared(user: u32, options: &[&str], script: &str) -> Command {
        let program = env::current_exe().expect("the test program has a path");
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-e", "-c"]);
        let user = user.to_string();
        if user == "0" {
            command.arg(format!("{script}\nexec \"$0\"")).arg(program);
        } else {
            let change =
                format!("exec setpriv --reuid {user} --regid {user} --clear-groups \"$0\"");
            command.arg(format!("{script}\n{change}")).arg(program);
        }
        command
    }

    /// Starts one as that user that has no worker yet.
    #[must_use]
    pub(crate) fn without_workers(user: u32, plan: &Plan) -> Self {
        let fixture = Self::spawn(program_of(user), plan);
        assert_eq!(fixture.error, None);
        fixture
    }

    fn open(command: Command, plan: &Plan) -> Self {
        let mut fixture = Self::spawn(command, plan);
        if fixture.error.is_some() {
            return fixture;
        }
        // The first worker decides on the process namespace.
        let (_, status) = fixture.run("true");
        assert_eq!(status, 0, "there can be workers");
        fixture.layers = fixture.run("@layers").0;
        fixture
    }

    /// Starts one as that user, for which the kernel is one before Linux 5.12.
    #[must_use]
    pub(crate) fn on_older_kernel(user: u32, plan: &Plan) -> Self {
        let mut command = program_of(user);
        older_kernel::pretend(&mut command);
        let fixture = Self::open(command, plan);
        assert_eq!(fixture.error, None);
        fixture
    }

    fn spawn(mut command: Command, plan: &Plan) -> Self {
        if env::var_os("TOOLWRIGHT_TEST_OLDER_KERNEL").is_some() {
            older_kernel::pretend(&mut command);
        }
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        supervisor::hand_over(plan, &mut command);
        let mut child = command.spawn().expect("the fixture starts");
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("it has a pipe"));
        let mut fixture = Self { child, to, from, layers: String::new(), error: None };
        let error = fixture.answer().0;
        fixture.error = (!error.is_empty()).then_some(error);
        fixture
    }

    /// Runs a shell script in a worker, and returns its output and its status.
    pub(crate) fn run(&mut self, script: &str) -> (String, i32) {
        let to = self.to.as_mut().expect("the fixture runs");
        to.write_all(script.as_bytes()).and_then(|()| to.write_all(b"\0")).expect("it listens");
        self.answer()
    }

    /// As [`run`](Self::run), for a script that must succeed.
    pub(crate) fn check(&mut self, script: &str) -> String {
        let (output, status) = self.run(script);
        assert_eq!(status, 0, "{script}\n{output}{}", self.layers);
        output
    }

    /// As [`run`](Self::run), for scripts each of which must fail.
    pub(crate) fn refuse(&mut self, scripts: &[&str]) {
        for script in scripts {
            let (output, status) = self.run(script);
            assert!(status != 0 && status != BROKEN, "{script}: {status}\n{output}");
        }
    }

    /// Ends it as the host does.
    pub(crate) fn end(mut self) {
        drop(self.to.take());
        let status = self.child.wait().expect("it can be waited for");
        assert!(status.success(), "{status}");
    }

    /// Ends it with no time for anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    fn answer(&mut self) -> (String, i32) {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).expect("it answers");
        assert_eq!(text.pop(), Some(0), "it ended: {}", String::from_utf8_lossy(&text));
        let mut status = [0; 4];
        self.from.read_exact(&mut status).expect("it answers");
        (String::from_utf8_lossy(&text).into_owned(), i32::from_ne_bytes(status))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}
