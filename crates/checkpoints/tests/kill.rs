//! A process that is killed leaves a whole store, and each file as it was or as it should be.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::similar_names,
    reason = "a failed unwrap is a failed test; the names are the words of the crate"
)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{GO_ON, Project, Random, Tree, child, child_argument, restore_to, tenth_of, tree};
use toolwright_checkpoints::{Checkpoints, GcLimits, Options, Origin, Progress, Restore, Take};

const TAKE: Take<'_> = Take { origin: Origin::Ours, label: None, reuse: false };

/// One of two states of a project, which differ in every way that a step can have.
fn put_state(root: &Path, is_second: bool) {
    let put = |path: &str, content: String| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let remove = |path: &str| {
        let path = root.join(path);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    };
    put("stays", "stays".into());
    for index in 0..20 {
        let size = if is_second { 3000 } else { 5000 };
        put(&format!("d{}/file{index}", index % 3), format!("{index}{is_second}").repeat(size));
    }
    for path in ["turns", "link", "made", "gone"] {
        remove(path);
    }
    if is_second {
        put("turns", "a file".into());
        std::os::unix::fs::symlink("d0", root.join("link")).unwrap();
        put("made/in/deep", "made".into());
    } else {
        put("turns/into/a", "file".into());
        std::os::unix::fs::symlink("d1", root.join("link")).unwrap();
        put("gone", "gone".into());
    }
}

fn open(root: &Path, store: &Path) -> Checkpoints {
    Checkpoints::open(root, store, Options::default()).unwrap()
}

/// Contents alone: the parent directories of a file that is old have other times than those of a new one.
fn content_of(tree: &Tree) -> Vec<(String, &'static str, Vec<u8>)> {
    let entries = tree.iter();
    entries
        .map(|(path, entry)| {
            (path.to_string_lossy().into_owned(), entry.kind, entry.content.clone())
        })
        .collect()
}

/// Each path has what it has in one of the states, and no file of ours is left.
fn check_each_is_old_or_new(found: &Tree, states: &[Tree; 2]) {
    for (path, entry) in found {
        let known = states.iter().filter_map(|state| state.get(path));
        let mut known = known.filter(|known| known.kind == entry.kind);
        assert!(
            known.any(|known| known.content == entry.content),
            "{} is neither old nor new",
            path.to_string_lossy()
        );
    }
}

/// Restores one state after the other, and takes checkpoints and collects in between.
fn work_until_killed(root: &Path, store: &Path, ids: [i64; 2]) -> ! {
    let checkpoints = open(root, store);
    let progress = Progress::default();
    let mut random = Random::new();
    let mut out = std::io::stdout();
    for round in 0.. {
        let restore = Restore { force: true, ..restore_to(ids[round % 2]) };
        checkpoints.restore(restore, None, &GO_ON, &progress).unwrap();
        writeln!(out, "\ndone {round}").unwrap();
        std::fs::write(root.join("d0/file0"), format!("{round}")).unwrap();
        checkpoints.take(TAKE, &GO_ON, &progress).unwrap();
        if random.below(4) == 0 {
            // More than one process makes, so that both states stay: each round begins with new checkpoints of them.
            let limits = GcLimits { max_checkpoints: Some(500), ..GcLimits::default() };
            checkpoints.gc(limits, &GO_ON, &progress).unwrap();
        }
    }
    unreachable!("killed before")
}

#[test]
fn a_killed_process_leaves_a_whole_store_and_old_or_new_files() {
    const TEST: &str = "a_killed_process_leaves_a_whole_store_and_old_or_new_files";
    if let Some(argument) = child_argument() {
        let fields: Vec<_> = argument.split('|').collect();
        let id = |index: usize| fields[index].parse().unwrap();
        work_until_killed(Path::new(fields[0]), Path::new(fields[1]), [id(2), id(3)]);
    }
    let (root, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut ids = [0; 2];
    let mut states = [Tree::new(), Tree::new()];
    for (index, is_second) in [false, true].into_iter().enumerate() {
        put_state(root.path(), is_second);
        let checkpoints = open(root.path(), store.path());
        ids[index] = checkpoints.take(TAKE, &GO_ON, &Progress::default()).unwrap().id;
        states[index] = tree(root.path());
        checkpoints.close().unwrap();
    }
    let mut random = Random::new();
    let kills = tenth_of(300);
    let (mut in_restores, mut with_leftovers) = (0, 0);
    for round in 0..kills {
        let [root_path, store_path] = [root.path(), store.path()].map(|path| path.display());
        let argument = format!("{root_path}|{store_path}|{}|{}", ids[0], ids[1]);
        let mut process = child(TEST, &argument)
            .env("TOOLWRIGHT_SEED", random.below(1 << 40).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        while !said.contains("done ") {
            assert!(output.read_line(&mut said).unwrap() > 0, "round {round}: {said}");
        }
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        process.kill().unwrap();
        process.wait().unwrap();

        let mut found = tree(root.path());
        let is_ours = |path: &std::ffi::OsString| {
            path.to_string_lossy().rsplit('/').next().unwrap().starts_with(".toolwright-")
        };
        with_leftovers += usize::from(found.keys().any(is_ours));
        found.retain(|path, _| !is_ours(path));
        // This one is written by the child itself.
        found.remove(std::ffi::OsStr::new("d0/file0"));
        check_each_is_old_or_new(&found, &states);

        let checkpoints = open(root.path(), store.path());
        // Whoever comes next settles.
        checkpoints.take(TAKE, &GO_ON, &Progress::default()).unwrap();
        let left: Vec<_> = tree(root.path()).into_keys().filter(is_ours).collect();
        assert!(left.is_empty(), "{left:?}");
        let restores = checkpoints.restores(1).unwrap();
        let last = &restores[0];
        assert_ne!(last.state, "running");
        if last.state == "interrupted" {
            in_restores += 1;
            let now = tree(root.path());
            let (old, new) = if last.target == ids[0] { (1, 0) } else { (0, 1) };
            for (path, outcome) in &last.files {
                if path.as_os_str() == "d0/file0" {
                    continue;
                }
                let content = |tree: &Tree| {
                    tree.get(path.as_os_str()).map(|entry| (entry.kind, entry.content.clone()))
                };
                let state = match outcome.as_str() {
                    "new" => &states[new],
                    "old" => &states[old],
                    other => panic!("{}: {other}", path.display()),
                };
                assert_eq!(content(&now), content(state), "{} is {outcome}", path.display());
            }
        }
        // The store is whole: both states come back.
        for (id, state) in ids.iter_mut().zip(&states) {
            let restore = Restore { force: true, ..restore_to(*id) };
            let restored =
                checkpoints.restore(restore, None, &GO_ON, &Progress::default()).unwrap();
            assert_eq!((restored.conflicts, restored.left), (vec![], vec![]));
            assert_eq!(content_of(&tree(root.path())), content_of(state), "round {round}");
            *id = checkpoints.take(TAKE, &GO_ON, &Progress::default()).unwrap().id;
        }
        checkpoints.close().unwrap();
    }
    println!("{kills} kills: {in_restores} in a restoration, {with_leftovers} with files left");
    // Of few kills on a busy machine, chance decides.
    let is_fair = kills < 100 || in_restores * 20 >= kills;
    assert!(is_fair, "{in_restores} of {kills} is no fair share");
}

/// The system calls that change something in the project.
const BOUNDARIES: [&str; 7] =
    ["renameat2", "renameat", "unlinkat", "mkdirat", "symlinkat", "fchmod", "utimensat"];

#[test]
fn a_kill_before_any_system_call_leaves_old_or_new_files() {
    const TEST: &str = "a_kill_before_any_system_call_leaves_old_or_new_files";
    if let Some(argument) = child_argument() {
        let fields: Vec<_> = argument.split('|').collect();
        let checkpoints = open(Path::new(fields[0]), Path::new(fields[1]));
        let restore = restore_to(fields[2].parse().unwrap());
        checkpoints.restore(restore, None, &GO_ON, &Progress::default()).unwrap();
        return;
    }
    if !Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|s| s.success()) {
        println!("skipped: strace, which places the kills, is not installed");
        return;
    }
    let mut kills = 0;
    for call in BOUNDARIES {
        // Some of the places; the more, the longer the run may take.
        for number in (1..).step_by((13 / tenth_of(10)).max(1)) {
            let project = Project::new();
            put_state(project.root.path(), false);
            let first = project.take();
            let old = project.tree();
            put_state(project.root.path(), true);
            project.take();
            let states = [old, project.tree()];
            let argument = format!(
                "{}|{}|{}",
                project.root.path().display(),
                project.store.path().join("s").display(),
                first.id
            );
            let program = child(TEST, &argument);
            let status = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e"])
                .arg(format!("trace={call}"))
                .arg("-e")
                .arg(format!("inject={call}:signal=KILL:when={number}"))
                .arg(program.get_program())
                .args(program.get_args())
                .env("TOOLWRIGHT_CHILD", &argument)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            kills += usize::from(!status.success());
            project.take();
            let found = project.tree();
            check_each_is_old_or_new(&found, &states);
            project.restore(first.id).unwrap();
            assert_eq!(content_of(&project.tree()), content_of(&states[0]), "{call} {number}");
            if status.success() {
                break;
            }
            assert!(number < 500, "{call}: the children fail for another reason, {status}");
        }
    }
    println!("{kills} kills");
}
