//! The marks that hosts keep for the next one: what becomes of them, and who reaches them.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use rustix::process::Signal;
use toolwright_exec::GitReport;
use toolwright_sandbox::plan::Plan;

use super::ends::{HOST, PLANTS, end, host, plan_of, run_as_host, state_of};
use super::law::Grounds;
use super::support::soon;
use super::{Scene, has_namespaces};

/// The mark that a killed host has left.
fn mark(state: &Path) -> PathBuf {
    let all: Vec<_> = fs::read_dir(state.join("marks"))
        .expect("there")
        .flatten()
        .filter(|entry| fs::read(entry.path()).is_ok_and(|read| read.first() == Some(&b'h')))
        .collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].path()
}

/// What somebody does to a mark, or to the root.
type Change = fn(&Path, &Path);

/// What becomes of a mark before the next host reads it, and whether the plant is found all the same.
#[test]
fn a_mark_that_is_not_as_it_was_has_nothing_renamed() {
    if !has_namespaces() {
        return;
    }
    let changes: [(&str, Change, Option<GitReport>, bool); 9] = [
        ("as it was", |_, _| (), Some(GitReport::Killed), true),
        (
            "cut",
            |mark, _| fs::write(mark, &fs::read(mark).expect("read")[..60]).expect("written"),
            Some(GitReport::KilledUnknown),
            false,
        ),
        (
            "empty, after a loss of power",
            |mark, _| fs::write(mark, "").expect("written"),
            Some(GitReport::KilledUnknown),
            false,
        ),
        (
            "another version",
            |mark, _| {
                let mut bytes = fs::read(mark).expect("read");
                bytes[7] = b'9';
                fs::write(mark, bytes).expect("written");
            },
            Some(GitReport::KilledUnknown),
            false,
        ),
        (
            "too large",
            |mark, _| {
                let file = fs::OpenOptions::new().write(true).open(mark).expect("opened");
                file.set_len(10 << 30).expect("longer");
            },
            Some(GitReport::KilledUnknown),
            false,
        ),
        (
            "a link",
            |mark, _| {
                let other = mark.parent().expect("above").with_file_name("other");
                fs::rename(mark, &other).expect("renamed");
                symlink(&other, mark).expect("linked");
            },
            None,
            false,
        ),
        (
            "another user's",
            |mark, _| {
                if std::os::unix::fs::chown(mark, Some(65534), None).is_err() {
                    fs::remove_file(mark).expect("removed");
                }
            },
            None,
            false,
        ),
        (
            "others may write it",
            |mark, _| {
                fs::set_permissions(mark, fs::Permissions::from_mode(0o666)).expect("set");
            },
            None,
            false,
        ),
        (
            "another directory in its place",
            |_, root| {
                let other = root.with_extension("other");
                assert!(
                    Command::new("cp")
                        .arg("-a")
                        .args([root, &other])
                        .status()
                        .expect("cp")
                        .success()
                );
                fs::rename(root, root.with_extension("old")).expect("renamed");
                fs::rename(&other, root).expect("renamed");
            },
            None,
            false,
        ),
    ];
    for (name, change, report, is_found) in changes {
        let grounds = Grounds::new("git init -q . && git commit -q --allow-empty -m x");
        let (root, state) = (grounds.root().to_owned(), state_of(&grounds));
        let (plant, gone) = PLANTS[0];
        let child =
            host(&root, &state, &grounds.filled(&format!("{plant}; echo x > planted; sleep 20")));
        assert!(soon(|| root.join("planted").exists()), "it plants");
        end(child, Signal::KILL, true);
        change(&mark(&state), &root);
        let reports = run_as_host(&root, &state, "true");
        assert_eq!(reports.first(), report.as_ref(), "{name}");
        assert_eq!(!root.join(gone[0]).exists(), is_found, "{name}");
        assert_eq!(run_as_host(&root, &state, "true"), [], "{name}");
    }
}

/// The root has another name when the next host begins.
#[test]
fn a_root_that_was_renamed_is_judged() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new("git init -q . && git commit -q --allow-empty -m x");
    let (root, state) = (grounds.root().to_owned(), state_of(&grounds));
    let (plant, gone) = PLANTS[1];
    let child =
        host(&root, &state, &grounds.filled(&format!("{plant}; echo x > planted; sleep 20")));
    assert!(soon(|| root.join("planted").exists()), "it plants");
    end(child, Signal::KILL, false);
    let other = root.with_file_name("renamed");
    fs::rename(&root, &other).expect("renamed");
    assert_eq!(run_as_host(&other, &state, "true").first(), Some(&GitReport::Killed));
    assert!(!other.join(gone[0]).exists());
    fs::rename(&other, &root).expect("renamed");
}

/// A home directory as root holds the state directory too. Commands neither read, write, move nor replace it.
#[test]
fn commands_do_not_reach_marks() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new("git init -q . && git commit -q --allow-empty -m x");
    let root = grounds.root().to_owned();
    let state = root.join(".local/state/toolwright");
    let (plant, gone) = PLANTS[0];
    let script = grounds.filled(&format!(
        "m=.local/state/toolwright/marks; ls $m/*; cat $m/*; rm -rf $m; echo x > $m/x; mv $m m2; mv .local/state/toolwright t2; mv .local/state s2; mv .local l2; \
         mkdir -p .local/state/toolwright/marks; {plant}; find m2 t2 s2 l2 .local -type f > seen; echo x > planted; sleep 20"
    ));
    let child = host(&root, &state, &script);
    assert!(soon(|| root.join("planted").exists()), "it plants");
    end(child, Signal::KILL, true);
    assert_eq!(fs::read_to_string(root.join("seen")).expect("read"), "");
    let found = fs::metadata(state.join("marks")).expect("there");
    assert_eq!((found.mode() & 0o777, found.uid()), (0o700, rustix::process::geteuid().as_raw()));
    mark(&state);
    assert_eq!(run_as_host(&root, &state, "true").first(), Some(&GitReport::Killed));
    assert!(!root.join(gone[0]).exists());
}

/// Where no mark can be kept, commands run as ever, and the report says it.
#[test]
fn a_state_directory_that_cannot_be_written_stops_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("git init -q . && git commit -q --allow-empty -m x");
    let root = &scene.place.root;
    let state = scene.place.outside.join("file");
    fs::write(&state, "").expect("written");
    assert_eq!(run_as_host(root, &state, "echo x > f"), []);
    assert!(root.join("f").exists());
    let said = |plan: &Plan| {
        let report = toolwright_exec::report(plan, false, &toolwright_exec::Cancel::new());
        report.git.mechanism.to_string()
    };
    assert!(said(&plan_of(root, &state)).contains("is taken for the user's"));
    let plan = Plan { marks: None, ..plan_of(root, &state) };
    assert!(said(&plan).contains("there is no home directory"));
    let state = scene.place.outside.join("state");
    assert!(!said(&plan_of(root, &state)).contains("is taken for the user's"));
}

/// A process that ends by itself leaves no mark.
#[test]
fn an_ordinary_end_leaves_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("git init -q . && git commit -q --allow-empty -m x");
    let state = scene.place.outside.join("state");
    let status = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", "--nocapture", "ends::host_that_is_killed"])
        .envs([(HOST[0], scene.place.root.as_path()), (HOST[1], &state)])
        .env(HOST[2], "true")
        .stdout(Stdio::null())
        .status()
        .expect("runs");
    assert!(status.success());
    assert_eq!(fs::read_dir(state.join("marks")).expect("there").count(), 0);
}
