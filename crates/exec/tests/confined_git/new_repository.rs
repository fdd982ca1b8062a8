//! A repository that commands make: what comes back, and when.

use std::time::Duration;
use std::{fs, thread};

use toolwright_exec::GitReport;

use super::law::Grounds;
use super::support::soon;
use super::{Scene, has_namespaces};

#[test]
fn it_is_the_hosts_when_no_command_runs() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let root = &scene.place.root;
    thread::scope(|threads| {
        let long = threads.spawn(|| {
            scene.confined(
                ": > begun; until [ -e go ]; do sleep 0.01; done; git commit -q --allow-empty -m two; git log --format=%s",
            )
        });
        while !root.join("begun").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        let (printed, reports) =
            scene.confined("git init -q && git commit -q --allow-empty -m one");
        assert_eq!((&*printed, reports.take()), ("[Some(0)]", vec![GitReport::Unsettled]));
        assert_eq!(fs::read_dir(root.join(".git")).expect("there").count(), 0);
        let (printed, reports) = scene.confined("git log --format=%s");
        assert_eq!((&*printed, reports.take()), ("one\n[Some(0)]", Vec::new()));
        fs::write(root.join("go"), "").expect("written");
        let (printed, reports) = long.join().expect("it ends");
        assert_eq!((&*printed, reports.take()), ("two\none\n[Some(0)]", Vec::new()));
    });
    assert_eq!(scene.on_host(root, "git log --format=%s; git fsck"), "two\none\n[Some(0)]");
}

/// The host sees an empty directory while a command makes one.
#[test]
fn the_host_sees_nothing_of_one_that_is_being_made() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let root = &scene.place.root;
    thread::scope(|threads| {
        let long = threads.spawn(|| {
            scene.confined(
                "git init -q; git init -q a/b/c; git config core.fsmonitor evil; : > begun; until [ -e go ]; do sleep 0.01; done; rm begun go",
            )
        });
        while !root.join("begun").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        for place in [".git", "a/b/c/.git"] {
            assert_eq!(fs::read_dir(root.join(place)).expect("there").count(), 0, "{place}");
        }
        fs::write(root.join("go"), "").expect("written");
        long.join().expect("it ends");
    });
    let shown =
        scene.on_host(root, "git status -s; git -C a/b/c status -s; git config core.fsmonitor");
    assert_eq!(shown, "?? a/\n[Some(1)]");
}

/// What is moved before its command has ended is found where it is then.
#[test]
fn one_that_is_moved_comes_back_where_it_is() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let root = &scene.place.root;
    let script = "git init -q a; git -C a commit -q --allow-empty -m one; mv a b; mkdir c; mv b c/d; git -C c/d log --format=%s";
    let (printed, reports) = scene.confined(script);
    assert_eq!((&*printed, reports.take()), ("one\n[Some(0)]", Vec::new()));
    assert_eq!(scene.on_host(root, "git -C c/d log --format=%s; ls"), "one\nc\n[Some(0)]");
    let (printed, _) =
        scene.confined("mv c/d e; git -C e log --format=%s; rm -rf e; git init -q e; ls -A e");
    assert_eq!(printed, "one\n.git\n[Some(0)]");
    assert_eq!(
        scene.on_host(root, "git -C e status -s; git -C e log"),
        "fatal: your current branch 'main' does not have any commits yet\n[Some(128)]"
    );
}

/// What a host that was killed leaves in the place of a repository that a command was making.
#[test]
fn an_empty_directory_in_its_place_is_nobodys() {
    if !has_namespaces() {
        return;
    }
    for prepare in ["mkdir .git", "mkdir -p sub/.git"] {
        let scene = Scene::new(prepare);
        let root = &scene.place.root;
        let at = if prepare.contains("sub") { "sub" } else { "." };
        let (printed, reports) = scene.confined(&format!(
            "cd {at}; git init -q && git commit -q --allow-empty -m one; echo evil > .git/hooks/pre-commit; git log --format=%s"
        ));
        assert_eq!(printed, "one\n[Some(0)]", "{prepare}: {reports:?}");
        let shown =
            scene.on_host(root, &format!("git -C {at} log --format=%s; ls {at}/.git/hooks"));
        assert!(shown.starts_with("one\nls:"), "{prepare}: {shown}\n{reports:?}");
        let (printed, _) = scene.confined(&format!(
            "git -C {at} commit -q --allow-empty -m two; git -C {at} log --format=%s"
        ));
        assert_eq!(printed, "two\none\n[Some(0)]", "{prepare}");
    }
}

/// Commands of this supervisor and of another one remove what commands have made, and nobody is told of it.
#[test]
fn one_that_is_removed_is_gone() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("git init -q person && git -C person commit -q --allow-empty -m theirs");
    let make = "git clone -q $BESIDE/lib copy && git -C copy commit -q --allow-empty -m one && git init -q a/b/c && git -C a/b/c commit -q --allow-empty -m two";
    for is_other in [false, true] {
        let (printed, reports) = scene.confined(make);
        assert_eq!((&*printed, reports.take()), ("[Some(0)]", Vec::new()));
        let root = &scene.place.root;
        assert_eq!(scene.on_host(root, "git -C copy log -1 --format=%s"), "one\n[Some(0)]");
        let script = "git -C a/b/c commit -q --allow-empty -m three; rm -rf copy a; ls";
        let (printed, reports) = scene.confined_with(script, |plan| {
            plan.limits.processes = plan.limits.processes.map(|max| max - u64::from(is_other));
        });
        assert_eq!((&*printed, reports.take()), ("person\n[Some(0)]", Vec::new()));
        assert_eq!(scene.on_host(root, "ls"), "person\n[Some(0)]");
        let (printed, reports) = scene.confined("ls; git init -q copy; rm -rf copy; ls");
        assert_eq!((&*printed, reports.take()), ("person\nperson\n[Some(0)]", Vec::new()));
        let (printed, _) = scene.confined("rm -rf person; ls -A person");
        assert!(printed.contains("busy") && printed.ends_with(".git\n[Some(0)]"), "{printed}");
        let kept = scene.on_host(root, "git -C person log --format=%s");
        assert_eq!(kept, "theirs\n[Some(0)]");
    }
}

/// Somebody fills the directory of the host on which a command's private one lies. It is set aside, under a name that
/// git goes into, and what it holds is judged then. The directory itself stays, and with it what commands see there.
#[test]
fn what_is_set_aside_holds_no_git_directory() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new("git init -q . && git commit -q --allow-empty -m x && mkdir sub");
    let root = grounds.root().to_owned();
    thread::scope(|threads| {
        let wait = "mkdir sub/.git; echo gitdir: $PWD/.git > sub/.git/.git; : > ready; until [ -e go ]; do sleep 0.01; done";
        let command = threads.spawn(|| grounds.scene.confined(wait).0);
        assert!(soon(|| root.join("ready").exists()), "it begins");
        let nested = "for d in sub/.git/g sub/.git/x/y; do mkdir -p $d/objects $d/refs; echo ref: refs/heads/x > $d/HEAD; \
            git config -f $d/config alias.st '!%C'; done; : > go";
        grounds.scene.on_host(&root, &grounds.filled(nested));
        command.join().expect("it ends");
    });
    assert_eq!(fs::read_dir(root.join("sub/.git")).expect("it stays").count(), 0);
    let places = "find sub -name .git -prune -print -o -name HEAD -print | sort";
    assert_eq!(grounds.scene.confined(places).0, grounds.scene.on_host(&root, places));
    let later = "for d in $(find sub -type d); do (cd $d; git st); done 2>&1";
    let shown = grounds.scene.on_host(&root, later);
    assert_eq!(grounds.effect(), None, "{shown}");
}
