//! Control groups: where they are made, and that none is left.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use child::{in_child, users};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::Pid;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use toolwright_sandbox::layers::{Layer, Layers};
use toolwright_sandbox::plan::Limits;
use toolwright_sandbox_program::limits::{Group, Groups};

const LIMITS: Limits = Limits {
    processes: Some(40),
    memory_bytes: Some(64 << 20),
    cpu_seconds: None,
    file_size_bytes: None,
};

/// The groups of this program below its own, where there is a hierarchy for a controller.
fn left(controller: &str) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").expect("groups");
    let line = text.lines().find_map(|line| line.split_once(&format!(":{controller}:/")));
    let Some((_, own)) = line else { return Vec::new() };
    let own = Path::new("/sys/fs/cgroup").join(controller).join(own);
    let entries = fs::read_dir(own).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("toolwright-"))
    };
    entries.filter(is_ours).collect()
}

/// Whether groups can be made here, in the older way that these tests look at.
fn is_possible() -> bool {
    let group = Groups::find(&LIMITS).make(&Layers::default());
    let possible = !left("pids").is_empty() && !left("memory").is_empty();
    drop(group);
    if !possible {
        eprintln!("skipped: no control groups of the first version here");
    }
    possible
}

/// Starts a process in the group that waits to be killed.
fn inhabitant(group: &Group) -> Pid {
    // SAFETY: this process has one thread; the child only waits.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let group_limits = group.enter();
        if !(group_limits.processes && group_limits.memory) {
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(1) }
        }
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    Pid::from_raw(pid).expect("a child")
}

fn end(pid: Pid) {
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("alive");
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).expect("ended");
}

fn is_inhabited(group: &Path) -> bool {
    !fs::read_to_string(group.join("cgroup.procs")).expect("processes").is_empty()
}

/// All in one test, since each part looks at all groups.
#[test]
fn groups_are_made_and_removed() {
    if users().is_empty() || !is_possible() {
        return;
    }
    made_with_their_limits();
    removed_when_empty();
    leftovers_are_removed_by_the_next();
    made_out_of_sight();
    many_at_once();
    assert_eq!((left("pids"), left("memory")), (Vec::new(), Vec::new()));
}

fn made_with_their_limits() {
    let groups = Groups::find(&LIMITS);
    assert_eq!(left("pids"), Vec::<PathBuf>::new(), "finding makes nothing");
    let group = groups.make(&Layers::default());
    let read = |path: &Path, name: &str| fs::read_to_string(path.join(name)).expect("limit");
    assert_eq!(read(&left("pids")[0], "pids.max").trim(), "41", "the worker is in it too");
    assert_eq!(read(&left("memory")[0], "memory.limit_in_bytes").trim(), (64 << 20).to_string());
    drop(group);
    assert_eq!((left("pids"), left("memory")), (Vec::new(), Vec::new()));
    // Where a process namespace does better, there is no group.
    let layers = Layers { pid: Layer::Holds, ..Layers::default() };
    let only = Limits { memory_bytes: None, ..LIMITS };
    let group = Groups::find(&only).make(&layers);
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let is_new = (numbers.next(), numbers.next()) >= (Some(6), Some(14));
    assert_eq!(left("pids").is_empty(), is_new);
    drop(group);
    let none = Groups::find(&Limits::default()).make(&Layers::default());
    assert_eq!((left("pids"), left("memory")), (Vec::new(), Vec::new()));
    drop(none);
}

fn removed_when_empty() {
    let group = Groups::find(&LIMITS).make(&Layers::default());
    let pid = inhabitant(&group);
    while !left("pids").iter().all(|group| is_inhabited(group)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    while !left("memory").iter().all(|group| is_inhabited(group)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let group = group.remove().expect("somebody is in it");
    assert_eq!((left("pids").len(), left("memory").len()), (1, 1));
    end(pid);
    assert!(group.remove().is_none());
    assert_eq!((left("pids"), left("memory")), (Vec::new(), Vec::new()));
}

fn leftovers_are_removed_by_the_next() {
    let mine = Groups::find(&LIMITS).make(&Layers::default());
    // Another supervisor, killed while its worker lives on.
    in_child(|| std::mem::forget(Groups::find(&LIMITS).make(&Layers::default())));
    let full = Groups::find(&LIMITS).make(&Layers::default());
    assert_eq!(left("pids").len(), 2, "the empty one was removed, and mine is locked");
    let pid = inhabitant(&full);
    while !left("pids").iter().any(|group| is_inhabited(group)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(full);
    drop(Groups::find(&LIMITS));
    assert_eq!(left("pids").len(), 2, "the full one stays");
    end(pid);
    drop(Groups::find(&LIMITS));
    assert_eq!(left("pids").len(), 1);
    drop(mine);
}

/// The supervisor has left the host's file tree when it makes groups.
fn made_out_of_sight() {
    in_child(|| {
        let groups = Groups::find(&LIMITS);
        // SAFETY: shares nothing with another thread.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.expect("namespace");
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).expect("private mounts");
        mount("none", "/sys/fs/cgroup", "tmpfs", MountFlags::empty(), None).expect("cover");
        let group = groups.make(&Layers::default());
        in_child(|| {
            let group_limits = group.enter();
            assert!(group_limits.processes && group_limits.memory);
        });
        drop(group);
    });
    assert_eq!((left("pids"), left("memory")), (Vec::new(), Vec::new()));
}

/// Supervisors take nothing from each other.
fn many_at_once() {
    let pids = [(); 6].map(|()| {
        // SAFETY: this process has one thread, and the child ends without unwinding.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let works = (0..40).all(|_| {
                let group = Groups::find(&LIMITS).make(&Layers::default());
                let pid = inhabitant(&group);
                std::thread::sleep(Duration::from_millis(1));
                let status =
                    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
                let lives = matches!(status, Ok(None));
                if lives {
                    end(pid);
                }
                lives
            });
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!works)) }
        }
        pid
    });
    for pid in pids {
        let mut status = 0;
        // SAFETY: room for the status.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!(status, 0, "a group was taken away");
    }
    drop(Groups::find(&LIMITS));
}
