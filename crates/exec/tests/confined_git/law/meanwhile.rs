//! What the host's git finds while a command runs.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use super::entries::{FILES, HOOKS, SETTINGS};
use super::{Grounds, Numbers, PROJECT, factor, has_namespaces, none_of, seed};

/// How many commands an ordinary run has.
const ORDINARY: u64 = 2;

/// What makes a git directory `$G` that no person has made. `$N` is a number. None of it lies under a name that git
/// does not look for: a bare repository of plain files is in force while the command runs unless `git` is strict.
const MADE: [&str; 9] = [
    "git init -q n$N; G=n$N/.git",
    "git clone -q $BESIDE/lib n$N; G=n$N/.git",
    "git init -q q$N; mv q$N n$N; G=n$N/.git",
    "git init -q q$N/w; mkdir n$N; mv q$N/w/.git n$N/.git; G=n$N/.git",
    "mkdir n$N; cp -r .git n$N/.git; G=n$N/.git",
    "git init -q n$N/b/c/d/e/f/g/h/i; G=n$N/b/c/d/e/f/g/h/i/.git; git -C n$N/b/c/d/e/f/g/h/i commit -q --allow-empty -m x; git add n$N/b/c/d/e/f/g/h/i",
    "rm -rf gl; git init -q gl; G=gl/.git",
    "mkdir -p n$N/.git; G=n$N/.git; mkdir -p $G/objects $G/refs; echo ref: refs/heads/main > $G/HEAD",
    "G=.git",
];

/// The host's git while a command waits, in the root and in all that it has made.
#[test]
fn git_of_the_host_obeys_nothing_while_a_command_runs() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new(PROJECT);
    let mut numbers = Numbers(seed());
    let mut wrong = Vec::new();
    let count = ORDINARY * factor();
    for _ in 0..count {
        grounds.restore();
        let mut script = String::new();
        for number in 0..6 {
            let made = numbers.one(&MADE);
            write!(script, "N={number}; {made}; ").expect("written");
            for _ in 0..3 {
                let (key, value) = numbers.one(SETTINGS);
                write!(script, "git config -f $G/config '{key}' '{value}'; ").expect("written");
            }
            write!(
                script,
                "git config -f $G/config core.fsmonitor %C; mkdir -p $G/hooks; cp %C $G/hooks/{}; ",
                numbers.one(&HOOKS)
            )
            .expect("written");
            let (path, content) = numbers.one(FILES);
            let path = path.replace("%C", "canary");
            write!(
                script,
                "P={path}; mkdir -p $(dirname $G/$P); cat > $G/$P <<'END'\n{content}\nEND\n"
            )
            .expect("written");
        }
        script.push_str(": > begun; until [ -e go ]; do sleep 0.01; done; rm -f begun go");
        let script = grounds.filled(&script);
        thread::scope(|threads| {
            let command = threads.spawn(|| grounds.scene.confined(&script));
            let started = Instant::now();
            while !grounds.root().join("begun").exists() {
                assert!(started.elapsed() < Duration::from_secs(30), "it begins: {script}");
                thread::sleep(Duration::from_millis(5));
            }
            grounds.some_later(None);
            if let Some(effect) = grounds.effect() {
                wrong.push(format!("{effect}\n{script}"));
            }
            std::fs::write(grounds.root().join("go"), "").expect("written");
            command.join().expect("it ends");
        });
        grounds.some_later(None);
        if let Some(effect) = grounds.effect() {
            wrong.push(format!("afterwards: {effect}\n{script}"));
        }
    }
    none_of(&wrong, usize::try_from(count).expect("small"));
}
