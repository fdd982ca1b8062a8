//! Closing paths by granting everything around them.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "rules/plans.rs"]
mod plans;
#[path = "rules/user.rs"]
mod user;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use child::{User, users};
use plans::{give, plan, tree};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;
use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::{Files, Plan};
use toolwright_sandbox_program::rules::{Ruleset, prepare};
use user::as_user;

fn files(dir: &Path, names: &[&str]) {
    for name in names {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("directory")).expect("directory");
        fs::write(path, "content").expect("file");
    }
}

/// A plan with a root beside the closed paths.
fn closing(dir: &Path, closed: &[&str]) -> Plan {
    let mut plan = plan(&dir.join("root"));
    plan.closed = closed.iter().map(|name| dir.join(name)).collect();
    plan
}

fn restrict(plan: &Plan) -> Ruleset {
    let rules = prepare(plan, false, false, &[]);
    rules.restrict_self().expect("restricted");
    rules
}

fn can_read(path: &Path) -> bool {
    match fs::read(path) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => false,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

#[test]
fn a_home_with_credential_stores() {
    for user in users() {
        let (_keep, dir) = tree();
        let open = ["home/.profile", "home/project/file", "home/.config/other/file", "root/file"];
        let shut = ["home/.ssh/id", "home/.ssh/deep/key", "home/.netrc", "home/.config/gh/hosts"];
        files(&dir, &open);
        files(&dir, &shut);
        files(&dir, &["home/.ssh/known_hosts", "home/.ssh/work/file"]);
        symlink(dir.join("home/.ssh"), dir.join("home/shortcut")).expect("link");
        symlink(dir.join("home/.ssh/id"), dir.join("root/shortcut")).expect("link");
        symlink(dir.join("home/project"), dir.join("home/current")).expect("link");
        fs::hard_link(dir.join("home/.ssh/known_hosts"), dir.join("root/twin")).expect("link");
        give(&dir, user);
        as_user(user, || {
            let mut plan = closing(&dir, &["home/.ssh", "home/.netrc", "home/.config/gh"]);
            plan.readable = vec![dir.join("home/.ssh/known_hosts")];
            plan.writable.push(dir.join("home/.ssh/work"));
            let rules = restrict(&plan);
            assert_eq!((rules.closed, rules.left_out), (Layer::Holds, 0));
            for name in open {
                assert!(can_read(&dir.join(name)), "{name}");
            }
            for name in shut.into_iter().chain(["home/shortcut/id", "root/shortcut"]) {
                assert!(!can_read(&dir.join(name)), "{name}");
            }
            // Put back below a closed path.
            assert!(can_read(&dir.join("home/.ssh/known_hosts")));
            assert!(can_read(&dir.join("home/.ssh/work/file")));
            fs::write(dir.join("home/.ssh/work/file"), "x").expect("writable");
            assert!(can_read(&dir.join("home/current/file")), "a link to what is open");
            // Names and attributes stay visible.
            assert_eq!(fs::read_dir(dir.join("home/.ssh")).expect("list").count(), 4);
            assert_eq!(fs::metadata(dir.join("home/.netrc")).expect("attributes").len(), 7);
            assert!(fs::read_dir("/").expect("list").count() > 3);
            assert!(can_read(Path::new("/etc/passwd")));
            assert!(can_read(Path::new("/proc/self/status")));
            assert!(!can_read(
                &Path::new("/proc/self/root")
                    .join(dir.strip_prefix("/").expect("path"))
                    .join("home/.netrc")
            ));
            fs::write(dir.join("root/new"), "x").expect("writable");
            assert!(can_read(&dir.join("root/new")));
        });
    }
}

#[test]
fn running_needs_what_reading_needs() {
    for user in users() {
        let (_keep, dir) = tree();
        for place in ["root", "shut", "open"] {
            fs::create_dir(dir.join(place)).expect("directory");
            fs::copy("/bin/true", dir.join(place).join("program")).expect("program");
        }
        give(&dir, user);
        as_user(user, || {
            restrict(&closing(&dir, &["shut"]));
            let run = |path: PathBuf| Command::new(path).status();
            for place in ["root", "open"] {
                assert!(run(dir.join(place).join("program")).expect(place).success());
            }
            assert!(run(PathBuf::from("/bin/true")).expect("program").success());
            let error = run(dir.join("shut/program")).expect_err("closed");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        });
    }
}

#[test]
fn what_is_made_later_beside_a_closed_path_is_unreadable() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["home/.netrc", "home/other/file", "root/file"]);
        give(&dir, user);
        as_user(user, || {
            let rules = prepare(&closing(&dir, &["home/.netrc"]), false, false, &[]);
            files(&dir, &["home/late", "home/late-too/file", "home/other/late", "root/late"]);
            // A closed file that is replaced.
            fs::write(dir.join("home/new"), "x").expect("file");
            fs::rename(dir.join("home/new"), dir.join("home/.netrc")).expect("rename");
            rules.restrict_self().expect("restricted");
            for name in ["home/late", "home/late-too/file", "home/.netrc"] {
                assert!(!can_read(&dir.join(name)), "{name}");
            }
            for name in ["home/other/late", "root/late"] {
                assert!(can_read(&dir.join(name)), "{name}");
            }
        });
    }
}

/// With writes not confined, a closed file must not become readable by being put elsewhere.
#[test]
fn moving_opens_nothing() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["home/.ssh/id", "home/.netrc", "home/pub/file", "free/file", "root/file"]);
        give(&dir, user);
        as_user(user, || {
            let mut plan = closing(&dir, &["home/.ssh", "home/.netrc"]);
            plan.files = Files::Full;
            let rules = restrict(&plan);
            assert_eq!((rules.files, rules.closed), (Layer::Unused, Layer::Holds));
            let at = |name: &str| dir.join(name);
            let refused = |result: io::Result<()>| {
                assert_eq!(result.expect_err("moved").raw_os_error(), Some(libc::EXDEV));
            };
            let exchange = |one: &str, two: &str| -> io::Result<()> {
                Ok(renameat_with(CWD, at(one), CWD, at(two), RenameFlags::EXCHANGE)?)
            };
            for place in ["free/new", "home/pub/new", "root/new"] {
                refused(fs::rename(at("home/.ssh"), at(place)));
                refused(fs::rename(at("home/.ssh/id"), at(place)));
                refused(fs::rename(at("home/.netrc"), at(place)));
                refused(fs::hard_link(at("home/.netrc"), at(place)));
            }
            refused(exchange("home/.netrc", "free/file"));
            fs::rename(at("free/file"), at("home/pub/moved")).expect("between open places");
            // In its own directory it may take any name, and remains readable.
            fs::rename(at("home/.netrc"), at("home/renamed")).expect("rename");
            assert!(!can_read(&at("home/renamed")));
            exchange("home/.ssh", "home/pub").expect("exchange");
            assert!(!can_read(&at("home/pub/id")));
            assert!(can_read(&at("home/.ssh/file")));
        });
    }
}

#[test]
fn a_closed_path_in_a_writable_one_is_reported_open() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["root/.env", "root/file", "shut/file", "other"]);
        give(&dir, user);
        as_user(user, || {
            let mut plan = closing(&dir, &["root/.env", "shut"]);
            assert_eq!(prepare(&plan, true, false, &[]).closed, Layer::Unused, "the mounts do it");
            plan.readable = vec![dir.join("root/.env")];
            assert_eq!(prepare(&plan, false, false, &[]).closed, Layer::Holds, "opened again");
            plan.readable.clear();
            let rules = restrict(&plan);
            assert_eq!(rules.closed, Layer::Refused(libc::EOPNOTSUPP));
            assert!(can_read(&dir.join("root/.env")));
            fs::write(dir.join("root/new"), "x").expect("write");
            assert!(can_read(&dir.join("root/new")), "what is written in the root is readable");
            assert!(!can_read(&dir.join("shut/file")), "the others are closed all the same");
        });
    }
}

/// The plan has no links, so another process has put this one there.
#[test]
fn a_link_in_the_place_of_a_readable_path_opens_nothing() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["home/.ssh/secret/file", "home/.ssh/id", "root/file"]);
        symlink("secret", dir.join("home/.ssh/public")).expect("link");
        symlink("id", dir.join("home/.ssh/known_hosts")).expect("link");
        give(&dir, user);
        as_user(user, || {
            let mut plan = closing(&dir, &["home/.ssh"]);
            plan.readable = ["public", "known_hosts", "public/file"]
                .map(|name| dir.join("home/.ssh").join(name))
                .to_vec();
            plan.writable.push(dir.join("home/.ssh/public"));
            restrict(&plan);
            for name in ["secret/file", "public/file", "id", "known_hosts"] {
                assert!(!can_read(&dir.join("home/.ssh").join(name)), "{name}");
            }
        });
    }
}

#[test]
fn a_huge_directory_is_bounded() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["root/file", "home/.netrc"]);
        for number in 0..9_000 {
            fs::write(dir.join(format!("home/{number}")), "").expect("file");
        }
        for number in 0..100 {
            files(&dir, &[&format!("home/directory-{number}/file")]);
        }
        give(&dir, user);
        // The entries of the directories above, such as a full /tmp, are granted first.
        let count = |place: &Path| fs::read_dir(place).map_or(0, Iterator::count);
        let above: usize = dir.ancestors().map(count).sum();
        if above > 6_000 {
            eprintln!("skipped: {above} entries stand beside {}", dir.display());
            continue;
        }
        as_user(user, || {
            let rules = restrict(&closing(&dir, &["home/.netrc"]));
            assert_eq!(rules.closed, Layer::Holds);
            let readable = (0..9_000).filter(|n| can_read(&dir.join(format!("home/{n}")))).count();
            // Others make and remove files beside it meanwhile, and links take no grant.
            let most = 8_192 - 101;
            assert!((most - above - 500..=most).contains(&readable), "{readable}, {above}");
            assert_eq!(rules.left_out, 9_000 - readable);
            for number in 0..100 {
                let file = dir.join(format!("home/directory-{number}/file"));
                assert!(can_read(&file), "directories come first");
            }
            assert!(can_read(&dir.join("root/file")));
        });
    }
}

#[test]
fn a_directory_that_cannot_be_listed() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["root/file", "home/.netrc", "home/known", "home/file", "outside"]);
        let home = dir.join("home");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o711)).expect("mode");
        as_user(user, || {
            let mut plan = closing(&dir, &["home/.netrc"]);
            plan.readable = vec![home.join("known")];
            let rules = restrict(&plan);
            assert_eq!(rules.closed, Layer::Holds);
            assert!(can_read(&home.join("known")) && can_read(&dir.join("outside")));
            assert!(!can_read(&home.join(".netrc")));
            let listed = user == User::Root;
            assert_eq!(rules.left_out, usize::from(!listed));
            assert_eq!(can_read(&home.join("file")), listed);
        });
    }
}

/// Entries come and go while the rules are built.
#[test]
fn a_restless_directory() {
    for user in users() {
        let (_keep, dir) = tree();
        files(&dir, &["root/file", "home/.netrc", "home/stays"]);
        give(&dir, user);
        as_user(user, || {
            let home = dir.join("home");
            let churn = {
                let home = home.clone();
                move || {
                    for round in 0u32.. {
                        let name = home.join(format!("{}", round % 7));
                        let _ = match round % 3 {
                            0 => symlink(".netrc", name),
                            1 => fs::remove_file(name),
                            _ => File::create(name).map(drop),
                        };
                    }
                }
            };
            // SAFETY: this process has one thread; the child ends with a signal.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).expect("set");
                churn();
            }
            for _ in 0..200 {
                let rules = prepare(&closing(&dir, &["home/.netrc"]), false, false, &[]);
                assert_eq!((rules.closed, rules.left_out), (Layer::Holds, 0));
            }
            let rules = prepare(&closing(&dir, &["home/.netrc"]), false, false, &[]);
            // SAFETY: a child of ours.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
            rules.restrict_self().expect("restricted");
            assert!(can_read(&home.join("stays")) && !can_read(&home.join(".netrc")));
            for number in 0..7 {
                let name = home.join(number.to_string());
                if name.is_symlink() {
                    assert!(!can_read(&name));
                }
            }
        });
    }
}
