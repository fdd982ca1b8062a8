//! Supervisors that come, go and are killed while one of them is at any point of its way: what stands
//! for an absent protected path stands as long as one of them needs it, and is gone in the end.
#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use mounts_fixture::stepped::Stepped;
use mounts_fixture::{Fixture, confined, each_user, give};
use toolwright_sandbox::plan::Plan;

fn git(root: &Path) -> Plan {
    let mut plan = confined(root);
    plan.protected = vec![root.join(".git/hooks"), root.join(".git/config")];
    plan
}

fn is_soak() -> bool {
    std::env::var("TOOLWRIGHT_SOAK_FACTOR").is_ok_and(|factor| factor != "1")
}

/// All that is below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let deeper = paths.iter().filter(|path| path.is_dir()).flat_map(|path| below(path));
    paths.iter().cloned().chain(deeper).collect()
}

#[test]
fn one_leaves_and_one_comes_at_any_point_of_another() {
    each_user(|user, root| {
        let plan = git(root);
        let mut tried = 0;
        let max = if is_soak() { usize::MAX } else { 4 };
        // The end is where it has built its tree: from then on it only waits, and leaves in turn.
        'leaving: for leaves in 0.. {
            for comes in (leaves..).take(max) {
                let first = Fixture::without_workers(user, &plan);
                let Some(mut stepped) = Stepped::start(user, &plan, ".git") else { return };
                for _ in 0..leaves {
                    stepped.step();
                }
                first.end();
                if stepped.has_built() {
                    break 'leaving;
                }
                for _ in leaves..comes {
                    stepped.step();
                }
                if stepped.has_built() {
                    break;
                }
                let mut last = Fixture::without_workers(user, &plan);
                stepped.finish();
                tried += 1;
                let at = format!("one leaves before call {leaves}, one comes before call {comes}");
                assert_eq!(below(root), [root.join(".git")], "{at}");
                assert_eq!(last.run("@changed").1, 0, "{at}: what protects is lost");
                last.end();
                assert_eq!(below(root), Vec::<PathBuf>::new(), "{at}");
            }
        }
        assert!(tried > 50, "only {tried} pairs of points");
    });
}

#[test]
fn what_one_leaves_that_is_killed_at_any_point_the_next_removes() {
    each_user(|user, above| {
        let mut roots = Vec::new();
        loop {
            let root = above.join(format!("killed {}", roots.len()));
            fs::create_dir(&root).expect("it can be made");
            give(user, &root);
            let Some(mut stepped) = Stepped::start(user, &git(&root), ".git") else { return };
            if !(0..roots.len()).all(|_| stepped.step()) {
                break;
            }
            stepped.kill();
            roots.push(root);
        }
        let is_left = |root: &&PathBuf| !below(root).is_empty();
        let left = roots.iter().filter(is_left).count();
        assert!(left > 10, "{left} of {} left something", roots.len());
        // No supervisor removes a placeholder that another is making.
        sleep(Duration::from_millis(3_100));
        for (index, root) in roots.iter().enumerate() {
            let mut fixture = Fixture::without_workers(user, &git(root));
            assert_eq!(below(root), [root.join(".git")], "killed before call {index}");
            assert_eq!(fixture.run("@changed").1, 0, "killed before call {index}");
            fixture.end();
            assert_eq!(below(root), Vec::<PathBuf>::new(), "killed before call {index}");
        }
    });
}

#[test]
fn names_that_only_look_like_ours_stay() {
    each_user(|user, root| {
        let names =
            [".toolwright-1-", ".toolwright-1-2-3", ".toolwright-notes", ".toolwright-1-2.part"];
        for name in names {
            fs::create_dir(root.join(name)).expect("it can be made");
        }
        let full = [".toolwright-1-2", ".toolwright-1-3/file"].map(|name| root.join(name));
        fs::create_dir(root.join(".toolwright-1-3")).expect("it can be made");
        for path in &full {
            fs::write(path, "text").expect("it can be written");
        }
        for path in below(root) {
            give(user, &path);
        }
        let before = below(root).len();
        sleep(Duration::from_millis(3_100));
        Fixture::without_workers(user, &git(root)).end();
        assert_eq!(below(root).len(), before, "{:?}", below(root));
    });
}
