//! Files that the host replaces while a command runs: the new file is protected, and closed, as the
//! old one was.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use support::place::{Place, has_namespaces};
use support::{all_as_another_user, soon, text};

/// How long a command waits before it uses a replaced file: many times longer than covering it
/// takes on a busy machine.
const PATIENCE: &str = "sleep 1";

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// Runs a script that waits for `./go`, calls `act` meanwhile, and returns the output.
fn beside(place: &Place, script: &str, act: impl FnOnce()) -> String {
    let script = format!(
        "echo > ready; until [ -e go ]; do sleep 0.01; done; {PATIENCE}; {{ {script}; }} 2>&1; true"
    );
    thread::scope(|scope| {
        let command = scope.spawn(|| text(&place.sh(&script).expect("runs")));
        assert!(soon(|| place.root.join("ready").exists()), "it runs");
        act();
        fs::write(place.root.join("go"), "").expect("written");
        let output = command.join().expect("ended");
        // The next command has to say itself that it runs.
        for name in ["ready", "go"] {
            fs::remove_file(place.root.join(name)).expect("there");
        }
        output
    })
}

/// As programs save a file.
fn replace(place: &Place, name: &str, content: &str) {
    let beside = place.outside.join("saved");
    fs::write(&beside, content).expect("written");
    fs::rename(&beside, place.root.join(name)).expect("renamed");
}

fn with_file(name: &str) -> Place {
    let mut place = Place::confined();
    let path = place.root.join(name);
    fs::create_dir_all(path.parent().expect("one")).expect("made");
    fs::write(&path, "old").expect("written");
    place.plan.protected.push(path);
    place
}

#[test]
fn a_protected_file_that_is_replaced_stays_protected() {
    if !has_namespaces() {
        return;
    }
    let place = with_file("dir/kept");
    let script = "echo x >> dir/kept; echo x > new; mv -f new dir/kept; rm -f dir/kept; mv dir away; cat dir/kept";
    // More than once in the life of a command, too.
    let output = beside(&place, script, || {
        replace(&place, "dir/kept", "newer");
        thread::sleep(Duration::from_millis(50));
        replace(&place, "dir/kept", "newest");
    });
    assert!(output.ends_with("newest"), "{output}");
    assert_eq!(fs::read_to_string(place.root.join("dir/kept")).expect("there"), "newest");
    // The same while the supervisor is already let go for its tree being another.
    let output = beside(&place, &format!("sleep 1; {script}"), || {
        replace(&place, "dir/kept", "third");
        place.output("true");
        replace(&place, "dir/kept", "last");
    });
    assert!(output.ends_with("last"), "{output}");
    assert_eq!(fs::read_to_string(place.root.join("dir/kept")).expect("there"), "last");
}

#[test]
fn a_protected_file_that_is_removed_is_held_and_may_come_back() {
    if !has_namespaces() {
        return;
    }
    let place = with_file("kept");
    // Removed, and written again a moment later.
    let output = beside(&place, "echo x >> kept; cat kept", || {
        fs::remove_file(place.root.join("kept")).expect("removed");
        fs::write(place.root.join("kept"), "new").expect("written");
    });
    assert!(output.ends_with("new"), "{output}");
    assert_eq!(fs::read_to_string(place.root.join("kept")).expect("there"), "new");
    // Removed for good.
    let output = beside(&place, "echo x > kept || echo refused", || {
        fs::remove_file(place.root.join("kept")).expect("removed");
    });
    assert!(output.contains("refused"), "{output}");
}

#[test]
fn a_directory_on_the_way_that_is_exchanged_is_held() {
    if !has_namespaces() {
        return;
    }
    let place = with_file("dir/sub/kept");
    let output = beside(
        &place,
        "echo x >> dir/sub/kept; mv dir away; mv dir/sub away; cat dir/sub/kept",
        || {
            let new = place.outside.join("new");
            fs::create_dir_all(new.join("sub")).expect("made");
            fs::write(new.join("sub/kept"), "new").expect("written");
            fs::remove_dir_all(place.root.join("dir")).expect("removed");
            fs::rename(new, place.root.join("dir")).expect("there");
        },
    );
    assert!(output.ends_with("new"), "{output}");
    assert_eq!(fs::read_to_string(place.root.join("dir/sub/kept")).expect("there"), "new");
}

#[test]
fn a_closed_file_that_is_replaced_stays_closed() {
    if !has_namespaces() {
        return;
    }
    let mut place = Place::confined();
    for name in ["closed", "root/closed"] {
        fs::write(place.outside.join(name), "secret").expect("written");
        place.plan.closed.push(place.outside.join(name));
    }
    let script = format!("cat {}/closed closed; echo end", place.outside.display());
    let output = beside(&place, &script, || {
        for name in ["closed", "root/closed"] {
            fs::write(place.outside.join("saved"), "secret").expect("written");
            fs::rename(place.outside.join("saved"), place.outside.join(name)).expect("renamed");
        }
    });
    assert!(output.ends_with("end\n") && !output.contains("secret"), "{output}");
}

/// Each of these commands has a tree of its own: the required layers would refuse it otherwise.
#[test]
fn a_closed_file_that_is_replaced_all_the_time_does_not_cost_the_tree() {
    if !has_namespaces() {
        return;
    }
    let mut place = Place::confined();
    let closed = place.root.join("closed");
    fs::write(&closed, "secret").expect("written");
    place.plan.closed.push(closed);
    place.isolated = true;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                replace(&place, "closed", "secret");
            }
        });
        let results: Vec<_> = (0..100).map(|_| place.sh("echo out")).collect();
        done.store(true, Ordering::Relaxed);
        for result in results {
            assert_eq!(text(&result.expect("runs")), "out\n");
        }
    });
}

/// The process of a command is made while the file is replaced, once before a command of the same tree and once after it.
#[test]
fn a_protected_file_that_is_replaced_while_a_command_begins_is_held() {
    if !has_namespaces() {
        return;
    }
    let place = with_file("dir/kept");
    let script = format!(
        "until [ -e go ]; do sleep 0.01; done; {PATIENCE}; {{ echo x >> dir/kept; rm -f dir/kept; cat dir/kept; }} 2>&1"
    );
    for round in 0..20_u32 {
        let content = format!("saved {round}");
        let output = thread::scope(|scope| {
            let command = scope.spawn(|| text(&place.sh(&script).expect("runs")));
            let (began, long) = (Instant::now(), Duration::from_millis(1) * round);
            while began.elapsed() < long {
                replace(&place, "dir/kept", "before");
            }
            replace(&place, "dir/kept", &content);
            fs::write(place.root.join("go"), "").expect("written");
            command.join().expect("ended")
        });
        fs::remove_file(place.root.join("go")).expect("there");
        assert!(output.ends_with(&content), "{round}: {output}");
    }
}

/// Moves what is there aside, and puts something else there, as editors that keep a backup do. What is moved takes its
/// covers with it, and the kernel reports no change of the mounts. Who is stopped between the two finds the empty
/// directory that holds an absent name.
fn exchange(place: &Place, name: &str, by: &str) {
    let at = place.root.join(name);
    fs::rename(&at, place.outside.join(format!("{by}.backup"))).expect("away");
    let comes = || match fs::rename(place.outside.join(by), &at) {
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
            let _ = fs::remove_dir(&at);
            false
        }
        other => {
            other.expect("there");
            true
        }
    };
    assert!(soon(comes), "the name stays held");
}

#[test]
fn what_the_host_moves_away_is_held_and_closed_in_its_place() {
    if !has_namespaces() {
        return;
    }
    let mut place = with_file("dir/sub/kept");
    for name in ["closed", "dir/closed"] {
        fs::write(place.root.join(name), "secret").expect("written");
        place.plan.closed.push(place.root.join(name));
    }
    let script = "echo x >> dir/sub/kept; echo x > new; mv -f new dir/sub/kept; rm -f dir/sub/kept; mv dir away; mv dir/sub away; \
                  cat closed dir/closed; cat dir/sub/kept";
    let outside = place.outside.clone();
    // More than once in the life of a command, too.
    let output = beside(&place, script, || {
        for round in ["first", "last"] {
            for name in ["kept", "closed"] {
                fs::write(outside.join(name), if name == "kept" { round } else { "secret" })
                    .expect("written");
            }
            exchange(&place, "dir/sub/kept", "kept");
            exchange(&place, "closed", "closed");
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(output.ends_with("last") && !output.contains("secret"), "{output}");
    for (name, kept) in [("dir", "sub/kept"), ("dir/sub", "kept")] {
        let new = outside.join("new");
        fs::create_dir_all(new.join(kept).parent().expect("one")).expect("made");
        fs::write(new.join(kept), name).expect("written");
        fs::write(new.join("closed"), "secret").expect("written");
        let output = beside(&place, script, || {
            let _ = fs::remove_dir_all(outside.join("new.backup"));
            exchange(&place, name, "new");
        });
        assert!(output.ends_with(name), "{output}");
        assert!(!output.contains("secret"), "{output}");
        assert_eq!(fs::read_to_string(place.root.join("dir/sub/kept")).expect("there"), name);
        // The next command has a tree of its own.
        let output = text(&place.sh(&format!("{{ {script}; }} 2>&1")).expect("runs"));
        assert!(output.ends_with(name) && !output.contains("secret"), "{output}");
    }
}

/// An exchange can come while the supervisor still covers what the last one has left, and a new file can have the
/// number of an old one.
#[test]
fn what_the_host_moves_away_again_and_again_is_held_and_closed() {
    const ROUNDS: usize = 40;
    if !has_namespaces() {
        return;
    }
    let mut place = with_file("kept");
    fs::write(place.root.join("closed"), "secret").expect("written");
    place.plan.closed.push(place.root.join("closed"));
    let script = format!(
        "i=0; while [ $i -lt {ROUNDS} ]; do until [ -e go$i ]; do sleep 0.01; done; cat closed; echo planted >> kept; : > done$i; i=$((i+1)); done 2>&1; true"
    );
    let (root, outside) = (place.root.clone(), place.outside.clone());
    let output = thread::scope(|scope| {
        let command = scope.spawn(|| text(&place.sh(&script).expect("runs")));
        for round in 0..ROUNDS {
            for pause in [5, 3, 1] {
                for (name, content) in [("closed", "secret"), ("kept", "theirs")] {
                    fs::write(outside.join(name), content).expect("written");
                    exchange(&place, name, name);
                }
                // Faster than anybody looks, and at all times of a look.
                if round % 2 == 0 {
                    let spread = u64::try_from(round).expect("small") * 60;
                    thread::sleep(Duration::from_micros(pause * 700 + spread));
                }
            }
            thread::sleep(Duration::from_millis(250));
            fs::write(root.join(format!("go{round}")), "").expect("written");
            assert!(soon(|| root.join(format!("done{round}")).exists()), "it reads");
            let kept = fs::read_to_string(root.join("kept")).expect("there");
            assert_eq!(kept, "theirs", "{round}");
        }
        command.join().expect("ended")
    });
    assert!(!output.contains("secret"), "{output}");
}
