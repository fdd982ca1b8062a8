//! A directory to run commands in, as they are or confined.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};
use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Exit, Finished, Output, Sandbox, run};
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};

use super::{LONG, soon, stat, strings, text};

/// Marks the processes of a place's commands in their environment, since their numbers are those of
/// another namespace.
const MARK: &str = "TOOLWRIGHT_EXEC_MARK";

/// Prints which worker runs the shell: its namespace, its number and its start time.
pub(crate) const WORKER: &str =
    "readlink /proc/self/ns/pid; echo $PPID; cut -d' ' -f22 /proc/$PPID/stat";

pub(crate) struct Place {
    /// Beside the root, where commands may not write.
    pub(crate) outside: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) plan: Plan,
    pub(crate) is_confined: bool,
    pub(crate) isolated: bool,
    pub(crate) required: bool,
    pub(crate) mark: String,
    _directory: tempfile::TempDir,
}

impl Place {
    fn new(is_confined: bool) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let directory = tempfile::tempdir().expect("dir");
        let outside = directory.path().canonicalize().expect("real");
        let root = outside.join("root");
        fs::create_dir(&root).expect("dir");
        let (host, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let now = std::time::UNIX_EPOCH.elapsed().expect("time").as_nanos();
        let plan = Plan {
            root: root.clone(),
            network: Network::PrivateLoopback,
            files: Files::Confined,
            writable: vec![root.clone()],
            limits: Limits { processes: Some(4096), ..Limits::default() },
            ..Plan::default()
        };
        let mark = format!("{host}-{count}-{now:x}");
        Self {
            outside,
            root,
            plan,
            is_confined,
            isolated: false,
            required: true,
            mark,
            _directory: directory,
        }
    }

    pub(crate) fn confined() -> Self {
        Self::new(true)
    }

    /// Unconfined and confined: what holds for one holds for the other.
    pub(crate) fn both() -> [Self; 2] {
        [Self::new(false), Self::new(true)]
    }

    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        vec![("PATH".into(), path), (MARK.into(), self.mark.clone().into())]
    }

    pub(crate) fn sandbox<'a>(&'a self, below: &'a Path) -> Option<Sandbox<'a>> {
        let Self { plan, isolated, required, .. } = self;
        let sandbox = Sandbox {
            plan,
            below,
            required: *required,
            isolated: *isolated,
            on_open_files: |_| (),
        };
        self.is_confined.then_some(sandbox)
    }

    /// With a generous limit and timeout.
    pub(crate) fn request<'a>(&'a self, cmd: &'a str, args: &'a [String]) -> ExecRequest<'a> {
        ExecRequest {
            cwd: &self.root,
            env: ExecEnv::Exactly(self.variables().into()),
            timeout: LONG,
            max_output_bytes: 1 << 20,
            sandbox: self.sandbox(Path::new("")),
            ..ExecRequest::new(cmd, args)
        }
    }

    pub(crate) fn run(&self, cmd: &str, args: &[&str]) -> Result<Finished, ExecError> {
        run(&self.request(cmd, &strings(args)))
    }

    /// In a directory below the root, which this process sees as `cwd`.
    pub(crate) fn run_in(
        &self,
        cwd: &Path,
        below: &str,
        cmd: &str,
        args: &[&str],
    ) -> Result<Finished, ExecError> {
        let (args, sandbox) = (strings(args), self.sandbox(Path::new(below)));
        run(&ExecRequest { cwd, sandbox, ..self.request(cmd, &args) })
    }

    pub(crate) fn sh(&self, script: &str) -> Result<Finished, ExecError> {
        self.run("sh", &["-c", script])
    }

    /// The output of a script.
    pub(crate) fn output(&self, script: &str) -> String {
        text(&self.sh(script).expect("runs")).trim_end().to_owned()
    }

    pub(crate) fn within(&self, timeout: Duration, script: &str) -> Result<Finished, ExecError> {
        let args = strings(&["-c", script]);
        run(&ExecRequest { timeout, ..self.request("sh", &args) })
    }

    /// Runs a script that must time out; its output.
    pub(crate) fn timed_out(&self, timeout: Duration, script: &str) -> Output {
        match self.within(timeout, script) {
            Err(ExecError::TimedOut { output, stderr: None, timeout: reported, .. }) => {
                assert_eq!(reported, timeout);
                output
            }
            other => panic!("{other:?}"),
        }
    }

    /// The processes of its commands.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes(&self.mark)
    }

    pub(crate) fn is_clear(&self) -> bool {
        soon(|| self.processes().is_empty())
    }

    /// The worker of a command that runs.
    pub(crate) fn worker(&self) -> u32 {
        let of = |process: &u32| {
            let mut process = *process;
            while !is_of_sandbox(process) {
                process = parent(process)?;
            }
            Some(process)
        };
        // A process that has just ended has no parent.
        let mut identity = None;
        assert!(soon(|| self
            .processes()
            .iter()
            .find_map(of)
            .inspect(|of| identity = Some(*of))
            .is_some()));
        identity.expect("it was found")
    }
}

/// Whether this system has namespaces for processes and for files. It prints a notice if not: a
/// container may have neither, and then a part of the tests cannot run.
pub(crate) fn has_namespaces() -> bool {
    static HAS: LazyLock<bool> = LazyLock::new(|| {
        let mut place = Place::confined();
        place.isolated = true;
        let own = |kind| fs::read_link(format!("/proc/self/ns/{kind}")).expect("a link");
        let theirs = |kind| place.output(&format!("readlink /proc/self/ns/{kind}"));
        // Where files have a tree of their own, the root is a mount.
        let mounts = format!("grep -c ' {} ' /proc/self/mountinfo", place.root.display());
        own("pid").display().to_string() != theirs("pid")
            && place.sh(&mounts).is_ok_and(|finished| finished.exit == Exit::Code(0))
    });
    if !*HAS {
        eprintln!("skipped: there are no namespaces for processes and files");
    }
    *HAS
}

/// The processes with this mark; a zombie has no environment.
pub(crate) fn processes(mark: &str) -> Vec<u32> {
    let mark = format!("{MARK}={mark}");
    let has_it = |process: &u32| {
        fs::read(format!("/proc/{process}/environ")).is_ok_and(|variables| {
            variables.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
        })
    };
    all().filter(has_it).collect()
}

/// The supervisors of a host that live.
pub(crate) fn supervisors(host: u32) -> Vec<u32> {
    all().filter(|process| is_of_sandbox(*process) && parent(*process) == Some(host)).collect()
}

/// The workers of those supervisors.
pub(crate) fn workers(host: u32) -> Vec<u32> {
    supervisors(host).into_iter().flat_map(supervisors).collect()
}

/// The supervisor of a worker, which may have lost it.
pub(crate) fn supervisor(worker: u32) -> Option<u32> {
    parent(worker).filter(|process| is_of_sandbox(*process))
}

fn parent(process: u32) -> Option<u32> {
    stat(&process.to_string())?[1].parse().ok()
}

pub(crate) fn signal(process: u32, signal: Signal) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a number");
    kill_process(process, signal).expect("it is there");
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn is_of_sandbox(process: u32) -> bool {
    // A zombie has no arguments.
    let arguments = fs::read(format!("/proc/{process}/cmdline"));
    arguments.is_ok_and(|arguments| arguments.starts_with(b"toolwright-sandbox\0"))
}
