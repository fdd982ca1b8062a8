//! Repositories of commands that a command removes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use toolwright_git::directory::Directory;
use toolwright_git::transaction::Transaction;

use super::sandbox::Sandbox;

/// A repository as a host makes it in a directory.
fn fill(git: &Path) {
    let place = tempfile::tempdir().unwrap();
    let script = "git init -q .; echo x > f; git add .; git -c user.name=a -c user.email=b commit -qm one; cp -a .git/. \"$0\"";
    let mut command = Command::new("sh");
    command.args(["-ec", script]).arg(git).current_dir(place.path());
    assert!(command.status().unwrap().success());
}

/// A repository that a command has made, and of which commands have a fork.
fn settled(sandbox: &mut Sandbox, name: &str) -> PathBuf {
    sandbox.output(&format!("mkdir -p {name}/.git/objects"));
    let path = sandbox.root.join(name).join(".git");
    assert!(!sandbox.private().is_empty());
    fill(&path);
    sandbox.settle(&path).unwrap();
    path
}

#[test]
fn a_command_removes_what_commands_have_made() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    for script in [
        "rm -rf sub",
        "cd sub; rm -rf .git; test ! -e .git; cd ..; rm -rf sub",
        "mv sub other; git -C other log --format=%s; rm -rf other",
        "mkdir -p a/b/c; mv sub a/b/c; mv a d; git -C d/b/c/sub log --format=%s; rm -rf d",
        "git -C sub gc -q; git -C sub commit -q --allow-empty -m two; rm -rf sub",
        "git -C sub worktree add -q ../linked; git -C sub worktree remove ../linked; test ! -e linked; rm -rf sub",
        "git -C sub worktree add -q ../linked; rm -rf sub linked",
        "chmod 700 sub/.git; python3 -c 'import shutil; shutil.rmtree(\"sub\")'",
    ] {
        settled(&mut sandbox, "sub");
        sandbox.output(script);
        assert_eq!(fs::read_dir(&sandbox.root).unwrap().count(), 0, "{script}");
        assert_eq!(sandbox.output("ls -A"), "", "{script}");
        assert!(sandbox.private_paths().is_empty(), "{script}");
    }
    // Its place is free for another one.
    settled(&mut sandbox, "sub");
    sandbox.output("rm -rf sub; git init -q sub; git -C sub commit -q --allow-empty -m new");
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    assert_eq!(sandbox.visible(), ["sub/.git"]);
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "new\n");
}

/// All workers of a supervisor, and those that began before, see that it is gone.
#[test]
fn all_commands_see_that_it_is_gone() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    settled(&mut sandbox, "sub");
    let mut former = sandbox.exchange_worker();
    let other = Sandbox::start_on(
        &former,
        ": > begun; while test -e sub/.git; do sleep .01; done; mkdir -p sub/.git && touch sub/.git/x && ls -A sub/.git > seen",
    );
    while !sandbox.root.join("begun").exists() {
        sleep(Duration::from_millis(5));
    }
    sandbox.output("rm -rf sub/.git");
    drop(other);
    let (status, has_made) = Sandbox::end_on(&mut former);
    assert!(status.success() && has_made, "{status:?}");
    assert_eq!(fs::read_to_string(sandbox.root.join("seen")).unwrap(), "x\n");
    assert_eq!(sandbox.visible(), ["sub/.git"]);
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
}

#[test]
fn what_is_not_empty_stays() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let path = settled(&mut sandbox, "sub");
    let text = sandbox.output("rmdir sub/.git || :; git -C sub log --format=%s");
    assert!(text.contains("not empty") && text.ends_with("one\n"), "{text}");
    // Nothing of the host goes before the last of what the command sees has gone.
    sandbox.output("cd sub/.git; rm -rf config; for f in *; do test $f = HEAD || rm -rf $f; done; rmdir . ../.git && exit 1; :");
    assert!(path.join("config").exists() && path.join("objects").exists());
}

/// A repository of a person stays, whatever a command does.
#[test]
fn that_of_a_person_stays() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let git = sandbox.root.join("sub/.git");
    fs::create_dir_all(&git).unwrap();
    fill(&git);
    sandbox.fork(&git, false).unwrap();
    let ended = sandbox.run("exec 2>&1; rm -rf sub; rmdir sub/.git");
    assert!(!ended.status.success());
    assert!(ended.output.contains("busy"), "{ended:?}");
    assert!(git.join("HEAD").exists());
    assert_eq!(sandbox.fork(&git, true).unwrap().1, git);
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "one\n");
    // One that lies where that of a command was is not that of a command.
    let other = sandbox.root.join("other/.git");
    fs::create_dir_all(&other).unwrap();
    fill(&other);
    assert!(sandbox.command_fork_of(&other, &git).is_ok());
    assert!(!sandbox.run("rm -rf other").status.success());
    assert!(other.join("HEAD").exists());
}

/// A later supervisor is told which repositories commands have made.
#[test]
fn a_later_supervisor_removes_them_too() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    for (script, left) in [
        ("rm -rf sub", vec![]),
        ("mkdir a; mv sub a/b; git -C a/b commit -q --allow-empty -m two; rm -rf a", vec![]),
        ("mv sub other; rm -rf other/.git; ls -A other", vec!["other"]),
    ] {
        let git = sandbox.root.join("sub/.git");
        fs::create_dir_all(&git).unwrap();
        fill(&git);
        sandbox.command_fork(&git).unwrap();
        assert_eq!(sandbox.output("git -C sub log --format=%s"), "one\n");
        sandbox.output(script);
        let there: Vec<_> =
            fs::read_dir(&sandbox.root).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(there, left, "{script}");
    }
    // A fork that is there already becomes one that can be removed.
    let git = sandbox.root.join("late/.git");
    fs::create_dir_all(&git).unwrap();
    fill(&git);
    sandbox.fork(&git, false).unwrap();
    assert!(!sandbox.run("rm -rf late").status.success());
    sandbox.command_fork(&git).unwrap();
    sandbox.run("rm -rf late/.git");
    assert!(!git.exists());
    // A bare one has any name.
    let bare = sandbox.root.join("bare.git");
    fs::create_dir_all(&bare).unwrap();
    fill(&bare);
    sandbox.command_fork(&bare).unwrap();
    sandbox.output("git --git-dir bare.git log --format=%s; rm -rf bare.git");
    assert!(!bare.exists());
}

/// What has objects of a repository would lose them.
#[test]
fn one_that_others_borrow_from_stays() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let path = settled(&mut sandbox, "sub");
    let ended = sandbox.run("exec 2>&1; git clone -q sub copy; rm -rf sub; git -C copy fsck");
    assert!(ended.status.success() && ended.output.contains("busy"), "{ended:?}");
    assert!(path.join("objects").exists());
    assert_eq!(sandbox.output("rm -rf copy; rm -rf sub; ls -A"), "");
}

/// The host may be about to bring something back.
#[test]
fn one_that_the_host_writes_stays() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let path = settled(&mut sandbox, "sub");
    let git = Directory::open(&path).unwrap();
    let mut transaction = Transaction::begin(&git).unwrap();
    transaction.lock(Path::new("index"), 0o644).unwrap();
    let ended = sandbox.run("rm -rf sub 2>&1");
    assert!(ended.output.contains("busy") && path.join("HEAD").exists(), "{ended:?}");
    drop(transaction);
    assert_eq!(sandbox.output("rm -rf sub; ls -A"), "");
    assert!(!path.exists());
}

/// A copy anywhere has all objects, the large ones too.
#[test]
fn copies_keep_their_objects() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let path = settled(&mut sandbox, "sub");
    let script = "head -c 300000 /dev/urandom > big; git hash-object -w big; rm big";
    let mut command = Command::new("sh");
    assert!(command.args(["-ec", script]).current_dir(&path).status().unwrap().success());
    sandbox.fork(&path, true).unwrap();
    sandbox.output("git -C sub repack -q; cp -r sub /tmp/copy; rm -rf sub");
    assert!(!path.exists());
    let former = sandbox.exchange_worker();
    let text = "git -C /tmp/copy log --format=%s; git -C /tmp/copy fsck --no-dangling; git -C /tmp/copy cat-file --batch-all-objects --batch > /dev/null";
    assert_eq!(sandbox.output(text), "one\n");
    drop(former);
    assert!(!sandbox.run("touch /dev/toolwright-objects/*/x").status.success());
}

/// While a repository is removed, others write there. Nothing of theirs is lost or lies on the host.
#[test]
fn writers_lose_nothing_while_it_is_removed() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    // What a writer has made it finds again, unless it has removed it itself.
    let script = "exec python3 -c '
import os, threading, time
stop = time.time() + 60
lost = []
def write(n, call):
    k = 0
    while not os.path.exists(\"stop\") and time.time() < stop:
        k += 1
        try: call(f\"w{n}-{k}\")
        except OSError: pass
        time.sleep(.0005)
def again(call, path, loses=True):
    for _ in range(1000):
        try: return call(path)
        except OSError as error: last = error
        time.sleep(.001)
    if loses: lost.append(repr(last))
def directory(name):
    os.mkdir(\"sub/.git/\" + name)
    again(os.rmdir, \"sub/.git/\" + name)
def opened(name):
    fd = os.open(\"sub/.git\", os.O_RDONLY)
    try: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd)); again(lambda name: os.unlink(name, dir_fd=fd), name, False)
    finally: os.close(fd)
def whole(name):
    open(\"sub/.git/\" + name, \"w\").close()
    again(os.unlink, \"sub/.git/\" + name)
threads = [threading.Thread(target=write, args=(n, call)) for n, call in enumerate([directory, opened, whole, whole])]
[one.start() for one in threads]; [one.join() for one in threads]
open(\"lost\", \"w\").write(str(lost[:3]))
'";
    let mut former = sandbox.exchange_worker();
    let began = Instant::now();
    let path = sandbox.root.join("sub/.git");
    // The host looks at its own directory meanwhile.
    let is_over = Arc::new(AtomicBool::new(false));
    let watch = {
        let (path, is_over) = (path.clone(), Arc::clone(&is_over));
        spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    let name = entry.file_name();
                    assert!(["HEAD", "objects"].iter().any(|known| name == **known), "{name:?}");
                }
            }
        })
    };
    let mut writers = None;
    let mut removed = 0;
    for round in 0..100 {
        if !path.exists() {
            // Nobody writes there until commands have a fork of it.
            let new = sandbox.root.join("new/.git");
            fs::create_dir_all(new.join("objects")).unwrap();
            fs::write(new.join("HEAD"), "x").unwrap();
            sandbox.command_fork(&new).unwrap();
            let _ = fs::remove_dir(sandbox.root.join("sub"));
            fs::rename(sandbox.root.join("new"), sandbox.root.join("sub")).unwrap();
        }
        writers.get_or_insert_with(|| Sandbox::start_on(&former, script));
        sleep(Duration::from_millis(round % 5));
        let ended = sandbox.run(
            "rm -rf sub/.git/HEAD sub/.git/objects; perl -e 'for (1..3000) { exit 0 if rmdir \"sub/.git\" } exit 1'",
        );
        // Nothing of the host goes before the last of what commands see has gone.
        assert_eq!(path.join("HEAD").exists(), !ended.status.success());
        removed += u32::from(ended.status.success());
    }
    is_over.store(true, Ordering::Relaxed);
    watch.join().unwrap();
    fs::write(sandbox.root.join("stop"), "").unwrap();
    drop(writers);
    let (status, _) = Sandbox::end_on(&mut former);
    assert!(status.success());
    eprintln!("removed {removed} in {:?}", began.elapsed());
    assert!(removed > 0);
    assert_eq!(fs::read_to_string(sandbox.root.join("lost")).unwrap(), "[]");
}

/// Two commands remove the same one.
#[test]
fn two_remove_it_at_once() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    for _ in 0..10 {
        settled(&mut sandbox, "sub");
        sandbox.output("rm -rf sub & rm -rf sub & rm -rf sub & wait; test ! -e sub");
        assert_eq!(fs::read_dir(&sandbox.root).unwrap().count(), 0);
    }
}

/// Where the directory above permits no removal, nothing is removed.
#[test]
fn permissions_hold() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let git = settled(&mut sandbox, "sub");
    // Root has the right to write everywhere, unless it gives that up.
    let ended = sandbox.run(
        "exec 2>&1; chmod 500 sub; rm -rf sub/.git/*
        python3 -c '
import ctypes, os
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)())
os.rmdir(\"sub/.git\")
'",
    );
    assert!(!ended.status.success() && ended.output.contains("PermissionError"), "{ended:?}");
    assert!(git.join("HEAD").exists());
    sandbox.output("chmod 700 sub; rmdir sub/.git; rmdir sub");
}
