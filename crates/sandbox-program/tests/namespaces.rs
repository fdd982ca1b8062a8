//! The namespaces of commands, and the capabilities that are left to root.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use mounts_fixture::{Fixture, NOBODY, confined, directory, each_user, is_root, users};
use rustix::process::{Pid, Resource, WaitOptions, getrlimit, setrlimit, waitpid};
use toolwright_sandbox::layers::{Layer, Layers};
use toolwright_sandbox::plan::{Network, Plan};
use toolwright_sandbox_program::namespaces::{self, Forked};

#[test]
fn all_of_them_hold() {
    each_user(|user, root| {
        let fixture = Fixture::start(user, &confined(root));
        for layer in ["user", "mount", "pid", "ipc", "net", "loopback"] {
            assert!(fixture.layers.contains(&format!("{layer}: Holds")), "{}", fixture.layers);
        }
    });
}

#[test]
fn making_workers_does_not_change_the_tree() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        for _ in 0..3 {
            fixture.check("@changed");
            fixture.check("true");
        }
    });
}

#[test]
fn users_are_mapped_to_themselves() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        let fields = |text: &str| -> Vec<u32> {
            text.split_whitespace().map(|field| field.parse().expect("a number")).collect()
        };
        let host = fields(&fs::read_to_string("/proc/self/uid_map").expect("there is one"));
        for map in ["uid_map", "gid_map"] {
            let map = fields(&fixture.check(&format!("cat /proc/self/{map}")));
            if user == 0 {
                assert_eq!((map[0], map[1], map[2]), (host[0], host[0], host[2]));
            } else {
                assert_eq!(map, [user, user, 1]);
            }
        }
        assert_eq!(fixture.check("id -u").trim(), user.to_string());
        let groups = fixture.check("cat /proc/self/setgroups");
        assert_eq!(groups.trim(), if user == 0 { "allow" } else { "deny" });
    });
}

#[test]
fn root_works_with_the_files_of_others() {
    if !is_root() {
        return;
    }
    let root = directory(0);
    let mut fixture = Fixture::start(0, &confined(root.path()));
    fixture.check(
        "touch f && chown 1234:1234 f && chmod 600 f && cat f && test $(stat -c %u f) = 1234",
    );
    fixture.check("setpriv --reuid 1234 --regid 1234 --clear-groups touch /tmp/theirs");
}

#[test]
fn only_harmless_capabilities_are_left() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        let status = fixture.check("cat /proc/self/status");
        let set = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            u64::from_str_radix(line.trim(), 16).expect("a number")
        };
        // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID
        let retained = if user == 0 { 0b1111_1011 & !(1 << 2) } else { 0 };
        for name in ["CapPrm:", "CapEff:", "CapBnd:"] {
            assert_eq!(set(name), retained, "{name}");
        }
        assert_eq!((set("CapInh:"), set("CapAmb:")), (0, 0));
    });
}

#[test]
fn nothing_nests_further() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        fixture.refuse(&[
            "unshare --user true",
            "unshare --user --map-root-user --mount true",
            "unshare --mount true",
            "unshare --pid --fork true",
            "unshare --net true",
            "mount -t tmpfs none /tmp",
            "umount /tmp",
            "umount -l /proc",
            "mount -o remount,rw /",
            "mount --bind /etc .",
            "chroot / true",
            "hostname other",
            "echo 9 > /proc/sys/user/max_user_namespaces",
        ]);
    });
    // The host's own number is as it was.
    let number = fs::read_to_string("/proc/sys/user/max_user_namespaces").expect("there is one");
    assert_ne!(number.trim(), "0");
}

#[test]
fn processes_of_the_host_are_out_of_reach() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        let host = std::process::id();
        fixture.check("test $(ls /proc | grep -c '^[0-9]*$') -lt 8");
        fixture.refuse(&[
            &format!("ls /proc/{host}"),
            &format!("kill -0 {host}"),
            "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep CARGO",
        ]);
        // Each worker has its own.
        let own = fixture.check("readlink /proc/self/ns/pid");
        assert_ne!(
            own.trim(),
            fs::read_link("/proc/self/ns/pid").expect("there is one").to_string_lossy()
        );
        fixture.check("test $(readlink /proc/self) -gt 1");
    });
}

#[test]
fn loopback_is_private_and_works() {
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = host.local_addr().expect("an address");
    each_user(|user, root| {
        let plan = confined(root);
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("@talk");
        fixture.refuse(&[&format!("@connect {address}")]);

        let mut without = Fixture::start(user, &Plan { network: Network::Nothing, ..plan.clone() });
        without.refuse(&["@talk", &format!("@connect {address}")]);

        for network in [Network::Open, Network::HostLoopback] {
            let mut open = Fixture::start(user, &Plan { network, ..plan.clone() });
            open.check(&format!("@connect {address}"));
        }
    });
}

#[test]
fn message_queues_and_shared_memory_are_private() {
    each_user(|user, root| {
        let mut fixture = Fixture::start(user, &confined(root));
        let host = fs::read_link("/proc/self/ns/ipc").expect("there is one");
        let theirs = fixture.check("readlink /proc/self/ns/ipc");
        assert_ne!(theirs.trim(), host.to_string_lossy());
        // The commands of one supervisor share them.
        fixture.check("ipcmk -Q && touch /dev/mqueue/queue");
        fixture.check("ipcs -q | grep 0x && test -e /dev/mqueue/queue");
    });
}

#[test]
fn sockets_on_read_only_mounts_are_for_the_filter_to_stop() {
    each_user(|user, root| {
        let outside = directory(user);
        let path = outside.path().join("socket");
        let _listener = UnixListener::bind(&path).expect("a socket");
        let mut fixture = Fixture::start(user, &confined(root));
        // Mounts do not prevent this. If that changes, the documentation must too.
        if user == 0 {
            fixture.check(&format!("@unix {}", path.display()));
        }
    });
}

#[test]
fn without_a_user_namespace_root_has_the_others() {
    if !is_root() {
        return;
    }
    let root = directory(0);
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces";
    let options = ["--user", "--map-root-user", "--mount"];
    let mut fixture = Fixture::start_prepared(0, &confined(root.path()), &options, forbid);
    assert_eq!(fixture.error, None);
    assert!(
        fixture.layers.contains(&format!("user: Refused({})", libc::ENOSPC)),
        "{}",
        fixture.layers
    );
    for layer in ["mount", "pid", "ipc", "net", "loopback"] {
        assert!(fixture.layers.contains(&format!("{layer}: Holds")), "{}", fixture.layers);
    }
    fixture.check("touch f");
    fixture.check("@talk");
    fixture.refuse(&["touch /etc/x", "mount -t tmpfs none /tmp"]);
}

#[test]
fn without_any_namespace_workers_still_come() {
    if !is_root() {
        return;
    }
    let root = directory(NOBODY);
    let forbid = "for kind in user mnt net ipc pid; do
                      echo 0 > /proc/sys/user/max_${kind}_namespaces
                  done";
    let options = ["--user", "--map-root-user", "--mount"];
    // The only user of that namespace is root, which looks like a real one.
    let mut fixture = Fixture::start_prepared(0, &confined(root.path()), &options, forbid);
    assert_eq!(fixture.error, None);
    for layer in ["user", "mount", "pid", "ipc", "net"] {
        let refused = format!("{layer}: Refused({})", libc::ENOSPC);
        assert!(fixture.layers.contains(&refused), "{layer} {}", fixture.layers);
    }
    assert!(fixture.layers.contains("loopback: Unused"), "{}", fixture.layers);
    fixture.check("true");
}

#[test]
fn in_a_container_without_other_users_all_of_them_hold() {
    if !is_root() {
        return;
    }
    let root = directory(0);
    let options = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
    let mut fixture = Fixture::start_prepared(0, &confined(root.path()), &options, "");
    assert_eq!(fixture.error, None);
    assert!(!fixture.layers.contains("Refused"), "{}", fixture.layers);
    fixture.check("touch f && test $(id -u) = 0");
    fixture.check("@talk");
    fixture.refuse(&["touch /etc/x", "mount -t tmpfs none /tmp", "umount /tmp"]);
}

#[test]
fn where_proc_is_masked_there_is_no_process_namespace() {
    if !is_root() {
        return;
    }
    for user in users() {
        let root = directory(user);
        // As container runtimes do it.
        let mask = "mount --bind /dev/null /proc/timer_list; mount -t tmpfs none /proc/fs";
        let plan = confined(root.path());
        let mut fixture = Fixture::start_prepared(user, &plan, &["--mount"], mask);
        assert_eq!(fixture.error, None);
        let refused = format!("pid: Refused({})", libc::EPERM);
        assert!(fixture.layers.contains(&refused), "{}", fixture.layers);
        for layer in ["user", "mount", "ipc", "net", "loopback"] {
            assert!(fixture.layers.contains(&format!("{layer}: Holds")), "{}", fixture.layers);
        }
        fixture.check("touch f && test -d /proc/$$");
        fixture.check("@changed");
        fixture.refuse(&[
            "touch /etc/x",
            "echo 1 > /proc/sys/vm/drop_caches",
            "echo x > /proc/self/comm",
            &format!("cat /proc/{}/environ", std::process::id()),
            &format!("ls /proc/{}/root/", std::process::id()),
            "test -s /proc/keys",
        ]);
    }
}

/// Runs the steps of a supervisor in a child without privileges, and returns its status.
fn as_nobody(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child has one thread, uses the allocator, which libc makes safe to use after a
    // fork, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the calls change only the identity of this child. They fail for an ordinary user,
        // who needs none of them.
        let status = unsafe {
            if is_root() {
                libc::setgroups(0, std::ptr::null());
                libc::setresgid(NOBODY, NOBODY, NOBODY);
                libc::setresuid(NOBODY, NOBODY, NOBODY);
            }
            work()
        };
        // SAFETY: ends the child without running what belongs to the test.
        unsafe { libc::_exit(status) };
    }
    let child = Pid::from_raw(child).expect("a child");
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).expect("waited").expect("ended");
    status.exit_status().unwrap_or(-1)
}

fn limit_processes(max: Option<u64>) {
    let mut limit = getrlimit(Resource::Nproc);
    limit.current = max.or(limit.maximum);
    let _ = setrlimit(Resource::Nproc, limit);
}

#[test]
fn a_first_worker_that_cannot_be_made_for_want_of_processes_is_no_finding() {
    let root = directory(NOBODY);
    let plan = confined(root.path());
    let status = as_nobody(|| {
        let mut layers = Layers::default();
        namespaces::enter(&plan, false, None, &mut layers);
        if !layers.user.holds() {
            return 77;
        }
        limit_processes(Some(0));
        for _ in 0..2 {
            match namespaces::make_worker(&mut layers) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(_) => return 1,
                Ok(_) => return 2,
            }
            // Neither that it is refused nor that it holds.
            if layers.pid != Layer::Unused {
                return 3;
            }
        }
        limit_processes(None);
        match namespaces::make_worker(&mut layers) {
            Ok(Forked::Parent(worker)) => {
                let _ = waitpid(Pid::from_raw(worker), WaitOptions::empty());
                if layers.pid.holds() { 0 } else { 4 }
            }
            Ok(Forked::Child) => 0,
            Err(_) => 5,
        }
    });
    if status == 77 {
        eprintln!("skipped: this user can have no user namespace");
        return;
    }
    assert_eq!(status, 0);
}

#[test]
fn namespaces_that_cannot_be_had_for_want_of_processes_are_told_apart() {
    let root = directory(NOBODY);
    let plan = confined(root.path());
    let status = as_nobody(|| {
        limit_processes(Some(0));
        let mut layers = Layers::default();
        namespaces::enter(&plan, true, None, &mut layers);
        i32::from(layers.shortage() != Some(libc::EAGAIN))
    });
    assert_eq!(status, 0);
    let refused = Layers { user: Layer::Refused(libc::EPERM), ..Layers::default() };
    assert_eq!(refused.shortage(), None);
}
