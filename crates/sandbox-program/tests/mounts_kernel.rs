//! The kernel's own files: devices, `/proc` and `/sys`.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::os::unix::fs::MetadataExt;

use mounts_fixture::{Fixture, confined, directory, each_user, is_root};
use toolwright_sandbox::plan::{Files, Plan};

#[test]
fn there_is_a_small_dev() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        let names = fixture.check("ls /dev");
        let expected = "fd full mqueue null ptmx pts random shm stderr stdin stdout toolwright toolwright-objects toolwright-trust tty urandom zero";
        assert_eq!(names.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        fixture.check(
            "echo x > /dev/null && echo x 2>/dev/null && test -z \"$(cat /dev/null)\" &&
             test $(head -c 5 /dev/zero | wc -c) = 5 && test $(head -c 5 /dev/urandom | wc -c) = 5 &&
             (echo x > /dev/stdout && echo x 2>&1 > /dev/stderr) 2>&1 | cat && echo x | cat /dev/stdin && ls /dev/fd/",
        );
        fixture.refuse(&[
            "touch /dev/x",
            "rm /dev/null",
            "chmod 777 /dev",
            "chmod 600 /dev/null",
            "chown 1 /dev/null",
            "touch -d yesterday /dev/null",
            "ln -s x /dev/x",
            "mv /dev/null /dev/x",
            "echo x > /dev/full",
            "mknod b b 1 1",
            "mknod c c 1 1",
            "mknod /tmp/c c 1 3",
            ": < /dev/tty",
        ]);
    });
}

#[test]
fn terminals_are_private() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        // Those of the host are invisible, and a command can open one of its own.
        assert_eq!(fixture.check("ls /dev/pts").trim(), "ptmx");
        let script = "script -qec 'test -t 0 && tty' /dev/null";
        assert!(fixture.check(script).starts_with("/dev/pts/0"));
    });
}

#[test]
fn devices_elsewhere_are_dead() {
    if !is_root() {
        return;
    }
    let root = directory(0);
    // The disk of the directory, and a harmless device.
    let disk = fs::metadata(root.path()).expect("it is there").dev();
    for (name, kind, device) in [
        ("disk", rustix::fs::FileType::BlockDevice, disk),
        ("zero", rustix::fs::FileType::CharacterDevice, rustix::fs::makedev(1, 5)),
    ] {
        let path = root.path().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, device).expect("root can");
    }
    assert!(fs::File::open(root.path().join("zero")).is_ok());
    for files in [Files::Confined, Files::Full] {
        let mut fixture = Fixture::start(0, &Plan { files, ..confined(root.path()) });
        fixture.refuse(&["head -c 1 disk", "head -c 1 zero", "echo x > disk"]);
        let script = "find . /dev /run -xdev -type b 2>/dev/null | while read -r d; do { true < \"$d\"; } 2>/dev/null && echo \"$d\"; done; true";
        assert_eq!(fixture.check(script), "");
    }
}

#[test]
fn no_program_gives_another_user() {
    if !is_root() {
        return;
    }
    for user in mounts_fixture::users() {
        let root = directory(user);
        let program = root.path().join("id");
        fs::copy("/usr/bin/id", &program).expect("it can be copied");
        std::os::unix::fs::chown(&program, Some(4321), Some(4321)).expect("root can");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o6755))
            .expect("root can");
        let mut fixture = Fixture::start(user, &confined(root.path()));
        assert_eq!(fixture.check("./id -u").trim(), user.to_string());
    }
}

#[test]
fn switches_of_the_kernel_cannot_be_set() {
    each_user(|user, root| {
        for files in [Files::Confined, Files::Full] {
            let mut fixture = Fixture::start(user, &Plan { files, ..confined(root) });
            fixture.refuse(&[
                "cat /proc/sys/kernel/core_pattern > x; cat x > /proc/sys/kernel/core_pattern",
                "echo 1 > /proc/sys/kernel/printk",
                "echo 0 > /proc/sys/kernel/randomize_va_space",
                "echo 1 > /proc/sys/vm/drop_caches",
                "echo 1 > /proc/sys/net/ipv4/ip_forward",
                "echo h > /proc/sysrq-trigger",
                "echo 1 > /proc/irq/default_smp_affinity",
                "echo 0 > /proc/self/oom_score_adj",
                "echo 0 > /proc/1/oom_score_adj",
                "echo x > /proc/self/uid_map",
                "cat /sys/kernel/mm/ksm/run > x; cat x > /sys/kernel/mm/ksm/run",
                "echo x > /sys/kernel/uevent_helper",
                "echo 1 > /sys/module/printk/parameters/time",
                "mkdir /sys/fs/cgroup/x || mkdir /sys/fs/cgroup/memory/x",
                "echo $$ > /sys/fs/cgroup/cgroup.procs",
                "chmod 777 /proc/sys/kernel/core_pattern",
                "chmod 777 /sys/kernel/mm/ksm/run",
            ]);
            // Each kind of file that can be written by its mode is on a read-only mount.
            let script = "find /proc/sys /sys -type f -perm /222 2>/dev/null | head -3000 |
                          while read -r f; do { true >> \"$f\"; } 2>/dev/null && echo \"$f\"; done; true";
            assert_eq!(fixture.check(script), "");
        }
    });
}

#[test]
fn windows_into_the_machine_are_shut() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        for name in [
            "kcore",
            "keys",
            "key-users",
            "kmsg",
            "kpagecount",
            "kpageflags",
            "timer_list",
            "vmallocinfo",
            "latency_stats",
            "sched_debug",
        ] {
            fixture.check(&format!(
                "test ! -e /proc/{name} || test -z \"$(timeout 1 head -c 1 /proc/{name})\""
            ));
        }
        for name in ["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"] {
            fixture.check(&format!("test -z \"$(ls {name} 2>/dev/null)\" || test {user} != 0"));
        }
        // What programs need is there.
        fixture.check(
            "grep -q MemTotal /proc/meminfo && cat /proc/cpuinfo /proc/loadavg /proc/self/maps",
        );
        fixture.check("cat /proc/self/mountinfo /proc/sys/kernel/osrelease /proc/net/dev && ps ax");
    });
}
