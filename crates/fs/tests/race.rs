//! Attackers change the meaning of a path while it is used. Nothing outside is ever read or
//! changed, and nothing hangs.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use support::{NEVER, RESOLVERS, Tree, kind, snapshot, tenth_of};
use toolwright_fs::{FsError, Resolver, Root, UpdateError, WriteOptions, read, update, write};

fn exchange(a: &Path, b: &Path) {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Runs `victim` while `attack` runs repeatedly on another thread.
fn under_attack<T>(mut attack: impl FnMut() + Send, victim: impl FnOnce() -> T) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let mut swaps = 0_u64;
            while !done.load(Ordering::Relaxed) {
                attack();
                swaps += 1;
            }
            swaps
        });
        let answer = victim();
        done.store(true, Ordering::Relaxed);
        println!("swaps {}", attacker.join().unwrap());
        answer
    })
}

/// How the calls ended, by kind.
#[derive(Debug, Default)]
struct Tally(BTreeMap<String, usize>);

impl Tally {
    fn count<T>(&mut self, answer: Result<T, FsError>) -> Option<T> {
        let key = match &answer {
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("{} {}", kind(error), error.errno().unwrap_or("")),
        };
        *self.0.entry(key.trim().to_owned()).or_default() += 1;
        answer.ok()
    }

    /// Whether there are at least `least` calls, and a fair share of them met the good state. While
    /// the attacker is not scheduled in the bad state, calls fail faster than they succeed.
    fn is_enough(&self, least: usize) -> bool {
        self.0.values().sum::<usize>() >= least && self.good() * 5 >= least
    }

    fn good(&self) -> usize {
        self.0.get("ok").copied().unwrap_or(0)
    }

    fn check(&self, what: &str) {
        const SENSIBLE: [&str; 7] =
            ["ok", "Escape", "NotFound", "NotAFile", "NotADirectory", "Conflict", "Io EAGAIN"];
        for code in self.0.keys() {
            assert!(SENSIBLE.contains(&code.as_str()), "{what}: {:?}", self.0);
        }
        println!("{what}: {:?}", self.0);
    }
}

/// One attack at a time: with more threads than processors, few swaps meet a call.
static ALONE: Mutex<()> = Mutex::new(());

fn flat<E: std::fmt::Debug>(error: UpdateError<E>) -> FsError {
    match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(refused) => panic!("{refused:?}"),
    }
}

/// A tree with traps beside its directory `dir` and its file `dir/file`: links to the same names
/// outside.
struct Trapped {
    tree: Tree,
    outside: Vec<String>,
}

impl Trapped {
    fn new() -> Self {
        let tree = Tree::new();
        tree.put("dir/file", "inside");
        tree.put("dir/sub/file", "inside");
        for name in ["file", "sub/file", "sub/new"] {
            let path = tree.outside.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "OUTSIDE").unwrap();
        }
        tree.link("../outside", "trap");
        tree.link(&tree.outside, "trap-absolute");
        tree.link("../../outside/file", "dir/trap-file");
        let outside = snapshot(&tree.outside);
        Self { tree, outside }
    }

    fn root(&self, resolver: Resolver) -> Root {
        Root::open_with(&self.tree.root, resolver).unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.tree.root.join(name)
    }

    fn check_outside(&self) {
        assert_eq!(snapshot(&self.tree.outside), self.outside, "something outside was changed");
    }
}

/// The swaps: a directory with a relative and an absolute link, and a file with a link, each with
/// the path that it makes ambiguous.
const SWAPS: [(&str, &str, &str); 4] = [
    ("dir", "trap", "dir/file"),
    ("dir", "trap-absolute", "dir/sub/file"),
    ("dir/file", "dir/trap-file", "dir/file"),
    ("dir/file", "dir/trap-file", "dir/sub/../file"),
];

/// Makes `each` calls in every swap, by both resolvers.
fn under_swaps(each: usize, what: &str, step: impl Fn(&Root, &str, usize, &mut Tally)) {
    for resolver in RESOLVERS {
        for (a, b, path) in SWAPS {
            let scene = Trapped::new();
            let root = scene.root(resolver);
            let (a, b) = (scene.at(a), scene.at(b));
            let mut tally = Tally::default();
            under_attack(
                || {
                    exchange(&a, &b);
                    exchange(&a, &b);
                },
                || {
                    let mut number = 0;
                    while !tally.is_enough(each) {
                        number += 1;
                        step(&root, path, number, &mut tally);
                    }
                },
            );
            tally.check(&format!("{each} {what} {path}, {resolver:?}"));
            scene.check_outside();
        }
    }
}

#[test]
fn a_read_never_gives_bytes_from_outside_while_names_are_swapped() {
    let each = tenth_of(200_000) / SWAPS.len();
    under_swaps(each, "opens of", |root, path, number, tally| {
        let bytes = if number % 2 == 0 {
            tally.count(read(root, path, 100, &NEVER))
        } else {
            tally.count(root.open_file(path)).map(|mut file| {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        if let Some(bytes) = bytes {
            assert_eq!(bytes, b"inside", "escape through {path}");
        }
    });
}

#[test]
fn a_write_never_lands_outside_while_names_are_swapped() {
    let each = tenth_of(50_000) / SWAPS.len();
    under_swaps(each, "writes to", |root, path, number, tally| {
        let options = WriteOptions::default();
        let answer = if number % 2 == 0 {
            write(root, path, b"inside", &options, &NEVER)
        } else {
            update::<()>(root, path, 100, &options, &NEVER, |old| {
                assert_eq!(old.get(..6), Some(&b"inside"[..]), "read outside");
                Ok(if old.len() > 20 { b"inside".to_vec() } else { [old, b"+"].concat() })
            })
            .map(drop)
            .map_err(flat)
        };
        tally.count(answer);
    });
}

#[test]
fn a_parent_that_is_swapped_while_it_is_created_leads_nowhere_outside() {
    let each = tenth_of(50_000) / 4;
    for resolver in RESOLVERS {
        let scene = Trapped::new();
        let root = scene.root(resolver);
        let (new, trap, away) = (scene.at("new"), scene.at("trap"), scene.at("away"));
        let mut tally = Tally::default();
        under_attack(
            || {
                // Whether or not the victim creates it, `new` becomes a link outside for a moment,
                // then nothing.
                let _ = std::fs::rename(&new, &away);
                let _ = std::fs::rename(&trap, &new);
                let _ = std::fs::rename(&new, &trap);
                let _ = std::fs::remove_dir_all(&away);
                if !trap.is_symlink() {
                    let _ = std::fs::rename(&trap, scene.at("away"));
                    let _ = std::fs::remove_file(&trap);
                    let _ = std::os::unix::fs::symlink("../outside", &trap);
                }
            },
            || {
                let mut number = 0;
                while !tally.is_enough(each) {
                    number += 1;
                    let path = ["new/sub/new", "new/x/y/z"][number % 2];
                    tally.count(write(&root, path, b"inside", &WriteOptions::default(), &NEVER));
                }
            },
        );
        tally.check(&format!("{each} writes with parents, {resolver:?}"));
        assert_eq!(snapshot(&scene.tree.outside), scene.outside);
    }
}

const KINDS: [&str; 4] = ["fifo", "link", "link-out", "directory"];

fn make(kind: &str, path: &Path) {
    match kind {
        "fifo" => support::fifo(path),
        "link" => std::os::unix::fs::symlink("good", path).unwrap(),
        "link-out" => std::os::unix::fs::symlink("../../outside/file", path).unwrap(),
        _ => std::fs::create_dir(path).unwrap(),
    }
}

#[test]
fn nothing_hangs_on_a_name_that_is_now_a_file_now_a_pipe_a_link_or_a_directory() {
    let count = tenth_of(10_000);
    for resolver in RESOLVERS {
        let scene = Trapped::new();
        let root = scene.root(resolver);
        let name = scene.at("dir/file");
        scene.tree.put("dir/good", "inside");
        for kind in KINDS {
            make(kind, &scene.at("dir").join(kind));
        }
        let mut turn = 0;
        let directory = scene.at("dir");
        let mut tally = Tally::default();
        let mut slowest = Duration::ZERO;
        under_attack(
            || {
                let made = KINDS[turn % KINDS.len()];
                let kind = directory.join(made);
                turn += 1;
                // A write may have replaced the link. Then a file is exchanged with a file.
                let swap =
                    || rustix::fs::renameat_with(CWD, &name, CWD, &kind, RenameFlags::EXCHANGE);
                let _ = swap();
                std::thread::sleep(Duration::from_micros(5));
                let _ = swap();
                if kind.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                    std::fs::remove_file(&kind).unwrap();
                    make(made, &kind);
                }
            },
            || {
                let mut number = 0;
                while !tally.is_enough(count) {
                    number += 1;
                    let started = Instant::now();
                    let options = WriteOptions::default();
                    let answer = match number % 3 {
                        0 => read(&root, "dir/file", 100, &NEVER).map(|bytes| {
                            assert!(bytes == b"inside" || bytes == b"edited", "{bytes:?}");
                        }),
                        1 => write(&root, "dir/file", b"inside", &options, &NEVER),
                        _ => update::<()>(&root, "dir/file", 100, &options, &NEVER, |old| {
                            assert_ne!(old, b"OUTSIDE");
                            Ok(if old == b"inside" {
                                b"edited".to_vec()
                            } else {
                                b"inside".to_vec()
                            })
                        })
                        .map(drop)
                        .map_err(flat),
                    };
                    tally.count(answer);
                    slowest = slowest.max(started.elapsed());
                }
            },
        );
        tally.check(&format!("{count} calls on a changing kind, {resolver:?}"));
        println!("slowest {slowest:?}");
        assert!(slowest < Duration::from_secs(5), "{slowest:?}");
        assert_eq!(snapshot(&scene.tree.outside), scene.outside);
    }
}
