//! Which files commands reach, and how.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use mounts_fixture::{
    Fixture, confined, directory, directory_in, each_user, is_root, users, write,
};
use toolwright_sandbox::plan::{Files, Plan};

#[test]
fn writes_reach_the_root_and_nothing_else() {
    each_user(|user, root| {
        let outside = directory(user);
        let file = write(outside.path(), "file", "text");
        let mut fixture = Fixture::start(user, &confined(root));
        fixture
            .check("mkdir d && echo x > d/f && chmod 700 d && ln -s d l && ln d/f d/g && rm -r d");
        let file_name = format!("'{}'", file.display());
        let directory = format!("'{}'", outside.path().display());
        fixture.check(&format!("cat {file_name}"));
        for attack in [
            "echo x > F",
            "echo x >> F",
            ": >> F",
            "chmod 777 F",
            "touch F",
            "touch -d yesterday F",
            "rm F",
            "mv F D/other",
            "mv F .",
            "ln F .",
            "ln F D/other",
            "mkdir D/d",
            "rmdir D",
            "ln -s x D/l",
            "mkfifo D/p",
            "truncate -s 0 F",
            "touch /etc/x",
            "mkdir /run/x",
            "chown 0:0 F",
            "ln -s F l && echo x > l",
            "echo x > /proc/self/root/F",
        ] {
            let attack = attack.replace('F', &file_name).replace('D', &directory);
            fixture.refuse(&[&attack]);
        }
        let left: Vec<_> = fs::read_dir(outside.path()).expect("it is there").collect();
        assert_eq!(left.len(), 1);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "text");
    });
}

#[test]
fn temporary_files_are_private_and_stay() {
    each_user(|user, root| {
        let hosts = directory_in(user, Path::new("/tmp"));
        let mut fixture = Fixture::start(user, &confined(root));
        fixture.refuse(&[&format!("ls '{}'", hosts.path().display())]);
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            fixture.check(&format!(
                "test $(stat -L -c %a {place}) = 1777 && test -z \"$(ls {place})\""
            ));
            fixture.check(&format!(
                "echo word > {place}/toolwright-word && chmod +x {place}/toolwright-word"
            ));
            assert_eq!(fixture.check(&format!("cat {place}/toolwright-word")), "word\n");
            assert!(!Path::new(place).join("toolwright-word").exists());
        }
        fixture.check("cp /bin/true /tmp && /tmp/true && f=$(mktemp) && rm $f");
    });
}

#[test]
fn a_root_among_temporary_files_is_the_hosts() {
    each_user(|user, _| {
        let above = directory_in(user, Path::new("/tmp"));
        let root = write(above.path(), "a/root/file", "text");
        let root = root.parent().expect("it has one");
        write(above.path(), "a/neighbour", "text");
        let mut fixture = Fixture::start(user, &confined(root));
        fixture.check("test $(cat file) = text && echo word > word");
        assert_eq!(fs::read_to_string(root.join("word")).expect("it is there"), "word\n");
        let above = above.path().display();
        // Its siblings are hidden, and the directories above it cannot be moved.
        fixture.refuse(&[
            "test -e ../neighbour",
            "touch ../x",
            &format!("mv '{above}' /tmp/other"),
            &format!("mv '{above}/a' '{above}/b'"),
            &format!("chmod 777 '{above}'"),
        ]);
        // What else is to be read there can be.
        let mut plan = confined(root);
        plan.readable = vec![root.with_file_name("neighbour")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("cat ../neighbour");
        fixture.refuse(&["echo x > ../neighbour", "rm ../neighbour"]);
    });
}

#[test]
fn temporary_directories_can_be_roots() {
    each_user(|user, _| {
        for root in ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new) {
            let own = directory_in(user, root);
            let mut fixture = Fixture::start(user, &confined(root));
            fixture.check(&format!("touch '{}/file'", own.path().display()));
            assert!(own.path().join("file").exists());
        }
    });
}

#[test]
fn names_may_be_odd() {
    each_user(|user, root| {
        for name in ["a\nb", "a b\t", "-n", "\\040", "'\"$(x)", "ü", "..a"] {
            let file = write(root, &format!("{name}/{name}/file"), "text");
            let inner = file.parent().expect("it has one");
            let closed = write(root, &format!("{name}/closed {name}/file"), "text");
            let mut plan = confined(inner);
            plan.closed = vec![closed.parent().expect("it has one").to_owned()];
            plan.protected = vec![inner.join(name)];
            let mut fixture = Fixture::start(user, &plan);
            fixture.check("echo word > word && test -z \"$(ls ../closed*)\"");
            fixture.refuse(&["touch ../x"]);
            assert!(inner.join("word").exists());
            fixture.end();
        }
        let bytes = root.join(OsStr::from_bytes(b"\xff\xfe"));
        fs::create_dir(&bytes).expect("it can be made");
        std::os::unix::fs::chown(&bytes, Some(user), None).expect("it can be given away");
        let mut fixture = Fixture::start(user, &confined(&bytes));
        fixture.check("touch x");
        fixture.refuse(&["touch ../x"]);
    });
}

#[test]
fn closed_paths_are_closed_and_can_be_opened_below() {
    each_user(|user, root| {
        for name in ["home/.ssh/key", "home/.ssh/known", "home/.ssh/deep/er/file", "home/.netrc"] {
            write(root, name, "secret");
        }
        write(root, "home/work/file", "text");
        write(root, "home/work/.env", "secret");
        write(root, "home/more/file", "text");
        let home = root.join("home");
        let mut plan = confined(&home.join("work"));
        plan.writable.push(home.join("more/file"));
        plan.closed =
            vec![home.clone(), home.join(".ssh"), home.join(".netrc"), home.join("work/.env")];
        plan.readable = vec![home.join(".ssh/known"), home.join(".ssh/deep/er")];
        let mut fixture = Fixture::start(user, &plan);
        let listed = fixture.check("cd .. && find . -path ./work -prune -o -print | sort");
        let expected = ". ./.ssh ./.ssh/deep ./.ssh/deep/er ./.ssh/deep/er/file ./.ssh/known ./more ./more/file";
        assert_eq!(listed.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        fixture.check(
            "test $(cat ../.ssh/known) = secret && test $(cat ../.ssh/deep/er/file) = secret",
        );
        fixture.check(
            "echo word > new && echo word > ../more/file && test ! -s .env || test ! -r .env",
        );
        fixture.refuse(&[
            "echo x > ../.ssh/known",
            "touch ../.ssh/deep/er/x",
            "touch ../x",
            "touch ../.ssh/x",
            "mkdir ../.ssh/deep/x",
            "grep secret .env",
            "rm .env",
            "mv .env other",
            "echo x > .env",
            "chmod 777 .env",
            "chmod 777 ../.ssh",
            "rmdir ../more",
            "mv ../more ../x",
            "touch ../more/x",
        ]);
        assert_eq!(fs::read_to_string(home.join("more/file")).expect("it is there"), "word\n");
        assert_eq!(fs::read_to_string(home.join("work/.env")).expect("it is there"), "secret");
    });
}

#[test]
fn what_leads_to_a_closed_path_cannot_be_moved() {
    each_user(|user, root| {
        // Moved away it would be found by no later supervisor.
        write(root, "a/b/secret/file", "secret");
        let mut plan = confined(root);
        plan.closed = vec![root.join("a/b/secret")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&[
            "mv a x",
            "mv a/b x",
            "mv a/b/secret x",
            "rm -rf a",
            "cat a/b/secret/file",
        ]);
        fixture.check("touch a/x a/b/x && mv a/x a/y && mv a/b/x a/b/y");
        assert!(root.join("a/b/secret/file").exists());
    });
}

#[test]
fn closed_paths_that_went_are_no_matter() {
    each_user(|user, root| {
        write(root, "file", "text");
        let mut plan = confined(root);
        plan.closed = vec![root.join("gone"), root.join("file/gone"), root.join("a/b/gone")];
        plan.readable = vec![root.join("gone/too")];
        plan.writable.push(root.with_extension("gone"));
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("cat file");
    });
}

#[test]
fn a_closed_path_behind_a_locked_directory_is_closed_too() {
    each_user(|user, root| {
        // The owner could unlock it.
        write(root, "locked/secret", "secret");
        mounts_fixture::give_to_strange_group(&root.join("locked"));
        fs::set_permissions(
            root.join("locked"),
            std::os::unix::fs::PermissionsExt::from_mode(0o000),
        )
        .expect("its mode can be set");
        let mut plan = confined(root);
        plan.closed = vec![root.join("locked/secret")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&["chmod 700 locked; grep secret locked/secret", "mv locked x"]);
    });
}

#[test]
fn links_are_followed_where_that_is_safe() {
    each_user(|user, root| {
        write(root, "store/key", "secret");
        write(root, "real/file", "text");
        symlink("store", root.join("link")).expect("it can be made");
        symlink("real", root.join("work")).expect("it can be made");
        // Closed files are closed at their current paths.
        let mut plan = confined(&root.join("real"));
        plan.closed = vec![root.join("link")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.refuse(&["cat ../store/key", "cat ../link/key"]);
        // What may be written is not.
        let fixture = Fixture::try_start(user, &confined(&root.join("work")));
        let error = fixture.error.clone().unwrap_or_default();
        assert!(error.starts_with("could not open `") && error.contains("/work`"), "{error}");
    });
}

#[test]
fn mounts_below_the_root_are_as_they_were() {
    if !is_root() {
        return;
    }
    for user in users() {
        let root = directory(user);
        let path = root.path().display();
        let script = format!(
            "cd '{path}'; mkdir rw ro; mount -t tmpfs -o mode=1777 none rw; mkdir rw/deep
             mount -t tmpfs -o mode=1777 none rw/deep; mount -t tmpfs -o ro,mode=1777 none ro"
        );
        let mut plan = confined(root.path());
        plan.protected = vec![root.path().join("rw/deep/p")];
        let mut fixture = Fixture::start_prepared(user, &plan, &["--mount"], &script);
        fixture.check("touch rw/x rw/deep/x");
        fixture.refuse(&["touch ro/x", "mkdir rw/deep/p/x", "mv rw/deep rw/other", "umount rw"]);
        // Nothing of that was made on the file system below.
        assert_eq!(fs::read_dir(root.path().join("rw")).expect("it is there").count(), 0);
        fixture.end();
    }
}

#[test]
fn a_linked_directory_for_temporary_files_is_private_too() {
    if !is_root() {
        return;
    }
    for user in users() {
        let base = directory(user);
        let root = write(base.path(), "tmp/root/file", "text");
        let root = root.parent().expect("it has one");
        // As on systems where /var/tmp is a link to /tmp, or is elsewhere.
        let path = base.path().display();
        let script = format!(
            "mount -t tmpfs none /var; ln -s '{path}/tmp' /var/tmp; chmod 1777 '{path}/tmp'"
        );
        let mut fixture = Fixture::start_prepared(user, &confined(root), &["--mount"], &script);
        fixture.check("cat file && touch x && touch /var/tmp/x && test -e /var/tmp/root/file");
        assert!(!base.path().join("tmp/x").exists());
        fixture.end();
    }
}

#[test]
fn the_whole_tree_can_be_writable() {
    each_user(|user, root| {
        let outside = directory(user);
        write(root, "closed/file", "secret");
        write(root, "git/hooks/hook", "text");
        let mut plan = confined(Path::new("/"));
        plan.closed = vec![root.join("closed")];
        plan.protected = vec![root.join("git/hooks")];
        let mut fixture = Fixture::start(user, &plan);
        let (inner, outer) = (root.display(), outside.path().display());
        fixture.check(&format!("touch '{outer}/x' /tmp/toolwright-x && rm /tmp/toolwright-x"));
        assert!(outside.path().join("x").exists());
        fixture.refuse(&[
            &format!("cat '{inner}/closed/file'"),
            &format!("touch '{inner}/git/hooks/x'"),
            &format!("mv '{inner}/git' '{inner}/x'"),
            &format!("mv '{inner}' '{outer}/y'"),
            "echo 1 > /proc/sys/vm/drop_caches",
            "echo x > /sys/kernel/mm/ksm/run",
            "test -b /dev/[sv]da",
        ]);
    });
}

#[test]
fn with_all_files_what_is_closed_and_protected_holds() {
    each_user(|user, root| {
        let outside = directory(user);
        write(outside.path(), "closed/file", "secret");
        write(outside.path(), "closed/inner/file", "text");
        write(root, ".git/hooks/hook", "text");
        let mut plan = Plan { files: Files::Full, ..confined(root) };
        plan.closed = vec![outside.path().join("closed")];
        plan.readable = vec![outside.path().join("closed/inner")];
        plan.protected = vec![root.join(".git/hooks"), root.join("absent")];
        let hosts = directory_in(user, Path::new("/tmp"));
        let mut fixture = Fixture::start(user, &plan);
        let outer = outside.path().display();
        fixture.check(&format!("touch '{outer}/x' '{}/x'", hosts.path().display()));
        assert!(outside.path().join("x").exists() && hosts.path().join("x").exists());
        fixture.check(&format!("cat '{outer}/closed/inner/file'"));
        fixture.refuse(&[
            &format!("cat '{outer}/closed/file'"),
            &format!("mv '{outer}/closed' '{outer}/y'"),
            &format!("mv '{outer}' '{}/y'", hosts.path().display()),
            "touch .git/hooks/x",
            "mv .git x",
            &format!("mv '{}' '{}/z'", root.display(), hosts.path().display()),
            "touch absent/x",
            "test -b /dev/[sv]da",
            "echo x > /sys/kernel/mm/ksm/run",
        ]);
        fixture.end();
        assert!(!root.join("absent").exists());
    });
}

#[test]
fn a_missing_root_is_named() {
    each_user(|user, root| {
        let fixture = Fixture::try_start(user, &confined(&root.join("missing")));
        let error = fixture.error.clone().unwrap_or_default();
        assert!(error.starts_with("could not open `") && error.contains("missing"), "{error}");
    });
}

#[test]
fn the_hosts_mounts_are_as_before() {
    each_user(|user, root| {
        let mounts = || fs::read_to_string("/proc/self/mounts").expect("it can be read");
        let before = mounts();
        let mut plan = confined(root);
        plan.protected = vec![root.join(".git/hooks")];
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("true");
        assert_eq!(mounts(), before);
        fixture.end();
        assert_eq!(mounts(), before);
    });
}
