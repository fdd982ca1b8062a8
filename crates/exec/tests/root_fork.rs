//! Commands in a fork of their root.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::root_fork::{NoFork, RootFork};
use toolwright_exec::{Cancel, ExecError, ExecRequest, Exit, Finished, Sandbox, run};
use toolwright_fs::{DirectoryGrant, FileIdentity, WriteOptions};
use toolwright_sandbox::plan::{Granted, Limits, Network, Plan};
use toolwright_sandbox::wire::ForkOrder;

struct Place {
    _temporary: tempfile::TempDir,
    base: PathBuf,
    changes: PathBuf,
    fork: Arc<RootFork>,
}

impl Place {
    /// `None`: this machine makes no overlays.
    fn new() -> Option<Self> {
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let above = temporary.path().canonicalize().unwrap();
        let [base, changes, work] = ["base", "changes", "work"].map(|name| above.join(name));
        for directory in [&base, &changes, &work] {
            fs::create_dir(directory).unwrap();
        }
        fs::create_dir(base.join("src")).unwrap();
        fs::write(base.join("src/a.txt"), "base").unwrap();
        fs::write(base.join("gone.txt"), "base").unwrap();
        let lock: OwnedFd = fs::File::create(above.join("lock")).unwrap().into();
        let identity = FileIdentity::from(&fs::metadata(&base).unwrap());
        let order = ForkOrder { base: base.clone(), identity, changes: changes.clone(), work };
        match RootFork::make(&order, lock) {
            Ok(fork) => Some(Self { _temporary: temporary, base, changes, fork }),
            Err(NoFork::Refused(step, error)) => {
                eprintln!("skipped: {step:?}: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn grant(&self) -> DirectoryGrant {
        DirectoryGrant::of_fork("rootDir", &self.base, self.fork.granted())
    }

    fn sh(&self, line: &str) -> (Exit, String) {
        let finished = self.try_sh(line).unwrap();
        (finished.exit, String::from_utf8_lossy(&finished.output.bytes).into_owned())
    }

    fn try_sh(&self, line: &str) -> Result<Finished, ExecError> {
        let grant = self.grant();
        let (path, identity) = grant.real_path().unwrap();
        let plan = Plan {
            root: self.base.clone(),
            network: Network::Nothing,
            writable: vec![self.base.clone()],
            root_fork: Some(self.fork.granted().number),
            granted: vec![Granted { path: path.to_owned(), identity }],
            limits: Limits::DEFAULT,
            ..Plan::default()
        };
        let args = ["-c".to_owned(), line.to_owned()];
        let opened = format!("/proc/self/fd/{}", self.fork.granted().open.as_raw_fd());
        run(&ExecRequest {
            cwd: Path::new(&opened),
            sandbox: Some(Sandbox {
                plan: &plan,
                below: Path::new(""),
                required: false,
                isolated: false,
                on_open_files: |_| (),
            }),
            timeout: Duration::from_secs(60),
            cancel: &Cancel::new(),
            ..ExecRequest::new("sh", &args)
        })
    }
}

#[test]
fn commands_change_the_fork_and_not_the_root() {
    let Some(place) = Place::new() else { return };
    let base = place.base.display().to_string();
    let line = format!(
        "pwd; echo fork > {base}/src/a.txt; rm {base}/gone.txt; echo new > new.txt; cat src/a.txt"
    );
    assert_eq!(place.sh(&line), (Exit::Code(0), format!("{base}\nfork\n")));
    assert_eq!(fs::read_to_string(place.base.join("src/a.txt")).unwrap(), "base");
    assert!(place.base.join("gone.txt").exists() && !place.base.join("new.txt").exists());
    assert_eq!(fs::read_to_string(place.changes.join("src/a.txt")).unwrap(), "fork\n");
    // The next command sees it, in this worker and in another one.
    assert_eq!(place.sh("cat src/a.txt new.txt; ls").1, "fork\nnew\nnew.txt\nsrc\n");
}

#[test]
fn tools_of_the_host_work_in_the_fork() {
    let Some(place) = Place::new() else { return };
    let grant = place.grant();
    let never = std::sync::atomic::AtomicBool::new(false);
    let root = grant.open().unwrap();
    toolwright_fs::write(&root, "src/a.txt", b"host", &WriteOptions::default(), &never).unwrap();
    toolwright_fs::write(&root, "deep/b.txt", b"host", &WriteOptions::default(), &never).unwrap();
    // By its absolute path too, and what the system calls it is that path.
    let absolute = place.base.join("src/a.txt").display().to_string();
    assert_eq!(toolwright_fs::read(&root, &absolute, 100, &never).unwrap(), b"host");
    let located = root.locate("src").unwrap();
    assert_eq!((&*located.root, &*located.relative), (&*place.base, Path::new("src")));
    assert_eq!(fs::read_to_string(place.base.join("src/a.txt")).unwrap(), "base");
    assert_eq!(place.sh("cat src/a.txt deep/b.txt").1, "hosthost");
    assert!(!place.base.join("deep").exists());
}

#[test]
fn without_the_place_of_the_root_no_command_runs() {
    let Some(place) = Place::new() else { return };
    let away = place.base.with_extension("away");
    fs::rename(&place.base, &away).unwrap();
    // A file, so that nothing can be attached there, and a command that did without would be seen.
    fs::write(&place.base, "").unwrap();
    let marked = away.join("ran");
    assert!(place.try_sh(&format!("echo > {}", marked.display())).is_err());
    assert!(!marked.exists());
    fs::remove_file(&place.base).unwrap();
    fs::rename(&away, &place.base).unwrap();
    assert_eq!(place.sh("cat src/a.txt").1, "base");
}

#[test]
fn a_closed_fork_is_refused() {
    let Some(place) = Place::new() else { return };
    let grant = place.grant();
    assert_eq!(place.sh("true").0, Exit::Code(0));
    assert!(place.fork.close());
    let error = grant.open().unwrap_err().to_string();
    assert!(error.contains("closed"), "{error}");
}
