//! Processes that are killed while they fork, write, apply, undo, discard and collect.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use support::{Place, view};
use toolwright_fork_store::{Apply, ForkState, Store};

const FILES: usize = 12;
/// Tells the child of a test what to work on.
const BASE: &str = "TOOLWRIGHT_FORK_BASE";
const STORE: &str = "TOOLWRIGHT_FORK_STORE";

fn file(base: &Path, number: usize) -> PathBuf {
    base.join(format!("d{}/f{number}", number % 3))
}

/// Forks, writes the next number to every file, applies that and throws the fork away, for ever.
#[test]
fn child() {
    let (Some(base), Some(store)) = (env::var_os(BASE), env::var_os(STORE)) else { return };
    let (base, store) = (PathBuf::from(base), Store::open(Path::new(&store), Vec::new()).unwrap());
    let never = AtomicBool::new(false);
    for round in 0_usize.. {
        let open = store.fork(&base, None).unwrap();
        let fork = view(&open);
        let next = fs::read_to_string(file(&fork, 0)).unwrap().parse::<usize>().unwrap() + 1;
        for number in 0..FILES {
            fs::write(file(&fork, number), next.to_string()).unwrap();
        }
        if round % 2 == 0 {
            fs::write(fork.join("made"), "").unwrap();
        } else {
            let _ = fs::remove_file(fork.join("made"));
        }
        let applied = open.fork().apply(Apply::default(), &never).unwrap();
        assert_eq!(applied.conflicts, []);
        if round % 4 == 1 {
            assert_eq!(open.fork().undo(&never).unwrap().conflicts, []);
        }
        if round % 3 == 0 {
            drop(open);
            store.collect(None).unwrap();
        } else {
            open.discard().unwrap();
        }
    }
}

#[test]
fn the_base_is_as_before_or_as_after() {
    let files: Vec<_> = (0..FILES).map(|number| format!("d{}/f{number}", number % 3)).collect();
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), "0")).collect();
    let Some(place) = Place::new(&files) else { return };
    let kills = env::var("TOOLWRIGHT_FORK_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(50);
    let mut rounds = BTreeSet::new();
    for kill in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child"])
            .env(BASE, &place.base)
            .env(STORE, place.store.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // At another moment each time.
        sleep(Duration::from_micros(20_000 + kill * 7919 % 180_000));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the child ends by the kill alone");
        // What it had started ends too, and no fork stays locked.
        let deadline = Instant::now() + Duration::from_secs(5);
        let is_open =
            || place.store.list(None).unwrap().iter().any(|it| it.state == ForkState::Open);
        while is_open() {
            assert!(Instant::now() < deadline, "a fork of a killed process is still open");
            sleep(Duration::from_millis(5));
        }
        // The next change below the root ends what was begun there.
        let (open, fork) = place.fork();
        fs::write(fork.join("settled"), kill.to_string()).unwrap();
        let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
        assert_eq!(applied.conflicts, []);
        open.discard().unwrap();
        let contents: BTreeSet<_> = (0..FILES)
            .map(|number| fs::read_to_string(file(&place.base, number)).unwrap())
            .collect();
        assert_eq!(contents.len(), 1, "{contents:?}");
        rounds.extend(contents);
        let left: Vec<_> = fs::read_dir(&place.base)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".toolwright"))
            .collect();
        assert_eq!(left, Vec::<String>::new());
        place.store.collect(Some(0)).unwrap();
        assert_eq!(place.store.list(None).unwrap(), []);
    }
    assert!(rounds.len() > 1, "no child has come to apply anything");
}
