//! Protected paths, existing and absent ones.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use mounts_fixture::{Fixture, confined, each_user, write};
use toolwright_sandbox::plan::Plan;

fn git(root: &Path) -> Plan {
    let mut plan = confined(root);
    plan.protected = vec![root.join(".git/hooks"), root.join(".git/config")];
    plan
}

const NEW_HOOK: &str = "mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout";
const NEW_CONFIG: &str = "mkdir -p .git && echo evil > .git/config";

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn make_directory(user: u32, path: &Path) {
    fs::create_dir(path).expect("it can be made");
    chown(path, Some(user), Some(user)).expect("it can be given away");
}

#[test]
fn what_exists_cannot_be_changed_moved_or_replaced() {
    each_user(|user, root| {
        write(root, "sub/.git/hooks/pre-commit", "text");
        write(root, "sub/.git/config", "text");
        write(root, "sub/.git/HEAD", "text");
        let mut plan = git(&root.join("sub"));
        plan.writable.push(root.to_owned());
        let mut fixture = Fixture::start(user, &plan);
        fixture.check(
            "echo x > .git/HEAD && touch .git/index && mv .git/index .git/other && touch ../x",
        );
        fixture.refuse(&[
            "echo evil > .git/hooks/pre-commit",
            "echo evil > .git/hooks/new",
            "rm .git/hooks/pre-commit",
            "chmod 777 .git/hooks/pre-commit",
            "chmod 777 .git/hooks",
            "mv .git/hooks .git/x",
            "rm -r .git/hooks",
            "echo evil > .git/config",
            "rm .git/config",
            "mv .git/config .git/x",
            "echo evil > .git/x && mv .git/x .git/config",
            "ln -f .git/HEAD .git/config",
            "ln .git/config .git/twin && echo evil > .git/twin",
            "touch .git/config",
            "mv .git x",
            "mv .git x && mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout",
            "rm -rf .git",
            "mv ../sub ../x",
            "rm -rf ../sub",
            "ln -s .git l && echo evil > l/config",
            "cd .git/hooks && echo evil > ../config",
            "umount .git/hooks",
            "umount -l .git",
        ]);
        fixture.end();
        let git = root.join("sub/.git");
        assert_eq!(names(&git.join("hooks")), ["pre-commit"]);
        assert_eq!(fs::read_to_string(git.join("config")).expect("it is there"), "text");
    });
}

#[test]
fn what_is_absent_cannot_be_made() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &git(root));
        fixture.check("touch file && mkdir directory");
        fixture.refuse(&[
            NEW_HOOK,
            NEW_CONFIG,
            "rmdir .git",
            "mv .git x",
            "touch .git",
            "echo x > .git",
            "mv directory .git",
            "chmod 777 .git",
            "touch .git/x",
            "ln -s directory .git/hooks",
        ]);
        fixture.end();
        assert_eq!(names(root), ["directory", "file"]);
    });
}

#[test]
fn parts_that_are_absent_cannot_be_made() {
    each_user(|user, root| {
        write(root, ".git/HEAD", "text");
        let mut fixture = Fixture::start(user, &git(root));
        fixture.check("touch .git/index && test -d .git/hooks && test -f .git/config");
        fixture.refuse(&[
            NEW_HOOK,
            NEW_CONFIG,
            "rm .git/config",
            "rmdir .git/hooks",
            "mv .git x",
            "touch .git/index && mv .git/index .git/config",
        ]);
        fixture.end();
        assert_eq!(names(&root.join(".git")), ["HEAD", "index"]);
    });
}

#[test]
fn a_file_on_the_way_is_protected() {
    each_user(|user, root| {
        // As in a worktree or a submodule.
        write(root, ".git", "gitdir: elsewhere");
        let mut fixture = Fixture::start(user, &git(root));
        fixture.refuse(&[
            "echo x > .git",
            "rm .git",
            "mv .git x",
            NEW_HOOK,
            "echo x > y && mv y .git",
        ]);
        fixture.end();
        assert_eq!(
            fs::read_to_string(root.join(".git")).expect("it is there"),
            "gitdir: elsewhere"
        );
    });
}

#[test]
fn links_on_the_way_are_pinned_and_followed() {
    each_user(|user, root| {
        write(root, "store/hooks/hook", "text");
        write(root, "store/config", "text");
        make_directory(user, &root.join("work"));
        symlink("../store", root.join("work/.git")).expect("it can be made");
        symlink("../missing", root.join("work/absent")).expect("it can be made");
        let work = root.join("work");
        let mut plan = git(&work);
        plan.writable.push(root.to_owned());
        plan.protected.push(work.join("absent/file"));
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&[
            "rm .git",
            "mv .git x",
            "ln -sfn work .git",
            "echo evil > .git/config",
            "echo evil > ../store/config",
            "touch ../store/hooks/x",
            "mv ../store ../x",
            "mkdir -p ../missing && echo evil > ../missing/file",
            "rm absent",
        ]);
        fixture.check("test $(cat .git/config) = text && touch .git/x ../store/y");
        fixture.end();
        assert_eq!(names(root), ["store", "work"]);
        assert_eq!(names(&root.join("store/hooks")), ["hook"]);
    });
}

#[test]
fn links_are_followed_as_the_kernel_does() {
    each_user(|user, root| {
        write(root, "far/away/file", "text");
        write(root, "far/hooks/hook", "text");
        // It does not lead where it seems to: the kernel goes up from the target of the first link.
        symlink("far/away", root.join("near")).expect("it can be made");
        symlink("near/../hooks", root.join("hooks")).expect("it can be made");
        symlink(root.join("far/./away/.."), root.join("up")).expect("it can be made");
        let mut plan = confined(root);
        plan.protected = vec![root.join("hooks"), root.join("up/away/file")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&[
            "touch far/hooks/x",
            "mv far x",
            "rm hooks",
            "ln -sfn . near",
            "rm up",
            "mv far/away far/y",
            "echo x > far/away/file",
        ]);
        fixture.check("touch far/x far/away/x");
        fixture.end();
        assert_eq!(names(root), ["far", "hooks", "near", "up"]);
    });
}

#[test]
fn circles_of_links_stay_circles() {
    each_user(|user, root| {
        symlink("b", root.join("a")).expect("it can be made");
        symlink("a", root.join("b")).expect("it can be made");
        let mut plan = confined(root);
        plan.protected = vec![root.join("a/file")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&["rm a", "rm b", "mv a x", "mkdir x && mv -T x b", "echo x > a/file"]);
    });
}

#[test]
fn names_that_cannot_be_are_no_matter() {
    each_user(|user, root| {
        let mut plan = confined(root);
        plan.protected = vec![root.join("x".repeat(256)), PathBuf::from("/proc/none/x")];
        plan.protected.push(PathBuf::from("/etc/none/x"));
        Fixture::start(user, &plan).check("touch x");
    });
}

#[test]
fn what_a_killed_supervisor_left_is_taken_over() {
    each_user(|user, root| {
        let fixture = Fixture::start(user, &git(root));
        fixture.kill();
        assert_eq!(names(root), [".git"]);
        let mut fixture = Fixture::start(user, &git(root));
        fixture.refuse(&[NEW_HOOK, NEW_CONFIG]);
        fixture.end();
        assert!(names(root).is_empty());
    });
}

#[test]
fn the_last_of_several_supervisors_removes_it() {
    each_user(|user, root| {
        for first_ends_first in [true, false] {
            let mut fixtures =
                vec![Fixture::start(user, &git(root)), Fixture::start(user, &git(root))];
            let ends = usize::from(!first_ends_first);
            fixtures.remove(ends).end();
            assert_eq!(names(root), [".git"]);
            let mut other = fixtures.remove(0);
            other.refuse(&[NEW_HOOK, NEW_CONFIG, "rmdir .git"]);
            other.end();
            assert!(names(root).is_empty());
        }
    });
}

#[test]
fn many_supervisors_come_and_go_at_once() {
    each_user(|user, root| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let mut fixture = Fixture::start(user, &git(root));
                        fixture.refuse(&[NEW_HOOK]);
                        fixture.end();
                    }
                });
            }
        });
        assert!(names(root).is_empty(), "{:?}", names(root));
    });
}

#[test]
fn a_lock_that_is_never_given_up_is_no_matter() {
    each_user(|user, root| {
        Fixture::start(user, &git(root)).kill();
        let directory = fs::File::open(root.join(".git")).expect("it is there");
        directory.lock().expect("nobody else has it");
        // It is a directory like any other then, and stays.
        let mut fixture = Fixture::start(user, &git(root));
        assert_eq!(fixture.run("@changed").1, 0);
        fixture.refuse(&[NEW_HOOK, NEW_CONFIG, "mv .git x"]);
        fixture.end();
        drop(directory);
        let mut fixture = Fixture::start(user, &git(root));
        fixture.refuse(&[NEW_HOOK, NEW_CONFIG, "mv .git x"]);
        fixture.end();
        assert_eq!(names(root), [".git"]);
        assert!(names(&root.join(".git")).is_empty());
    });
}

#[test]
fn directories_of_the_users_stay() {
    each_user(|user, root| {
        let own: Vec<PathBuf> = ["empty", "old"].iter().map(|name| root.join(name)).collect();
        for path in &own {
            make_directory(user, path);
        }
        let mut plan = confined(root);
        plan.protected = own.clone();
        plan.protected.push(root.join("file.txt"));
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&["touch empty/x", "rmdir old", "echo x > file.txt"]);
        fixture.end();
        assert_eq!(names(root), ["empty", "old"]);
    });
}

#[test]
fn what_the_host_puts_to_use_stays() {
    each_user(|user, root| {
        let mut plan = git(root);
        plan.protected.push(root.join("package.json"));
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("@changed");
        write(root, ".git/HEAD", "text");
        fs::write(root.join("package.json"), "{}").expect("it can be written");
        assert_eq!(fixture.run("@changed").1, 1);
        fixture.refuse(&["touch .git/x", "echo x > package.json"]);
        fixture.end();
        assert_eq!(names(root), [".git", "package.json"]);
        assert_eq!(names(&root.join(".git")), ["HEAD"]);

        // Emptied again it is the host's all the same.
        fs::remove_file(root.join(".git/HEAD")).expect("it can be removed");
        Fixture::start(user, &plan).end();
        assert_eq!(names(root), [".git", "package.json"]);
    });
}

#[test]
fn it_is_noticed_when_a_mount_is_lost() {
    each_user(|user, root| {
        write(root, ".git/config", "text");
        write(root, "secret", "text");
        let mut plan = git(root);
        plan.closed = vec![root.join("secret")];
        for name in [".git/config", "secret"] {
            let mut fixture = Fixture::start(user, &plan);
            fixture.check("@changed");
            fixture.check("touch x && mv x y && rm y");
            fixture.check("@changed");
            // As a program that saves a file. The mount on the old file is removed.
            let new = write(root, "new", "text");
            fs::rename(new, root.join(name)).expect("it can be replaced");
            assert_eq!(fixture.run("@changed").1, 1, "{name}");
            assert_eq!(fixture.run("@changed").1, 1, "{name}");
        }
    });
}

#[test]
fn it_is_noticed_when_the_root_is_another() {
    each_user(|user, above| {
        let root = above.join("root");
        make_directory(user, &root);
        let mut fixture = Fixture::start(user, &confined(&root));
        fixture.check("@changed");
        fs::remove_dir(&root).expect("it can be removed");
        make_directory(user, &root);
        assert_eq!(fixture.run("@changed").1, 1);
    });
}

#[test]
fn a_directory_without_write_permission_is_no_way_round() {
    each_user(|user, root| {
        make_directory(user, &root.join("locked"));
        mounts_fixture::give_to_strange_group(&root.join("locked"));
        let modes = [0o555, 0o500];
        for mode in modes {
            let locked = root.join("locked");
            fs::set_permissions(&locked, PermissionsExt::from_mode(mode)).expect("it can be set");
            let mut plan = confined(&locked);
            plan.protected = vec![locked.join("absent/file")];
            let mut fixture = Fixture::start(user, &plan);
            fixture.refuse(&["chmod 700 . && mkdir -p absent && touch absent/file"]);
            fs::set_permissions(&locked, PermissionsExt::from_mode(mode)).expect("it can be set");
            fixture.end();
            assert!(names(&locked).is_empty());
            assert_eq!(
                fs::metadata(&locked).expect("it is there").permissions().mode() & 0o777,
                mode
            );
        }
    });
}

#[test]
fn a_protected_path_may_be_the_root_or_hold_writable_ones() {
    each_user(|user, root| {
        write(root, "p/inner/file", "text");
        let mut plan = confined(root);
        plan.writable.push(root.join("p/inner"));
        plan.protected = vec![root.join("p")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("touch x p/inner/x");
        fixture.refuse(&["touch p/x", "mv p x", "mv p/inner p/x"]);
        plan.protected = vec![root.to_owned()];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&["touch y"]);
        fixture.check("touch p/inner/y");
    });
}
