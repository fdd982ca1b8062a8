//! Repositories of commands that the host has imported, or has refused.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{AtFlags, statat};
use toolwright_sandbox::plan::Plan;

use super::sandbox::{Sandbox, find};

/// Copies a private repository into the directory of the host, as an import does.
fn import(sandbox: &Sandbox, path: &Path) {
    let private = sandbox.private();
    let (_, content, _) = private.iter().find(|(found, ..)| found == path).unwrap();
    let from = format!("/proc/self/fd/{}/.", std::os::fd::AsRawFd::as_raw_fd(content));
    rustix::io::fcntl_setfd(content, rustix::io::FdFlags::empty()).unwrap();
    assert!(Command::new("cp").args(["-a", &from]).arg(path).status().unwrap().success());
}

/// What lies in a directory, with what it says.
fn state(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    find(directory, &mut |path| {
        let content = if path.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        all.push((path.to_owned(), content));
    });
    all.sort();
    all
}

const INIT: &str = "git init -q sub; cd sub; echo x > f; git add .; git commit -qm one";

fn has(directory: impl AsFd, name: &str) -> bool {
    statat(directory, name, AtFlags::empty()).is_ok()
}

#[test]
fn a_settled_repository_is_a_fork() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    let path = sandbox.root.join("sub/.git");
    assert_eq!(sandbox.fork(&path, false).unwrap_err(), libc::EBUSY);
    import(&sandbox, &path);
    let before = state(&path);
    let (changes, found) = sandbox.settle(&path).unwrap();
    assert_eq!(found, path);
    assert!(sandbox.private_paths().is_empty());
    assert_eq!(sandbox.settle(&path).unwrap_err(), libc::ENOENT);
    // Commands of this worker and of another see the repository, and what they write is the fork's.
    let text = "git -C sub log --format=%s; git -C sub fsck --strict";
    assert_eq!(sandbox.output(text), "one\n");
    let former = sandbox.exchange_worker();
    assert_eq!(sandbox.output(text), "one\n");
    drop(former);
    sandbox.output(
        "cd sub; echo y >> f; git commit -qam two; git log -1 --format=%s | grep two; git gc -q",
    );
    sandbox.output("cd sub; rmdir .git && exit 1; rm -rf .git/objects .git/refs; :");
    assert_eq!(state(&path), before);
    assert!(has(&changes, "config") || has(&changes, "HEAD") || has(&changes, "logs"));
    // A new one shows the directory of the host again.
    sandbox.fork(&path, true).unwrap();
    assert_eq!(sandbox.output(text), "one\n");
    assert_eq!(state(&path), before);
}

#[test]
fn commands_move_them() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    // Before it is settled, and after.
    sandbox.output("mkdir deep; mv sub deep/sub");
    assert_eq!(sandbox.settle(&sandbox.root.join("sub/.git")).unwrap_err(), libc::ENOENT);
    let path = sandbox.root.join("deep/sub/.git");
    import(&sandbox, &path);
    sandbox.settle(&path).unwrap();
    sandbox.output("mv deep other; cd other/sub; git commit -q --allow-empty -m two");
    let moved = sandbox.root.join("other/sub/.git");
    let before = state(&moved);
    let (changes, found) = sandbox.fork(&path, false).unwrap();
    assert_eq!(found, moved);
    assert!(has(changes, "refs"));
    let text = "git -C other/sub log -1 --format=%s";
    assert_eq!(sandbox.output(text), "two\n");
    assert_eq!(sandbox.fork(&moved, true).unwrap().1, moved);
    assert_eq!(sandbox.output(text), "one\n");
    // Another one in its former place.
    sandbox.output("mkdir deep; cp -r other/sub deep; git -C deep/sub log -1 --format=%s");
    import(&sandbox, &path);
    sandbox.settle(&path).unwrap();
    assert_eq!(sandbox.fork(&path, false).unwrap().1, path);
    assert_eq!(sandbox.fork(&moved, false).unwrap().1, moved);
    assert_eq!(state(&moved), before);
    // One that the host has removed may be made anew.
    fs::remove_dir_all(sandbox.root.join("deep/sub")).unwrap();
    sandbox.output("git init -q deep/sub");
    assert_eq!(sandbox.private_paths(), ["deep/sub/.git"]);
    sandbox.output("echo x > deep/sub/.git/x");
}

#[test]
fn they_are_found_while_commands_move_them() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(&format!("mkdir deep; cd deep; {INIT}"));
    let path = sandbox.root.join("deep/sub/.git");
    import(&sandbox, &path);
    sandbox.settle(&path).unwrap();
    sandbox.output("git init -q deep/private");
    assert_eq!(sandbox.private().len(), 1);
    let started = sandbox.start(
        "cat > move.py <<'end'
import os
for _ in range(20000):
    os.rename('deep', 'other')
    os.rename('other', 'deep')
end
python3 move.py; echo moved",
    );
    let reader = std::thread::spawn(move || std::io::read_to_string(started).unwrap());
    let mut found = path.clone();
    while !reader.is_finished() {
        found = sandbox.fork(&found, false).unwrap().1;
        assert_eq!(sandbox.private().len(), 1);
    }
    assert_eq!(reader.join().unwrap(), "moved\n");
    sandbox.end();
    assert_eq!(sandbox.fork(&found, false).unwrap().1, path);
}

#[test]
fn what_cannot_be_settled_stays_private() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    // The host's directory has no objects.
    let path = sandbox.root.join("sub/.git");
    assert_eq!(sandbox.settle(&path).unwrap_err(), libc::ENOENT);
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "one\n");
    assert_eq!(sandbox.visible(), ["sub/.git"]);
}

#[test]
fn a_refused_one_begins_anew() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    let path = sandbox.root.join("sub/.git");
    // The host has begun to import it.
    fs::write(path.join("HEAD"), "half").unwrap();
    sandbox.discard(&path);
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    sandbox.output("cd sub; test -z \"$(ls -A .git)\"; git init -q; git add .; git commit -qm new");
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "new\n");
    assert_eq!(state(&path), [(path.join("HEAD"), b"half".to_vec())]);
    fs::remove_file(path.join("HEAD")).unwrap();
    // What is refused again and again leaves nothing behind.
    for _ in 0..20 {
        sandbox.discard(&path);
    }
    sandbox.output("rm -rf sub");
    assert!(sandbox.visible().is_empty() && !path.exists());
}

/// Writers that began long before see the private directory, or the fork, and never the host's.
#[test]
fn nothing_is_written_while_it_is_settled() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    let path = sandbox.root.join("sub/.git");
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    let script = "cd sub; exec python3 -c '
import os, threading, time
stop = time.time() + 20
top = os.open(\".\", os.O_RDONLY)
def write(n, call):
    k = 0
    while not os.path.exists(\"../stop\") and time.time() < stop:
        k += 1
        try: call(f\"w{n}-{k % 50}\")
        except OSError as error: pass
def plain(name): open(\".git/\" + name, \"w\").write(\"x\")
def absolute(name): open(os.path.abspath(\".git/\" + name), \"w\").write(\"x\")
def below(name): os.close(os.open(\".git/\" + name, os.O_CREAT | os.O_WRONLY, dir_fd=top))
def opened(name):
    fd = os.open(\".git\", os.O_RDONLY)
    time.sleep(.0003)
    try: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd)); os.mkdir(name + \"d\", dir_fd=fd)
    finally: os.close(fd)
threads = [threading.Thread(target=write, args=(n, call)) for n, call in enumerate([plain, absolute, below, opened])]
[one.start() for one in threads]; [one.join() for one in threads]
'";
    let mut reader = sandbox.start(script);
    sleep(Duration::from_millis(300));
    for round in 0..30 {
        sandbox.discard(&path);
        sleep(Duration::from_millis(round % 7));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }
    // The smallest repository that can be settled.
    fs::create_dir(path.join("objects")).unwrap();
    let before = state(&path);
    sandbox.settle(&path).unwrap();
    for round in 0..30 {
        sleep(Duration::from_millis(round % 7));
        assert_eq!(state(&path), before);
        sandbox.fork(&path, true).unwrap();
    }
    sleep(Duration::from_millis(100));
    let (changes, _) = sandbox.fork(&path, false).unwrap();
    fs::write(sandbox.root.join("stop"), "").unwrap();
    let _ = reader.read_to_end(&mut Vec::new());
    assert!(sandbox.end().0.success());
    assert_eq!(state(&path), before);
    assert!(has(&changes, "w0-1") || has(&changes, "w1-1") || has(&changes, "w2-1"));
}

/// A command in a directory above sees the cover too, which is made later.
#[test]
fn a_fork_made_later_covers_what_runs() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let git = sandbox.root.join("deep/sub/.git");
    let made = Command::new("git").args(["init", "-q"]).arg(git.parent().unwrap()).status();
    assert!(made.unwrap().success());
    let mut reader = sandbox.start(
        "cd deep/sub; n=0; until test -e stop; do n=$((n + 1)); echo x > .git/w$n; sleep .001; done 2>/dev/null",
    );
    sleep(Duration::from_millis(100));
    sandbox.fork(&git, false).unwrap();
    // A file that the command opened before the cover still receives its line.
    sleep(Duration::from_millis(100));
    let before = state(&git);
    sleep(Duration::from_millis(200));
    sandbox.fork(&git, true).unwrap();
    sleep(Duration::from_millis(100));
    fs::write(git.with_file_name("stop"), "").unwrap();
    let _ = reader.read_to_end(&mut Vec::new());
    sandbox.end();
    assert_eq!(state(&git), before);
}

/// What commands have changed of hooks is told too.
#[test]
fn hooks_have_changes() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let hooks = root.join(".husky");
    fs::create_dir(&hooks).unwrap();
    fs::write(hooks.join("pre-commit"), "exit 0\n").unwrap();
    let change = |plan: &mut Plan| (plan.forks, plan.hooks) = (vec![], vec![hooks.clone()]);
    let mut sandbox = Sandbox::start_at(&root, change);
    if !sandbox.holds() {
        return;
    }
    sandbox.output("echo evil > .husky/pre-commit; echo x > .husky/new; cat .husky/pre-commit");
    let (changes, found) = sandbox.fork(&hooks, false).unwrap();
    assert_eq!(found, hooks);
    assert!(has(&changes, "pre-commit") && has(&changes, "new"));
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "exit 0\n");
    assert!(!hooks.join("new").exists());
    let (changes, _) = sandbox.fork(&hooks, true).unwrap();
    assert!(!has(&changes, "pre-commit"));
    assert_eq!(sandbox.output("cat .husky/pre-commit"), "exit 0\n");
}

/// Where the directory above has become a mount, commands that began before see another copy of the private one.
#[test]
fn copies_of_a_private_directory_cover_too() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(INIT);
    let path = sandbox.root.join("sub/.git");
    let inner = sandbox.root.join("sub/inner");
    assert_eq!(sandbox.private_paths(), ["sub/.git"]);
    assert!(Command::new("git").args(["init", "-q"]).arg(&inner).status().unwrap().success());
    let mut reader = sandbox.start(
        "cd sub; n=0; until test -e stop; do n=$((n + 1)); echo x > .git/w$n; sleep .001; done 2>/dev/null",
    );
    sleep(Duration::from_millis(100));
    sandbox.fork(&inner.join(".git"), false).unwrap();
    import(&sandbox, &path);
    let before = state(&path);
    sandbox.settle(&path).unwrap();
    sleep(Duration::from_millis(100));
    sandbox.fork(&path, true).unwrap();
    sleep(Duration::from_millis(100));
    fs::write(sandbox.root.join("sub/stop"), "").unwrap();
    let _ = reader.read_to_end(&mut Vec::new());
    sandbox.end();
    assert_eq!(state(&path), before);
    assert_eq!(sandbox.output("git -C sub log --format=%s"), "one\n");
    sandbox.output("git -C sub commit -q --allow-empty -m two");
    assert_eq!(state(&path), before);
    // One that is removed is gone in all of them.
    sandbox.output("mkdir -p sub/two/.git; touch sub/two/.git/x");
    fs::create_dir_all(sandbox.root.join("sub/two/three")).unwrap();
    assert!(
        Command::new("git")
            .args(["init", "-q"])
            .arg(sandbox.root.join("sub/two/three"))
            .status()
            .unwrap()
            .success()
    );
    sandbox.fork(&sandbox.root.join("sub/two/three/.git"), false).unwrap();
    sandbox.discard(&sandbox.root.join("sub/two/.git"));
    sandbox.output("cd sub/two; ls -A .git; rmdir .git; test ! -e .git; mkdir .git; touch .git/y");
}

/// A command can open the directory of the host before it is covered, and keep it open as long as it runs.
#[test]
fn what_a_command_may_have_open_is_not_handed_out() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output("mkdir -p a/.git");
    assert_eq!(sandbox.private_paths(), ["a/.git"]);
    // One command makes it while another one runs.
    let mut former = sandbox.exchange_worker();
    let other = Sandbox::start_on(&former, ": > begun; until test -e stop; do sleep .01; done");
    while !sandbox.root.join("begun").exists() {
        sleep(Duration::from_millis(5));
    }
    sandbox.output("mkdir -p b/.git/objects");
    let path = sandbox.root.join("b/.git");
    assert_eq!(sandbox.private_paths(), ["a/.git"]);
    fs::create_dir(path.join("objects")).unwrap();
    assert_eq!(sandbox.settle(&path).unwrap_err(), libc::EBUSY);
    fs::write(sandbox.root.join("stop"), "").unwrap();
    drop(other);
    Sandbox::end_on(&mut former);
    assert_eq!(sandbox.private_paths(), ["a/.git", "b/.git"]);
    sandbox.settle(&path).unwrap();
}
