//! What commands of one plan share, and others do not; and plans whose paths become other files.

#![cfg(target_os = "linux")]

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use support::place::{Place, WORKER, has_namespaces, supervisors, workers};
use support::{all_as_another_user, descriptors, done_alone, soon, text};
use toolwright_exec::{ExecError, SpawnReason, report};
use toolwright_sandbox::report::Level;

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

#[test]
fn equal_plans_share_and_others_do_not() {
    if !has_namespaces() {
        return;
    }
    let mut place = Place::confined();
    let shared = |place: &Place| place.output("cat /tmp/shared /dev/shm/shared 2>/dev/null");
    place.output("echo tmp > /tmp/shared; echo shm > /dev/shm/shared");
    let worker = place.output(WORKER);
    let plan = place.plan.clone();
    let changes: [fn(&mut Place); 4] = [
        |place| place.plan.limits.processes = Some(4095),
        |place| place.plan.protected.push(place.root.join("kept")),
        |place| place.plan.network = toolwright_sandbox::plan::Network::Nothing,
        |place| place.isolated = true,
    ];
    for change in changes {
        change(&mut place);
        assert_eq!(shared(&place), "");
        assert_ne!(place.output(WORKER), worker);
        (place.plan, place.isolated) = (plan.clone(), false);
        assert_eq!((shared(&place), place.output(WORKER)), ("tmp\nshm".to_owned(), worker.clone()));
    }
    for name in ["/tmp/shared", "/dev/shm/shared"] {
        assert!(!Path::new(name).exists(), "{name} is on the host");
    }
}

#[test]
fn isolated_calls_share_nothing_and_leave_nothing() {
    if !has_namespaces() || done_alone("isolated_calls_share_nothing_and_leave_nothing", "") {
        return;
    }
    let (mut place, host) = (Place::confined(), std::process::id());
    place.isolated = true;
    place.plan.protected.push(place.root.join("kept"));
    let script =
        format!("ls -A /tmp /dev/shm /var/tmp; : > /tmp/left; : > /dev/shm/left; {WORKER}");
    place.output("true");
    let before = descriptors();
    let mut all: Vec<String> = (0..4).map(|_| place.output(&script)).collect();
    thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| place.output(&script))).collect();
        all.extend(calls.into_iter().map(|call| call.join().expect("no panic")));
    });
    let is_alone = |output: &String| !output.contains("left");
    assert!(all.iter().all(is_alone), "{all:?}");
    place.timed_out(Duration::from_millis(100), "setsid sleep 60 & sleep 60");
    assert!(place.run("no-such-program", &[]).is_err());
    assert!(soon(|| supervisors(host).is_empty()), "{:?}", supervisors(host));
    assert!(place.is_clear());
    assert_eq!(descriptors(), before);
    assert_eq!(fs::read_dir(&place.root).expect("dir").count(), 0, "nothing stands for `kept`");
}

/// A host that removes the root and makes it anew, or replaces it, finds the output of commands in
/// the current one.
#[test]
fn a_root_that_is_made_anew() {
    let place = Place::confined();
    let works = |name: &str| {
        assert_eq!(place.output(&format!("echo new > {name}; ls; pwd -P; stat -c %i .")), {
            let inode = fs::metadata(&place.root).expect("root").ino();
            format!("{name}\n{}\n{inode}", place.root.display())
        });
        assert_eq!(fs::read_to_string(place.root.join(name)).expect("written"), "new\n");
        let mounts = report(&place.plan, false, &AtomicBool::new(false)).file_metadata;
        assert!(mounts.level == Level::Kernel || !has_namespaces(), "{mounts:?}");
    };
    works("first");
    let (root, old) = (&place.root, place.outside.join("old"));
    for round in 0..3 {
        fs::remove_dir_all(root).expect("removed");
        if round > 0 {
            for program in ["true", "/bin/true", "no-such-program"] {
                let result = place.run(program, &[]);
                let reason = SpawnReason::BadCwd;
                assert!(
                    matches!(&result, Err(ExecError::Spawn { reason: actual, .. }) if *actual == reason),
                    "{result:?}"
                );
            }
        }
        fs::create_dir(root).expect("made");
        works("removed");
        fs::rename(root, &old).expect("moved");
        fs::create_dir(root).expect("made");
        works("moved");
        assert_eq!(fs::read_dir(&old).expect("old").count(), 1);
        fs::remove_dir_all(&old).expect("removed");
    }
}

/// Programs save a file by renaming another over it, or by moving it away first.
#[test]
fn a_protected_file_that_is_replaced_stays_protected() {
    if !has_namespaces() {
        return;
    }
    let mut place = Place::confined();
    let (protected, absent) = (place.root.join("kept"), place.root.join("sub/absent"));
    fs::write(&protected, "kept\n").expect("written");
    place.plan.protected = vec![protected.clone(), absent.clone()];
    let is_protected = |how: &str| {
        let attack = "(echo bad > kept; echo bad > sub/absent; mkdir -p sub/absent/x
            rm -f kept sub/absent; mv kept k; mv sub s; echo bad > other; mv other kept) 2>/dev/null";
        place.output(&format!("{attack}; :"));
        assert_eq!(fs::read_to_string(&protected).expect("there"), "kept\n", "{how}");
        let bad =
            fs::read_to_string(&absent).unwrap_or_default() + &place.output("ls -A sub s 2>&1");
        assert!(!bad.contains("bad") && !bad.contains('x'), "{how}: {bad}");
    };
    is_protected("at first");
    let new = place.outside.join("new");
    for round in 0..3 {
        fs::write(&new, "kept\n").expect("written");
        match round {
            0 => fs::rename(&new, &protected).expect("renamed over it"),
            1 => {
                fs::rename(&protected, place.root.join("kept~")).expect("moved away");
                fs::rename(&new, &protected).expect("moved");
            }
            _ => {
                fs::remove_file(&protected).expect("removed");
                fs::copy(&new, &protected).expect("copied");
            }
        }
        is_protected(["renamed over", "moved away", "removed"][round]);
    }
}

/// As a program does that saves its settings again and again.
#[test]
fn a_protected_file_that_is_replaced_all_the_time_does_not_stop_commands() {
    if !has_namespaces() {
        return;
    }
    let mut place = Place::confined();
    let (protected, new) = (place.root.join("kept"), place.outside.join("new"));
    fs::write(&protected, "0").expect("written");
    place.plan.protected.push(protected.clone());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::write(&new, "1").expect("written");
                fs::rename(&new, &protected).expect("renamed");
                thread::sleep(Duration::from_millis(15));
            }
        });
        let results: Vec<_> = (0..40).map(|_| place.sh("echo out")).collect();
        done.store(true, Ordering::Relaxed);
        for result in results {
            assert_eq!(text(&result.expect("runs")), "out\n");
        }
    });
}

/// All of the first calls meet it at the same time.
#[test]
fn a_tree_that_cannot_be_built_is_done_without_by_all() {
    let mut place = Place::confined();
    // No tree of files can close this; Landlock can, and then there is nothing to be run.
    place.plan.closed.push("/".into());
    place.required = false;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match place.run("true", &[]) {
                Err(ExecError::Spawn { reason: SpawnReason::NotFound, .. }) => {}
                Err(ExecError::Unconfined { missing, .. }) if missing.layer == "Landlock" => {}
                other => panic!("{other:?}"),
            });
        }
    });
}

/// The most supervisors of a host.
const MAX_SUPERVISORS: usize = 32;

#[test]
fn many_roots_leave_few_supervisors() {
    if done_alone("many_roots_leave_few_supervisors", "") {
        return;
    }
    let host = std::process::id();
    let places: Vec<Place> = (0..40).map(|_| Place::confined()).collect();
    for round in 0..2 {
        for place in &places {
            assert_eq!(place.output("pwd -P"), place.root.display().to_string());
        }
        let few =
            || supervisors(host).len() <= MAX_SUPERVISORS && workers(host).len() <= MAX_SUPERVISORS;
        assert!(soon(few), "{round}: {}, {}", supervisors(host).len(), workers(host).len());
    }
    thread::scope(|scope| {
        for place in &places {
            scope.spawn(|| assert_eq!(place.output("pwd -P"), place.root.display().to_string()));
        }
    });
    assert!(soon(|| supervisors(host).len() <= MAX_SUPERVISORS), "{}", supervisors(host).len());
}
