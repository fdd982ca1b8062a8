//! Commands in a fork of their root.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::root_fork::{Holder, NoFork, RootFork};
use toolwright_exec::{Cancel, ExecError, ExecRequest, Exit, Finished, Sandbox, run};
use toolwright_fs::{
    DirectoryGrant, FileIdentity, FsErrorKind, Root, RootChange, Roots, WriteOptions,
};
use toolwright_sandbox::plan::{Forked, Granted, Limits, Network, Plan};
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
        match RootFork::make(Holder::start().unwrap(), &order, lock) {
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
            root_fork: Forked::of(&grant),
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
fn a_directory_of_the_fork_is_granted_as_long_as_it_is_that_one() {
    let Some(place) = Place::new() else { return };
    let grant = place.grant();
    let part = |path: &Path| grant.in_fork("adHoc[0]", path);
    assert!(part(&place.base.with_extension("other")).is_none());
    assert!(part(&place.base.join("absent")).unwrap().open().is_err());
    let src = part(&place.base.join("src")).unwrap();
    let never = std::sync::atomic::AtomicBool::new(false);
    let write = |root: &Root| {
        toolwright_fs::write(root, "b.txt", b"part", &WriteOptions::default(), &never).unwrap();
    };
    // The first change copies the directory, which stays the same one.
    write(&src.open().unwrap());
    write(&src.open().unwrap());
    assert_eq!(place.sh("cat src/b.txt").1, "part");
    assert!(!place.base.join("src/b.txt").exists());
    let changed = |now| {
        let error = src.open().unwrap_err();
        matches!(error.kind, FsErrorKind::RootChanged { now: found, .. } if found == now)
    };
    assert_eq!(place.sh("mv src old").0, Exit::Code(0));
    assert!(changed(RootChange::Gone));
    assert_eq!(place.sh("mkdir src").0, Exit::Code(0));
    assert!(changed(RootChange::Directory));
    assert_eq!(place.sh("rmdir src; ln -s old src").0, Exit::Code(0));
    assert!(changed(RootChange::File));
    // Nor is a link of the fork followed when a directory is granted.
    assert!(part(&place.base.join("src")).unwrap().open().is_err());
    assert!(place.base.join("src/a.txt").exists());
}

#[test]
fn a_path_from_elsewhere_does_not_lead_to_what_was_forked() {
    let Some(place) = Place::new() else { return };
    let above = place.base.parent().unwrap();
    symlink(&place.base, above.join("lead")).unwrap();
    fs::write(above.join("beside.txt"), "beside").unwrap();
    let roots = Roots::of(vec![place.grant().open().unwrap()], vec![Root::open(above).unwrap()]);
    let open = |path: &Path| roots.open_target(&path.display().to_string());
    assert_eq!(place.sh("echo fork > src/a.txt").0, Exit::Code(0));
    let never = std::sync::atomic::AtomicBool::new(false);
    let in_fork = open(&place.base.join("src/a.txt")).unwrap();
    assert_eq!(in_fork.read_beginning(100, &never).unwrap(), b"fork\n");
    let beside = open(&above.join("beside.txt")).unwrap();
    for path in ["lead/src/a.txt", "lead/new.txt", "lead/src", "lead/src/../gone.txt"] {
        let error = open(&above.join(path)).unwrap_err();
        assert!(matches!(error.kind, FsErrorKind::Escape { via_link: true }), "{path}: {error}");
    }
    // A change of files on both sides has no root.
    assert!(roots.around(&[&in_fork]).is_some_and(|root| root.path() == place.base));
    assert!(roots.around(&[&in_fork, &beside]).is_none());
}

#[test]
fn commands_are_stopped_when_the_fork_has_too_many_bytes() {
    let Some(place) = Place::new() else { return };
    let fork = Arc::clone(&place.fork);
    let noting = std::thread::spawn(move || {
        while !fork.is_in_use() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fork.note_exceeded(Some(7));
    });
    assert!(matches!(place.sh("sleep 50").0, Exit::Signal { number: 9, .. }));
    noting.join().unwrap();
    assert!(!place.fork.is_in_use());
    assert!(matches!(place.grant().open().unwrap_err().kind, FsErrorKind::ForkFull { limit: 7 }));
    place.fork.note_exceeded(None);
    assert_eq!(place.sh("cat src/a.txt").1, "base");
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

/// What is below the current directory: kinds, permissions, times of writing, links and contents.
const LIST: &str = "find . -mindepth 1 \\( -type d -printf '%P d %m\\n' \\) -o -printf '%P %y %m %T@ %l %n ' \
    \\( -type f -exec cat {} \\; -o -true \\) -printf '\\n' | sort";

/// Directories of the base, as programs rename them.
#[test]
fn a_directory_of_the_root_is_renamed() {
    let Some(place) = Place::new() else { return };
    let src = place.base.join("src");
    fs::create_dir_all(src.join("deep/empty")).unwrap();
    fs::write(src.join("deep/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(src.join("deep/run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(src.join("deep"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("../a.txt", src.join("deep/link")).unwrap();
    place.sh("echo new > src/new.txt; rm gone.txt");
    let before = place.sh(&format!("cd src; {LIST}")).1;
    let times = place.sh("stat -c %Y src src/deep").1;
    let renames = [("src", "lib"), ("lib", "a/b"), ("a/b", "src"), ("src", "empty")];
    place.sh("mkdir a empty");
    for (from, to) in renames {
        let done = place.sh(&format!("python3 -c 'import os; os.rename(\"{from}\", \"{to}\")'"));
        assert_eq!(done, (Exit::Code(0), String::new()), "{from} {to}");
        assert_eq!(place.sh(&format!("cd {to}; {LIST}")).1, before, "{from} {to}");
        assert_eq!(place.sh(&format!("test -e {from}")).0, Exit::Code(1));
    }
    assert_eq!(place.sh("stat -c %Y empty empty/deep").1, times);
    // Nothing else is left, and the root is as it was.
    assert_eq!(place.sh("ls -A; ls -A a").1, "a\nempty\n");
    assert_eq!(fs::read_to_string(src.join("a.txt")).unwrap(), "base");
    assert!(!src.join("new.txt").exists() && src.join("deep/empty").exists());
}

#[test]
fn a_rename_that_the_kernel_refuses_elsewhere_is_refused_with_its_error() {
    let Some(place) = Place::new() else { return };
    fs::create_dir_all(place.base.join("full/below")).unwrap();
    let script = r#"
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def rename(a, b, flags=0):
    done = libc.renameat2(-100, a.encode(), -100, b.encode(), flags)
    return "done" if done == 0 else errno.errorcode[ctypes.get_errno()]
print(rename("src", "full"), rename("src", "src/in"), rename("src", "gone.txt"), rename("src", "full/below", 1),
      rename("full", "src/a.txt/b"), rename("none", "x"), rename("src", "no/where"), rename("src", "src"),
      rename("src/.", "x"))
"#;
    let refused = "ENOTEMPTY EINVAL ENOTDIR EEXIST ENOTDIR ENOENT ENOENT done EBUSY\n";
    fs::write(place.base.join("rename.py"), script).unwrap();
    assert_eq!(place.sh("python3 rename.py").1, refused);
    // As on a plain directory.
    let mut plain = std::process::Command::new("python3");
    plain.arg("rename.py").current_dir(&place.base);
    assert_eq!(String::from_utf8_lossy(&plain.output().unwrap().stdout), refused);
    assert_eq!(place.sh("ls -A src full").1, "full:\nbelow\n\nsrc:\na.txt\n");
}

/// Random renames, with writes and removals between them, end as they do on a plain directory.
#[test]
fn random_renames_end_as_on_a_plain_directory() {
    let Some(place) = Place::new() else { return };
    let seed = std::env::var("TOOLWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("TOOLWRIGHT_SEED={seed}");
    let script = format!(
        r#"
import os, random, sys
random.seed({seed})
names = ["a", "b", "c"]
def path():
    return "/".join(random.choice(names) for _ in range(random.randint(1, 3)))
log = []
for step in range(int(sys.argv[1])):
    what, one, other = random.choice("rrrrmwud"), path(), path()
    try:
        if what == "r": os.rename(one, other)
        elif what == "m": os.mkdir(one)
        elif what == "w": open(one, "w").write(str(step))
        elif what == "u": os.unlink(one)
        else: os.rmdir(one)
        log.append("ok")
    except OSError as error:
        log.append(str(error.errno))
print(" ".join(log))
"#
    );
    let make = |at: &Path| {
        for directory in ["a/a", "a/b/c", "b/c", "c/a/b"] {
            fs::create_dir_all(at.join(directory)).unwrap();
        }
        for file in ["a/c", "a/b/b", "b/a", "c/c", "c/a/a"] {
            fs::write(at.join(file), file).unwrap();
        }
        fs::write(at.join("run.py"), &script).unwrap();
    };
    let plain = place.base.with_extension("plain");
    fs::create_dir(&plain).unwrap();
    make(&plain);
    make(&place.base);
    let list = "find a b c -printf '%p %y %m ' \\( -type f -exec cat {} \\; -o -true \\) -printf '\\n' 2>/dev/null | sort";
    let line = format!("python3 run.py 300; {list}");
    let mut run = std::process::Command::new("sh");
    run.args(["-c", &line]).current_dir(&plain);
    let expected = String::from_utf8(run.output().unwrap().stdout).unwrap();
    assert_eq!(place.sh(&line).1, expected);
    assert_eq!(place.sh("ls -A | grep toolwright").1, "");
    assert_eq!(fs::read_to_string(place.base.join("a/b/b")).unwrap(), "a/b/b");
}

#[test]
fn what_is_open_stays_open_and_what_is_protected_stays() {
    let Some(place) = Place::new() else { return };
    let line = "exec 9>>src/a.txt; python3 -c 'import os; os.rename(\"src\", \"lib\")'; \
        echo more >&9; cat lib/a.txt; ls";
    assert_eq!(place.sh(line).1, "basemore\ngone.txt\nlib\n");
    let git = "git init -q .; git add .; git -c user.name=a -c user.email=a@b commit -qm one; \
        git mv lib src; git status --porcelain";
    assert_eq!(place.sh(git).1, "R  lib/a.txt -> src/a.txt\n");
}
