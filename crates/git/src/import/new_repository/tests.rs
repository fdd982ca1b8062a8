//! A process is killed at every step of making a repository, and another one goes on.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Found, Made, create};
use crate::config::New;
use crate::directory::Directory;
use crate::import::{Terms, recover};
use crate::transaction::failpoint;

const STEP: &str = "TOOLWRIGHT_GIT_MADE_STEP";
const PLACE: &str = "TOOLWRIGHT_GIT_MADE_PLACE";

fn git(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "core.fsync=none",
            "-C",
        ])
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output();
    let Ok(output) = output else { return (false, String::new()) };
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
}

fn open(path: &Path) -> Directory {
    Directory::open(&path.canonicalize().expect("a path")).expect("a directory")
}

fn make(place: &Path) -> Made {
    let terms = Terms {
        git: place.join("w/.git"),
        top: Some(place.join("w")),
        is_writable: Box::new(|_| true),
        is_readable: Box::new(|_| true),
        is_strict: false,
        holds_git_directories: true,
        lent: Vec::new(),
    };
    create(&open(&place.join("w/.git")), &open(&place.join("content")), &New::default(), &terms)
}

fn child_place() -> Option<PathBuf> {
    let steps = std::env::var(STEP).ok()?.parse().ok()?;
    let place = std::env::var_os(PLACE)?;
    failpoint::kill_at(steps);
    Some(place.into())
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_makes() {
    if let Some(place) = child_place() {
        assert!(make(&place).is_made);
    }
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_recovers() {
    if let Some(place) = child_place() {
        recover(&open(&place.join("w/.git"))).expect("a recovery");
    }
}

/// Runs a test in a process of its own, which is killed after so many steps. `true`: it was killed.
fn run_child(name: &str, place: &Path, steps: u32) -> bool {
    let status = Command::new(std::env::current_exe().expect("a path"))
        .args([
            &format!("import::new_repository::tests::{name}"),
            "--exact",
            "--ignored",
            "--test-threads=1",
        ])
        .env(STEP, steps.to_string())
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("a process");
    assert!(status.success() || status.signal() == Some(9), "{status:?}");
    !status.success()
}

/// Does something again while a lock is held: a process that another test has forked has the descriptors of
/// this one, until it starts its program.
fn patiently<T>(again: impl Fn() -> T, is_locked: impl Fn(&T) -> bool) -> T {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let found = again();
        if !is_locked(&found) || Instant::now() > until {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_that_is_killed_at_any_step_leaves_a_repository_or_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().canonicalize().expect("a path");
    let (work, host) = (place.join("w"), place.join("w/.git"));
    fs::create_dir(&work).expect("a directory");
    if !git(&work, &["init", "-q", "-b", "main", "."]).0 {
        return;
    }
    fs::write(work.join("file"), "text").expect("a file");
    git(&work, &["add", "."]);
    assert!(git(&work, &["commit", "-q", "-m", "one"]).0);
    git(&work, &["branch", "side"]);
    let log = git(&work, &["log", "-g", "--all", "--format=%gD %H %gs"]).1;
    fs::rename(&host, place.join("content")).expect("a rename");
    // With a submodule.
    let module = place.join("content/modules/lib");
    assert!(git(&place, &["clone", "-q", "--bare", "content", &module.to_string_lossy()]).0);
    let (mut finished, mut taken_back, mut nothing) = (0, 0, 0);
    // Each of the steps in between is much like its neighbours.
    for steps in (0..).step_by(2) {
        fs::create_dir(&host).expect("a directory");
        let was_killed = run_child("child_that_makes", &place, steps);
        let is_repository = git(&work, &["rev-parse", "HEAD"]).0;
        if is_repository {
            // Nothing is missing, whatever was not yet cleaned away.
            assert_eq!(
                git(&work, &["log", "-g", "--all", "--format=%gD %H %gs"]).1,
                log,
                "{steps}"
            );
            assert_eq!(git(&work, &["status", "--porcelain"]), (true, String::new()), "{steps}");
        }
        // The recovery is killed as well, somewhere.
        if steps % 3 == 0 {
            run_child("child_that_recovers", &place, steps / 3 % 29);
        }
        let recovered = || recover(&open(&host)).expect("a recovery");
        match patiently(recovered, |found| *found == Found::Alive) {
            Found::Finished => finished += 1,
            Found::TakenBack => taken_back += 1,
            Found::Nothing => nothing += 1,
            Found::Alive => panic!("it is dead"),
        }
        let is_empty = fs::read_dir(&host).expect("a directory").next().is_none();
        assert!(!is_repository || !is_empty, "{steps}");
        if is_empty {
            let made = patiently(|| make(&place), |made| made.is_waiting);
            assert!(made.is_made, "{steps}: {made:?}");
        }
        assert_eq!(git(&work, &["log", "-g", "--all", "--format=%gD %H %gs"]).1, log, "{steps}");
        if steps % 4 == 0 || !was_killed {
            assert_eq!(git(&work, &["status", "--porcelain"]), (true, String::new()), "{steps}");
            assert!(git(&work, &["fsck", "--strict", "--no-progress"]).0, "{steps}");
            assert!(git(&host.join("modules/lib"), &["fsck", "--strict", "--no-progress"]).0);
        }
        let left = fs::read_dir(&host).expect("a directory").flatten();
        let left = left.filter(|one| one.file_name().to_string_lossy().starts_with("toolwright"));
        assert_eq!(left.count(), 0, "{steps}");
        fs::remove_dir_all(&host).expect("a directory");
        if !was_killed {
            break;
        }
    }
    assert!(finished > 3 && taken_back > 50 && nothing > 0, "{finished} {taken_back} {nothing}");
}
