//! The tree of files on kernels before Linux 5.12, which change one mount at a time.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::path::Path;

use mounts_fixture::{Fixture, confined, directory, each_user, is_root, users, write};
use toolwright_sandbox::plan::{Files, Plan};

#[test]
fn the_calls_are_missing() {
    each_user(|user, root| {
        let mut fixture = Fixture::on_older_kernel(user, &confined(root));
        let call = |number: libc::c_long| {
            format!(
                "perl -e 'syscall({number}, -1, 0, 0, 0, 0); exit($!{{ENOSYS}} ? 0 : 1)' && echo missing"
            )
        };
        for number in [libc::SYS_mount_setattr, libc::SYS_landlock_create_ruleset] {
            assert_eq!(fixture.check(&call(number)).trim(), "missing");
        }
    });
}

#[test]
fn writes_reach_the_root_and_nothing_else() {
    each_user(|user, root| {
        let outside = directory(user);
        let file = write(outside.path(), "file", "text");
        write(root, "closed/file", "secret");
        write(root, ".git/hooks/hook", "text");
        write(root, ".git/config", "text");
        let mut plan = confined(root);
        plan.closed = vec![root.join("closed")];
        plan.protected = vec![root.join(".git/hooks"), root.join(".git/config")];
        let mut fixture = Fixture::on_older_kernel(user, &plan);
        fixture.check("mkdir d && echo x > d/f && mv d/f d/g && rm -r d && echo x > /tmp/x");
        let (inner, outer) = (file.display(), outside.path().display());
        fixture.check(&format!("cat '{inner}'"));
        fixture.refuse(&[
            &format!("echo x > '{inner}'"),
            &format!("rm '{inner}'"),
            &format!("chmod 777 '{inner}'"),
            &format!("mkdir '{outer}/x'"),
            "touch /etc/x",
            "mkdir /run/x",
            "echo x > .git/hooks/hook",
            "echo x > .git/hooks/new",
            "echo x > .git/config",
            "mv .git other",
            "cat closed/file",
            "echo x > /proc/sys/kernel/domainname",
            "chmod 600 /dev/null",
            "umount /",
            "mount -o remount,rw,bind /",
        ]);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "text");
    });
}

/// Each mount of the host is changed: those below others, those that may not lose what they forbid, and those
/// with odd names. Those that others hide are out of reach.
#[test]
fn mounts_below_mounts_are_read_only_too() {
    if !is_root() {
        return;
    }
    for user in users() {
        let root = directory(user);
        let outside = directory(user);
        write(outside.path(), "a b/deep/file", "text");
        let (inner, outer) = (root.path().display(), outside.path().display());
        let script = format!(
            "cd '{outer}'; mount -t tmpfs -o mode=777,noexec none 'a b'; mkdir -p 'a b/deep'
             mount -t tmpfs -o mode=777,nosuid,nodev,noatime none 'a b/deep'; mkdir -p hidden
             mount -t tmpfs -o mode=777 none hidden; mkdir hidden/x
             mount -t tmpfs -o mode=777 none hidden/x; mount -t tmpfs -o mode=777 none hidden
             mkdir -p '{inner}/own'; mount -t tmpfs -o mode=777 none '{inner}/own'; cd /"
        );
        for files in [Files::Confined, Files::Full] {
            let plan = Plan { files, ..confined(root.path()) };
            let mut fixture = Fixture::prepared_on_older_kernel(user, &plan, &["--mount"], &script);
            fixture.check("touch own/x");
            if files == Files::Confined {
                fixture.refuse(&[
                    &format!("touch '{outer}/a b/x'"),
                    &format!("touch '{outer}/a b/deep/x'"),
                    &format!("touch '{outer}/hidden/x'"),
                ]);
            }
            let options = fixture.check("cat /proc/self/mountinfo");
            let of = |place: &Path| {
                let place = place.display().to_string().replace(' ', "\\040");
                let mut lines =
                    options.lines().filter(|line| line.split(' ').nth(4) == Some(&place));
                lines
                    .next_back()
                    .expect("it is mounted")
                    .split(' ')
                    .nth(5)
                    .expect("options")
                    .to_owned()
            };
            assert!(of(&outside.path().join("a b")).contains("noexec"));
            assert!(of(&outside.path().join("a b/deep")).contains("noatime"));
            fixture.end();
        }
    }
}
