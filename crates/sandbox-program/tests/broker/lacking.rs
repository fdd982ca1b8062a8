//! Kernels and profiles that lack something which git directories need.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox_program::filter::install;

use super::sandbox::Sandbox;

/// A call that fails, if this argument has one of these bits. Without bits it always fails.
struct Lacking {
    call: libc::c_long,
    argument: u32,
    bits: u32,
    errno: i32,
}

const fn lacking(call: libc::c_long, errno: i32) -> Lacking {
    Lacking { call, argument: 0, bits: 0, errno }
}

fn filter(lacking: &[Lacking]) -> Vec<libc::sock_filter> {
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = Vec::new();
    for Lacking { call, argument, bits, errno } in lacking {
        let refused = 0x5_0000 | errno.unsigned_abs();
        filter.push(line(0x20, 0, 0, 0));
        if *bits == 0 {
            filter.push(line(0x15, 0, 1, u32::try_from(*call).unwrap()));
        } else {
            filter.push(line(0x15, 0, 3, u32::try_from(*call).unwrap()));
            filter.push(line(0x20, 0, 0, 16 + 8 * argument));
            filter.push(line(0x45, 0, 1, *bits));
        }
        filter.push(line(0x06, 0, 0, refused));
    }
    filter.push(line(0x06, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter
}

/// A sandbox that lacks this, with a repository of a person in its root.
fn without(root: &Path, lacking: &[Lacking]) -> Sandbox {
    assert!(Command::new("git").args(["init", "-q"]).arg(root).status().unwrap().success());
    without_at(root, lacking, |plan| plan.forks = vec![root.join(".git")])
}

fn without_at(root: &Path, lacking: &[Lacking], change: impl FnOnce(&mut Plan)) -> Sandbox {
    let filter = filter(lacking);
    Sandbox::start_prepared(root, change, |command| {
        // SAFETY: it makes two system calls.
        unsafe {
            command.pre_exec(move || {
                rustix::thread::set_no_new_privs(true)?;
                install(&filter)
            });
        }
    })
}

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    (place, root)
}

/// Before Linux 6.6, files in memory have no attributes of users, and there is no fork.
#[test]
fn attributes_of_files_in_memory() {
    let (_place, root) = place();
    let mut sandbox = without(&root, &[lacking(libc::SYS_fsetxattr, libc::EOPNOTSUPP)]);
    if !sandbox.holds() {
        return;
    }
    assert_eq!(sandbox.layers.forks, Layer::Refused(libc::EOPNOTSUPP));
    // The cover holds.
    let ended = sandbox.run("exec 2>&1; echo x > .git/x || git commit --allow-empty -qm x");
    assert!(!ended.status.success() && ended.output.contains("Read-only"), "{ended:?}");
    assert!(!root.join(".git/x").exists());
    // What commands make is private all the same.
    sandbox.output("git init -q sub; cd sub; git commit -q --allow-empty -m one; rm -rf .git; git init -q; git commit -q --allow-empty -m two");
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    let git = root.join("sub/.git");
    assert_eq!(fs::read_dir(&git).unwrap().count(), 0);
    fs::create_dir(git.join("objects")).unwrap();
    assert_eq!(sandbox.settle(&git).unwrap_err(), libc::EOPNOTSUPP);
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "two\n");
    sandbox.discard(&git);
    fs::remove_dir(git.join("objects")).unwrap();
    sandbox.output("rm -rf sub");
    // A repository that commands have made, of an earlier supervisor.
    fs::create_dir_all(git.join("objects")).unwrap();
    assert_eq!(sandbox.command_fork(&git).unwrap_err(), libc::EOPNOTSUPP);
    assert!(!sandbox.run("echo x > sub/.git/x").status.success());
    assert!(!sandbox.run("rm -rf sub").status.success());
    assert!(git.join("objects").exists() && !git.join("x").exists());
}

/// Before Linux 6.5, nothing can be attached beneath.
#[test]
fn mounts_beneath() {
    let (_place, root) = place();
    let beneath =
        Lacking { argument: 4, bits: 0x200, ..lacking(libc::SYS_move_mount, libc::EINVAL) };
    let mut sandbox = without(&root, &[beneath]);
    if !sandbox.holds() {
        return;
    }
    assert_eq!(sandbox.layers.forks, Layer::Holds);
    sandbox.output("mkdir -p sub/.git/objects; touch sub/.git/HEAD");
    let git = root.join("sub/.git");
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    fs::create_dir(git.join("objects")).unwrap();
    assert_eq!(sandbox.settle(&git).unwrap_err(), libc::EINVAL);
    assert_eq!(sandbox.output("ls -A sub/.git"), "HEAD\nobjects\n");
    sandbox.discard(&git);
    assert_eq!(sandbox.output("ls -A sub/.git"), "");
    fs::remove_dir(git.join("objects")).unwrap();
    // A later supervisor attaches nothing beneath to make a fork, nor to remove it.
    sandbox.output("rm -rf sub");
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::write(git.join("HEAD"), "x").unwrap();
    sandbox.command_fork(&git).unwrap();
    sandbox.output("cat sub/.git/HEAD; rm -rf sub");
    assert!(!git.exists());
}

/// Where calls cannot wait, git directories of commands lie on the host, and the layers say so.
#[test]
fn calls_that_wait() {
    let listener = Lacking { argument: 1, bits: 8, ..lacking(libc::SYS_seccomp, libc::EINVAL) };
    is_told(&[listener], libc::EINVAL);
}

#[test]
fn threads() {
    let thread = Lacking { argument: 0, bits: 0x1_0000, ..lacking(libc::SYS_clone, libc::EPERM) };
    is_told(&[lacking(libc::SYS_clone3, libc::ENOSYS), thread], libc::EPERM);
}

fn is_told(without_this: &[Lacking], errno: i32) {
    let (_place, root) = place();
    let began = Instant::now();
    let mut sandbox = without(&root, without_this);
    if !sandbox.layers.mount.holds() || !sandbox.layers.pid.holds() {
        return;
    }
    assert_eq!(sandbox.layers.hidden_git, Layer::Refused(errno), "{:?}", sandbox.layers);
    assert_eq!(sandbox.layers.forks, Layer::Holds);
    let ended =
        sandbox.run("git init -q sub && mkdir a && rmdir a && mv sub b && rm -rf .git/refs");
    assert!(ended.status.success() && !ended.made_git_directories, "{ended:?}");
    assert!(root.join("b/.git/HEAD").exists() && root.join(".git/refs").exists());
    assert!(sandbox.private().is_empty());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Something stands for what is to stay absent where nobody keeps it so.
#[test]
fn calls_that_keep_paths_absent() {
    let listener = Lacking { argument: 1, bits: 8, ..lacking(libc::SYS_seccomp, libc::EINVAL) };
    for (without_this, stands) in [(&[][..], false), (&[listener], true)] {
        let (_place, root) = place();
        let change = |plan: &mut Plan| {
            plan.protected = [".env", "deep/down/key"].map(|path| root.join(path)).to_vec();
        };
        let mut sandbox = without_at(&root, without_this, change);
        if !sandbox.layers.mount.holds() || !sandbox.layers.pid.holds() {
            return;
        }
        for worker in 0..2 {
            for attempt in
                ["echo x > .env", "mkdir .env", "mkdir -p deep/down && echo x > deep/down/key"]
            {
                let ended = sandbox.run(&format!("({attempt}) 2>&1"));
                let is_refused = ended.output.contains("Read-only file system")
                    || stands && ended.output.contains("File exists");
                assert!(!ended.status.success() && is_refused, "{worker} {attempt}: {ended:?}");
            }
            assert_eq!(fs::exists(root.join(".env")).unwrap(), stands);
            sandbox.exchange_worker();
        }
        drop(sandbox);
        assert!(!fs::exists(root.join(".env")).unwrap(), "{stands}");
    }
}

/// Where no thread without mounts can be made, private directories go as they always did, and of a repository nothing
/// is deleted.
#[test]
fn a_root_of_its_own() {
    let (_place, root) = place();
    let root_call = lacking(libc::SYS_pivot_root, libc::EPERM);
    let mut sandbox = without(&root, &[root_call]);
    if !sandbox.holds() {
        return;
    }
    sandbox.output("git init -q sub; rm -rf sub; git init -q sub; rm -rf sub");
    let git = root.join("sub/.git");
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::write(git.join("HEAD"), "x").unwrap();
    sandbox.command_fork(&git).unwrap();
    let ended = sandbox.run("rm -rf sub 2>&1");
    if ended.status.success() {
        eprintln!("the root of this namespace is not locked");
    } else {
        assert!(ended.output.contains("busy"), "{ended:?}");
        assert_eq!(fs::read_to_string(git.join("HEAD")).unwrap(), "x");
        sandbox.fork(&git, true).unwrap();
        assert_eq!(sandbox.output("cat sub/.git/HEAD"), "x");
    }
}
