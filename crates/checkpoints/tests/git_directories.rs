//! A restoration writes nothing into git's own directories, and makes none.

mod support;

use std::path::Path;

use support::{Project, restore_to};
use toolwright_checkpoints::{Options, Progress, Restore};

const HEAD: &str = "ref: refs/heads/main\n";

fn reasons(project: &Project, target: i64) -> Vec<(String, String)> {
    let forced = Restore { force: true, ..restore_to(target) };
    let restored = project.restore_with(forced).expect("restored");
    let reason =
        |(path, reason): (std::path::PathBuf, String)| (path.display().to_string(), reason);
    restored.left.into_iter().map(reason).collect()
}

#[test]
fn a_bare_repository_does_not_come_back() {
    for last in [&["z/HEAD", "z/config"][..], &["z/objects"], &["z/refs"], &["z"]] {
        let project = Project::new();
        for path in ["z/HEAD", "z/objects/x", "z/refs/heads/x", "z/config", "beside"] {
            project.write(path, HEAD);
        }
        let whole = project.take().id;
        for path in last {
            let path = project.path(path);
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            removed.expect("removed");
        }
        std::fs::remove_file(project.path("beside")).expect("removed");
        project.take();
        let left = reasons(&project, whole);
        assert!(!left.is_empty(), "{last:?}");
        assert!(
            left.iter()
                .all(|(path, reason)| path.starts_with("z/") && reason.contains("repository")),
            "{left:?}"
        );
        let has = |name: &str| project.path("z").join(name).exists();
        assert!(!(has("HEAD") && has("objects") && has("refs")), "{last:?}");
        assert_eq!(project.read("beside"), HEAD);
    }
}

#[test]
fn files_in_a_repository_of_any_name_stay_as_they_are() {
    let project = Project::new();
    for path in ["z/HEAD", "z/objects/x", "z/refs/heads/x", "z/config"] {
        project.write(path, HEAD);
    }
    let before = project.take().id;
    project.write("z/config", "[core]\n");
    project.write("z/hooks/new", "");
    project.take();
    let left = reasons(&project, before);
    assert!(left.iter().any(|(path, _)| path == "z/config"), "{left:?}");
    assert_eq!(project.read("z/config"), "[core]\n");
    assert!(project.path("z/hooks/new").exists());
}

#[test]
fn no_spelling_of_the_name_is_kept() {
    let project = Project::new();
    for path in [".git/config", "a/.GIT/config", "git~1/x", ".g\u{200c}it/x", "a/.gitignore"] {
        project.write(path, "x");
    }
    let taken = project.take();
    assert_eq!(project.names(&taken), ["a", "a/.gitignore"]);
}

/// Deeper than any path may be long.
#[test]
fn deeply_nested_directories_come_back() {
    const DEPTH: usize = 2100;
    let project = Project::with(Options::default());
    let make = |root: &Path| {
        use rustix::fs::{Mode, OFlags};
        let mut here: std::os::fd::OwnedFd = std::fs::File::open(root).expect("opened").into();
        for _ in 0..DEPTH {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).expect("made");
            here =
                rustix::fs::openat(&here, "d", OFlags::DIRECTORY, Mode::empty()).expect("opened");
        }
    };
    make(project.root.path());
    let deep = project.take().id;
    toolwright_fs::remove_tree(&project.path("d"), None).expect("removed");
    project.take();
    let restored = project.restore(deep).expect("restored");
    assert_eq!((restored.changes.len(), restored.left.len()), (DEPTH, 0));
    let again = project.take();
    assert!(again.changed.is_empty(), "{}", again.changed.len());
    let progress = Progress::default();
    let undone =
        project.checkpoints.restore(restore_to(restored.before), None, &support::GO_ON, &progress);
    assert_eq!(undone.expect("undone").changes.len(), DEPTH);
    assert!(!project.path("d").exists());
}
