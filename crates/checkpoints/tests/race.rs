//! A person who edits while a restoration runs, two processes on one store, and a full disk.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use support::{GO_ON, Project, child, child_argument, restore_to, tenth_of};
use toolwright_checkpoints::{CheckpointError, Checkpoints, Options, Progress, Restore};

/// A person saves in one of the ways in which editors do, and expects to find what was saved last.
fn save(path: &std::path::Path, text: &str, how: u64) -> std::io::Result<()> {
    match how % 3 {
        // Over the old one.
        0 => {
            std::fs::OpenOptions::new().write(true).truncate(true).create(true).open(path).and_then(
                |mut file| {
                    let (first, rest) = text.as_bytes().split_at(text.len() / 2);
                    file.write_all(first)?;
                    file.write_all(rest)
                },
            )
        }
        // Beside it, and renamed over it.
        1 => {
            let beside = path.with_extension("saving~");
            std::fs::write(&beside, text)?;
            std::fs::rename(beside, path)
        }
        // Added at the end.
        _ => std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(format!("+{text}").as_bytes())),
    }
}

#[test]
fn an_edit_while_a_restoration_runs_is_never_overwritten() {
    const FILES: u64 = 4;
    let rounds = tenth_of(10_000) as u64 / FILES;
    let project = Project::new();
    let paths: Vec<_> = (0..FILES).map(|index| project.path(&format!("file{index}"))).collect();
    let (mut lost, mut restored, mut refused) = (0, 0, 0);
    for round in 0..rounds {
        for path in &paths {
            std::fs::write(path, "old").unwrap();
        }
        let first = project.take();
        for path in &paths {
            std::fs::write(path, "new").unwrap();
        }
        project.take();
        let begin = AtomicBool::new(false);
        let pause = AtomicU64::new(round * 37 % 400);
        std::thread::scope(|scope| {
            let person = scope.spawn(|| {
                while !begin.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                for (how, path) in (round..).zip(&paths) {
                    for _ in 0..pause.load(Ordering::Relaxed) * 20 {
                        std::hint::spin_loop();
                    }
                    save(path, "a person's", how).unwrap();
                }
            });
            begin.store(true, Ordering::Release);
            let outcome = project.restore(first.id);
            person.join().unwrap();
            match outcome {
                Ok(done) => {
                    restored += done.changes.len();
                    refused += done.conflicts.len();
                }
                Err(CheckpointError::Conflicts { .. }) => refused += 1,
                Err(error) => panic!("{error:?}"),
            }
        });
        for path in &paths {
            let found = std::fs::read_to_string(path).unwrap_or_default();
            if !found.contains("a person's") {
                lost += 1;
                println!("round {round}: {} is {found:?}", path.display());
            }
        }
        let left = std::fs::read_dir(project.root.path()).unwrap().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tool"));
        assert_eq!(left.count(), 0, "round {round}");
    }
    println!(
        "{} races: {restored} restored before, {refused} refused, {lost} lost",
        rounds * FILES
    );
    assert_eq!(lost, 0);
}

#[test]
fn several_processes_work_on_one_store() {
    const TEST: &str = "several_processes_work_on_one_store";
    const ROUNDS: usize = 30;
    if let Some(argument) = child_argument() {
        let fields: Vec<_> = argument.split('|').collect();
        let checkpoints =
            Checkpoints::open(fields[0].as_ref(), fields[1].as_ref(), Options::default()).unwrap();
        let progress = Progress::default();
        let (name, other) = (fields[2], format!("{}/{}", fields[0], fields[2]));
        for round in 0..ROUNDS {
            let call = format!("{name}-{round}");
            std::fs::write(&other, format!("before {round}")).unwrap();
            let running = checkpoints.begin_call(&call, None, &GO_ON, &progress).unwrap();
            std::fs::write(&other, format!("after {round}")).unwrap();
            checkpoints.end_call(&running, None, &GO_ON, &progress).unwrap();
            // Only its own file: the other process is at work on its own.
            let paths = [name.to_owned()];
            let restore = Restore { paths: &paths, force: true, ..restore_to(running.before) };
            let restored = checkpoints.restore(restore, None, &GO_ON, &progress).unwrap();
            assert_eq!(restored.conflicts, []);
            assert_eq!(std::fs::read_to_string(&other).unwrap(), format!("before {round}"));
        }
        return;
    }
    let project = Project::new();
    project.write("shared", "1");
    let first = project.take();
    let children: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|name| {
            let [root, store] = [project.root.path().to_owned(), project.store.path().join("s")];
            let argument = format!("{}|{}|{name}", root.display(), store.display());
            child(TEST, &argument).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    project.restore_with(Restore { force: true, ..restore_to(first.id) }).unwrap();
    let names: Vec<_> = project.tree().into_keys().collect();
    assert_eq!(names, ["shared"]);
}

/// In a namespace of its own, where a small file system can be mounted.
#[test]
fn a_full_disk_loses_nothing() {
    const TEST: &str = "a_full_disk_loses_nothing";
    let noise = |seed: u64, size: usize| -> Vec<u8> {
        let mut state = seed * 2 + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        (0..size).map(|_| next()).collect()
    };
    if let Some(base) = child_argument() {
        let base = std::path::Path::new(&base);
        let (root, store) = (base.join("root"), base.join("store"));
        let mount = |at: &std::path::Path, size: &str| {
            std::fs::create_dir_all(at).unwrap();
            let mut command = std::process::Command::new("mount");
            command.args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(at);
            assert!(command.status().unwrap().success());
        };
        mount(&root, "size=4m");
        mount(&store, "size=24m");
        let checkpoints = Checkpoints::open(&root, &store, Options::default()).unwrap();
        let take = |checkpoints: &Checkpoints| {
            let take = toolwright_checkpoints::Take {
                origin: toolwright_checkpoints::Origin::Ours,
                label: None,
                reuse: false,
            };
            checkpoints.take(take, &GO_ON, &Progress::default())
        };
        // A full disk of the project, while files are restored.
        for index in 0..10 {
            std::fs::write(root.join(format!("f{index}")), noise(index, 150_000)).unwrap();
        }
        let first = take(&checkpoints).unwrap();
        let old = support::tree(&root);
        for index in 0..10 {
            std::fs::write(root.join(format!("f{index}")), "small").unwrap();
        }
        take(&checkpoints).unwrap();
        std::fs::write(root.join("filler"), noise(99, 3_500_000)).unwrap();
        let before = support::tree(&root);
        let paths: Vec<_> = (0..10).map(|index| format!("f{index}")).collect();
        let restore = Restore { paths: &paths, ..restore_to(first.id) };
        let refused = checkpoints.restore(restore, None, &GO_ON, &Progress::default());
        println!("with a full disk: {refused:?}");
        assert!(matches!(refused, Err(CheckpointError::File { .. } | CheckpointError::Store(_))));
        assert_eq!(support::tree(&root), before);
        std::fs::remove_file(root.join("filler")).unwrap();
        checkpoints.restore(restore, None, &GO_ON, &Progress::default()).unwrap();
        assert_eq!(support::tree(&root), old);
        // A full disk of the store, whose log is as short as it can be.
        checkpoints.close().unwrap();
        std::fs::write(store.join("filler"), vec![1; 24 << 20]).unwrap_err();
        let size = std::fs::metadata(store.join("filler")).unwrap().len();
        let filler = std::fs::OpenOptions::new().write(true).open(store.join("filler")).unwrap();
        filler.set_len(size - 300_000).unwrap();
        drop(filler);
        let checkpoints = Checkpoints::open(&root, &store, Options::default()).unwrap();
        std::fs::write(root.join("new"), noise(7, 500_000)).unwrap();
        let refused = take(&checkpoints);
        println!("with a full store: {refused:?}");
        assert!(matches!(refused, Err(CheckpointError::Store(_))));
        std::fs::remove_file(store.join("filler")).unwrap();
        let taken = take(&checkpoints).unwrap();
        assert_eq!(taken.changed.len(), 1);
        let restore = Restore { force: true, ..restore_to(first.id) };
        checkpoints.restore(restore, None, &GO_ON, &Progress::default()).unwrap();
        assert_eq!(support::tree(&root), old);
        return;
    }
    let possible = std::process::Command::new("unshare").args(["-rm", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: no user namespaces here");
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let program = child(TEST, base.path().to_str().unwrap());
    let status = std::process::Command::new("unshare")
        .arg("-rm")
        .arg(program.get_program())
        .args(program.get_args())
        .env("TOOLWRIGHT_CHILD", base.path())
        .status()
        .unwrap();
    assert!(status.success());
}
