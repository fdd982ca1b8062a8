//! What a command under the rules can write.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "rules/plans.rs"]
mod plans;
#[path = "rules/user.rs"]
mod user;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use child::users;
use plans::{give, plan, tree};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, RenameFlags, linkat, mknodat, openat, renameat_with,
};
use rustix::io::Errno;
use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::Files;
use toolwright_sandbox_program::rules::prepare;
use user::as_user;

/// Something that changes a directory made by [`fill`].
type Change = (&'static str, fn(&Path) -> io::Result<()>);

const CHANGES: &[Change] = &[
    ("create", |dir| File::create(dir.join("new")).map(drop)),
    ("write", |dir| OpenOptions::new().write(true).open(dir.join("file")).map(drop)),
    ("append", |dir| OpenOptions::new().append(true).open(dir.join("file")).map(drop)),
    ("read and write", |dir| {
        OpenOptions::new().read(true).write(true).open(dir.join("file")).map(drop)
    }),
    ("truncate", |dir| truncate(&dir.join("file"))),
    ("truncate by opening to read", |dir| {
        let flags = OFlags::RDONLY | OFlags::TRUNC;
        Ok(openat(CWD, dir.join("file"), flags, Mode::empty()).map(drop)?)
    }),
    ("remove", |dir| fs::remove_file(dir.join("file"))),
    ("make a directory", |dir| fs::create_dir(dir.join("new"))),
    ("remove a directory", |dir| fs::remove_dir(dir.join("empty"))),
    ("rename", |dir| fs::rename(dir.join("file"), dir.join("new"))),
    ("rename over", |dir| fs::rename(dir.join("file"), dir.join("other"))),
    ("rename a directory", |dir| fs::rename(dir.join("sub"), dir.join("new"))),
    ("rename across directories", |dir| fs::rename(dir.join("file"), dir.join("sub/new"))),
    ("link across directories", |dir| fs::hard_link(dir.join("file"), dir.join("sub/new"))),
    ("exchange across directories", |dir| {
        let (one, two) = (dir.join("file"), dir.join("sub/deep"));
        Ok(renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE)?)
    }),
    ("link", |dir| fs::hard_link(dir.join("file"), dir.join("new"))),
    ("symbolic link", |dir| symlink("file", dir.join("new"))),
    ("fifo", |dir| make(&dir.join("new"), FileType::Fifo)),
    ("socket", |dir| make(&dir.join("new"), FileType::Socket)),
    ("nameless file", |dir| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY;
        let file = openat(CWD, dir, flags, Mode::RUSR)?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = rustix::fs::AtFlags::SYMLINK_FOLLOW;
        Ok(linkat(CWD, path, CWD, dir.join("new"), flags)?)
    }),
];

fn truncate(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path outlives the call.
    if unsafe { libc::truncate(path.as_ptr(), 0) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn make(path: &Path, kind: FileType) -> io::Result<()> {
    Ok(mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, 0)?)
}

/// `RNDGETENTCNT`.
const COUNT_OF_ENTROPY: libc::Ioctl = libc::_IOR::<libc::c_int>(b'R' as u32, 0);

/// Asks a device for a few numbers.
fn ioctl(device: &File, question: libc::Ioctl) -> Result<(), io::ErrorKind> {
    let mut room = [0u32; 8];
    // SAFETY: none of the answers is longer than the room.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), question, room.as_mut_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().kind()) }
}

fn fill(dir: &Path) {
    for name in ["empty", "sub"] {
        fs::create_dir_all(dir.join(name)).expect("directory");
    }
    for name in ["file", "other", "sub/deep"] {
        fs::write(dir.join(name), "content").expect("file");
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::XDEV))
}

/// A change is tried in directories that are equal but for being granted.
#[test]
fn every_kind_of_change_is_refused_outside_and_works_inside() {
    for user in users() {
        for (name, change) in CHANGES {
            let (_keep, dir) = tree();
            for place in ["in", "out", "free"] {
                fill(&dir.join(place));
            }
            give(&dir, user);
            as_user(user, || {
                change(&dir.join("free")).expect("the change itself");
                let rules = prepare(&plan(&dir.join("in")), false, false, &[]);
                assert_eq!(rules.files, Layer::Holds);
                rules.restrict_self().expect("restricted");
                change(&dir.join("in")).unwrap_or_else(|error| panic!("{name} inside: {error}"));
                let error = change(&dir.join("out")).expect_err(name);
                assert!(is_refusal(&error), "{name}: {error}");
            });
            assert_eq!(fs::read_to_string(dir.join("out/file")).expect(name), "content");
            assert_eq!(fs::read_dir(dir.join("out")).expect(name).count(), 4, "{name}");
        }
    }
}

#[test]
fn nothing_crosses_the_border() {
    for user in users() {
        let (_keep, dir) = tree();
        fill(&dir.join("in"));
        fill(&dir.join("out"));
        symlink(dir.join("out"), dir.join("in/away")).expect("link");
        give(&dir, user);
        as_user(user, || {
            prepare(&plan(&dir.join("in")), false, false, &[]).restrict_self().expect("restricted");
            let refused = |what: &str, result: io::Result<()>| {
                let error = result.expect_err(what);
                assert!(is_refusal(&error), "{what}: {error}");
            };
            let (inside, outside) = (dir.join("in/file"), dir.join("out/file"));
            refused("rename out", fs::rename(&inside, dir.join("out/new")));
            refused("rename in", fs::rename(&outside, dir.join("in/new")));
            refused("rename over", fs::rename(&inside, &outside));
            refused("link out", fs::hard_link(&inside, dir.join("out/new")));
            // It would make a file outside writable.
            refused("link in", fs::hard_link(&outside, dir.join("in/new")));
            let exchange = renameat_with(CWD, &inside, CWD, &outside, RenameFlags::EXCHANGE);
            refused("exchange", exchange.map_err(Into::into));
            refused("through a link", fs::write(dir.join("in/away/file"), "x"));
            refused("around", fs::write(dir.join("in/sub/../../out/file"), "x"));
            let around = format!("/proc/self/root{}", outside.display());
            refused("around by /proc", fs::write(around, "x"));
            let opened = File::open(&outside).expect("read");
            let again = format!("/proc/self/fd/{}", opened.as_raw_fd());
            refused("opened again", OpenOptions::new().write(true).open(again).map(drop));
            // SAFETY: the file is open.
            assert_ne!(unsafe { libc::ftruncate(opened.as_raw_fd(), 0) }, 0);
        });
        assert_eq!(fs::read_to_string(dir.join("out/file")).expect("file"), "content");
    }
}

#[test]
fn devices() {
    for user in users() {
        let (_keep, dir) = tree();
        fs::create_dir(dir.join("in")).expect("directory");
        // The random device: the request is harmless, and others of its kind are not.
        for node in ["in/node", "node"] {
            let mode = Mode::from_raw_mode(0o666);
            let device = rustix::fs::makedev(1, 8);
            mknodat(CWD, dir.join(node), FileType::CharacterDevice, mode, device).expect("node");
            rustix::fs::chmod(dir.join(node), mode).expect("mode");
        }
        give(&dir.join("in"), user);
        as_user(user, || {
            let entropy = |path: &Path| {
                let file = File::open(path).expect("device");
                ioctl(&file, COUNT_OF_ENTROPY)
            };
            assert_eq!(entropy(&dir.join("node")), Ok(()));
            prepare(&plan(&dir.join("in")), false, false, &[]).restrict_self().expect("restricted");
            assert_eq!(entropy(&dir.join("node")), Err(io::ErrorKind::PermissionDenied));
            assert_eq!(entropy(&dir.join("in/node")), Err(io::ErrorKind::PermissionDenied));
            assert_eq!(entropy(Path::new("/dev/urandom")), Ok(()));
            fs::write("/dev/null", "x").expect("null");
            for device in [FileType::CharacterDevice, FileType::BlockDevice] {
                let made = mknodat(CWD, dir.join("in/new"), device, Mode::RUSR, 0);
                assert!(made.is_err(), "{device:?} made");
            }
            let terminal = OpenOptions::new().read(true).write(true).open("/dev/ptmx");
            let terminal = terminal.expect("terminal");
            assert_eq!(ioctl(&terminal, libc::TIOCGPTN), Ok(()));
            assert_eq!(ioctl(&terminal, libc::TIOCGWINSZ), Ok(()));
        });
    }
}

#[test]
fn nothing_of_proc_is_written() {
    for user in users() {
        let (_keep, dir) = tree();
        give(&dir, user);
        as_user(user, || {
            let own = ["/proc/self/comm", "/proc/self/oom_score_adj", "/proc/thread-self/comm"];
            let system = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"];
            let write = |path: &str| {
                OpenOptions::new().write(true).custom_flags(libc::O_CLOEXEC).open(path).map(drop)
            };
            for path in own {
                write(path).expect(path);
            }
            prepare(&plan(&dir), false, false, &[]).restrict_self().expect("restricted");
            for path in own.into_iter().chain(system) {
                let error = write(path).expect_err(path);
                // Not every system has every file.
                assert!(is_refusal(&error) || !Path::new(path).exists(), "{path}: {error}");
            }
            rustix::thread::set_name(c"named").expect("the name by the call that is for it");
            fs::read("/proc/self/status").expect("read");
        });
    }
}

#[test]
fn what_is_granted_beside_the_root() {
    for user in users() {
        let (_keep, dir) = tree();
        for name in ["in", "temporary", "more", "gone"] {
            fs::create_dir(dir.join(name)).expect("directory");
        }
        fs::write(dir.join("single"), "").expect("file");
        fs::write(dir.join("other"), "").expect("file");
        fs::remove_dir(dir.join("gone")).expect("directory");
        symlink(dir.join("other"), dir.join("linked")).expect("link");
        give(&dir, user);
        as_user(user, || {
            let mut plan = plan(&dir.join("in"));
            plan.writable.extend(["more", "single", "gone", "linked"].map(|name| dir.join(name)));
            let rules = prepare(&plan, false, false, &[dir.join("temporary")]);
            assert_eq!(rules.left_out, 1, "the link");
            rules.restrict_self().expect("restricted");
            for name in ["in/a", "more/a", "temporary/a", "single"] {
                fs::write(dir.join(name), "x").expect(name);
            }
            // A link in the place of a writable path was put there by a command.
            assert!(fs::write(dir.join("other"), "x").is_err());
            assert!(fs::create_dir(dir.join("gone")).is_err());
            assert!(fs::write("/tmp/toolwright-should-not-be", "x").is_err());
        });
    }
}

#[test]
fn the_private_directories_of_the_mounts_are_writable() {
    for user in users() {
        let (_keep, dir) = tree();
        give(&dir, user);
        as_user(user, || {
            prepare(&plan(&dir), true, false, &[]).restrict_self().expect("restricted");
            for place in ["/tmp", "/var/tmp", "/dev/shm"] {
                let flags = OFlags::TMPFILE | OFlags::WRONLY;
                openat(CWD, place, flags, Mode::RUSR).expect(place);
            }
            assert!(fs::write("/run/toolwright-should-not-be", "x").is_err());
        });
    }
}

#[test]
fn full_access_writes_everywhere() {
    for user in users() {
        for (name, change) in CHANGES {
            let (_keep, dir) = tree();
            fill(&dir.join("in"));
            fill(&dir.join("out"));
            give(&dir, user);
            as_user(user, || {
                let mut plan = plan(&dir.join("in"));
                plan.files = Files::Full;
                let rules = prepare(&plan, false, false, &[]);
                assert_eq!(rules.files, Layer::Unused);
                assert_eq!(rules.scope, Layer::Holds);
                rules.restrict_self().expect("restricted");
                change(&dir.join("out")).unwrap_or_else(|error| panic!("{name}: {error}"));
                fs::write("/proc/self/comm", "x").expect("as without rules");
                fs::rename(dir.join("in/other"), dir.join("out/moved")).expect("across");
            });
        }
    }
}

#[test]
fn protected_paths_are_reported() {
    let (_keep, dir) = tree();
    let root: PathBuf = dir.join("in");
    fs::create_dir(&root).expect("directory");
    let mut plan = plan(&root);
    let protected = |plan: &_, mounts| prepare(plan, mounts, false, &[]).protected;
    assert_eq!(protected(&plan, false), Layer::Unused);
    plan.protected = vec![dir.join("out")];
    assert_eq!(protected(&plan, false), Layer::Holds);
    plan.protected.push(root.join(".git/hooks"));
    assert_eq!(protected(&plan, false), Layer::Refused(libc::EOPNOTSUPP));
    assert_eq!(protected(&plan, true), Layer::Unused, "the mounts hold it");
    plan.protected.pop();
    // A link that commands cannot write, and what it leads to, which they can.
    plan.protected.extend([dir.join("out/link"), root.join("end")]);
    assert_eq!(protected(&plan, false), Layer::Refused(libc::EOPNOTSUPP));
    plan.protected.truncate(1);
    plan.files = Files::Full;
    assert_eq!(protected(&plan, false), Layer::Refused(libc::EOPNOTSUPP));
}
