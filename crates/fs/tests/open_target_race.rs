//! An attacker exchanges allowed and denied files between the decision and the operation. The
//! operation acts on the file that the decision was about.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use support::{NEVER, RESOLVERS, Tree, tenth_of};
use toolwright_fs::{OpenTarget, Resolver, Roots, TargetKind, WriteOptions};

/// The names that are exchanged, and the path that they make ambiguous.
const SWAPS: [(&str, &str, &str); 4] = [
    ("allowed/dir", "trap-dir", "allowed/dir/file"),
    ("door", "trap-door", "door/file"),
    ("allowed/file", "trap-file", "allowed/file"),
    ("allowed/dir", "trap-dir", "allowed/dir/../dir/file"),
];

fn scene() -> Tree {
    let tree = Tree::new();
    tree.put("allowed/file", "public");
    tree.put("allowed/dir/file", "public");
    tree.put("denied/file", "secret");
    tree.link(tree.root.join("denied"), "trap-dir");
    tree.link("denied", "trap-door");
    tree.link("allowed", "door");
    tree.link(tree.root.join("denied/file"), "trap-file");
    tree
}

fn exchange(a: &Path, b: &Path) {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Opens `path` repeatedly while its meaning changes. `act` gets the targets that the policy
/// allows.
fn attacked(
    each: usize,
    resolver: Resolver,
    swap: (&str, &str, &str),
    mut act: impl FnMut(&OpenTarget),
) -> (usize, usize) {
    let tree = scene();
    let (a, b, path) = swap;
    let (a, b) = (tree.root.join(a), tree.root.join(b));
    let allowed = tree.root.canonicalize().unwrap().join("allowed");
    let done = AtomicBool::new(false);
    let workspace: [PathBuf; 1] = [tree.root.clone()];
    let counts = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                exchange(&a, &b);
            }
        });
        let (mut opened, mut refused) = (0, 0);
        // While the attacker is not scheduled in the bad state, every call is refused.
        while opened + refused < each || (opened == 0 && refused < each * 100) {
            let target = Roots::open_with(&workspace, &[], resolver)
                .and_then(|roots| roots.open_target(path));
            match target {
                Ok(target) if target.real_path().starts_with(&allowed) => {
                    std::thread::yield_now(); // the rules, the watchdog, the prompt
                    assert!(target.kind() != TargetKind::Directory);
                    opened += 1;
                    act(&target);
                }
                _ => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
        (opened, refused)
    });
    assert_eq!(tree.get("denied/file"), b"secret", "a denied file was changed");
    assert_eq!(tree.leftovers(), Vec::<String>::new());
    counts
}

#[test]
fn nothing_denied_is_read_in_100_000_opens() {
    let each = tenth_of(100_000) / SWAPS.len();
    for resolver in RESOLVERS {
        for swap in SWAPS {
            let (opened, refused) = attacked(each, resolver, swap, |target| {
                if let Ok(range) = target.read_range(0, 100, &NEVER) {
                    assert_eq!(range.bytes, b"public", "leak through {}", target.display_path());
                }
            });
            println!(
                "{each} opens of {}, {resolver:?}: {opened} allowed, {refused} refused",
                swap.2
            );
            assert!(opened > 0, "the attack never let a call through");
        }
    }
}

#[test]
fn nothing_denied_is_written() {
    let each = tenth_of(10_000) / SWAPS.len();
    for swap in SWAPS {
        let (opened, refused) = attacked(each, Resolver::Automatic, swap, |target| {
            let _ = target.write(b"public", &WriteOptions::default(), &NEVER);
            let _ = target.update(100, &WriteOptions::default(), &NEVER, |old| {
                assert_eq!(old, b"public", "leak through {}", target.display_path());
                Ok::<_, ()>(b"public".to_vec())
            });
        });
        println!("{each} writes of {}: {opened} allowed, {refused} refused", swap.2);
    }
}
