//! The rules on other processes, and on sockets.
#![cfg(target_os = "linux")]

#[path = "rules/child.rs"]
mod child;
#[path = "rules/plans.rs"]
mod plans;
#[path = "rules/user.rs"]
mod user;

use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use child::users;
use plans::{give, plan, tree};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::Network;
use toolwright_sandbox_program::rules::prepare;
use user::as_user;

/// A process of the same user that is outside. Killed when dropped.
struct Outsider(Child);

impl Outsider {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        command.arg("60").env("SECRET", "outside").stdin(Stdio::null());
        let outsider = Self(command.spawn().expect("sleep"));
        // Its own descriptors appear a moment after the start.
        let environment = format!("/proc/{}/environ", outsider.0.id());
        while fs::read(&environment).is_ok_and(|environment| environment.is_empty()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        outsider
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        // By a process that is still outside.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs in a child under the rules, whose parent is not.
fn confined(network: Network, own_net: bool, run: impl FnOnce()) {
    let (_keep, dir) = tree();
    let mut plan = plan(&dir);
    plan.network = network;
    // SAFETY: this process has one thread, and the child ends without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            prepare(&plan, false, own_net, &[]).restrict_self().expect("restricted");
            run();
        }));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(result.is_err())) }
    }
    let mut status = 0;
    // SAFETY: room for the status.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "in the confined child");
}

#[test]
fn signals_end_at_the_command() {
    for user in users() {
        as_user(user, || {
            let outsider = Outsider::new();
            test_kill_process(outsider.pid()).expect("by who is outside");
            let host = rustix::process::getpid();
            confined(Network::Nothing, false, || {
                for pid in [outsider.pid(), host] {
                    for signal in [Signal::CONT, Signal::TERM, Signal::KILL] {
                        assert_eq!(kill_process(pid, signal), Err(Errno::PERM));
                    }
                }
                let own = Outsider::new();
                test_kill_process(own.pid()).expect("a child of its own");
            });
            test_kill_process(outsider.pid()).expect("alive");
        });
    }
}

/// Whatever needs the right to trace is hidden about processes outside.
#[test]
fn other_processes_keep_their_secrets() {
    const SECRETS: [&str; 4] = ["environ", "maps", "mem", "auxv"];
    const LINKS: [&str; 3] = ["root", "cwd", "exe"];
    for user in users() {
        as_user(user, || {
            let outsider = Outsider::new();
            let pid = outsider.0.id();
            let file = |name: &str| format!("/proc/{pid}/{name}");
            for name in SECRETS {
                fs::File::open(file(name)).expect(name);
            }
            for name in LINKS {
                fs::read_link(file(name)).expect(name);
            }
            let environment = fs::read(file("environ")).expect("environment");
            assert!(environment.windows(7).any(|word| word == b"outside"));
            confined(Network::Nothing, false, || {
                for name in SECRETS {
                    let read = fs::File::open(file(name))
                        .and_then(|mut from| io::copy(&mut from, &mut io::sink()));
                    assert!(read.is_err(), "{name} read");
                }
                for name in LINKS {
                    assert!(fs::read_link(file(name)).is_err(), "{name} read");
                }
                assert!(fs::read_dir(file("root")).is_err());
                assert!(fs::read(file("fd/0")).is_err());
                // SAFETY: takes no memory.
                let traced = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
                assert_eq!(traced, -1);
                // Of itself a command may know everything.
                fs::read("/proc/self/environ").expect("own");
                fs::read_link("/proc/self/exe").expect("own");
                let own = Outsider::new();
                fs::read(format!("/proc/{}/environ", own.0.id())).expect("a child's");
            });
        });
    }
}

#[test]
fn abstract_sockets_end_at_the_command() {
    for user in users() {
        as_user(user, || {
            let name = format!("toolwright-{}", std::process::id());
            let address = SocketAddr::from_abstract_name(&name).expect("address");
            let letters = SocketAddr::from_abstract_name(format!("{name}-d")).expect("address");
            let _listener = UnixListener::bind_addr(&address).expect("listener");
            let _receiver = UnixDatagram::bind_addr(&letters).expect("receiver");
            let send = || UnixDatagram::unbound().expect("socket").send_to_addr(b"x", &letters);
            UnixStream::connect_addr(&address).expect("by who is outside");
            send().expect("by who is outside");
            // Whatever the network: these sockets lead to programs of this machine.
            for network in [Network::Nothing, Network::Open] {
                confined(network, false, || {
                    let refused = |error: io::Error| {
                        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
                    };
                    refused(UnixStream::connect_addr(&address).expect_err("connected"));
                    refused(send().expect_err("sent"));
                    let own = SocketAddr::from_abstract_name(format!("{name}-own")).expect("own");
                    let _own = UnixListener::bind_addr(&own).expect("own listener");
                    UnixStream::connect_addr(&own).expect("own socket");
                });
            }
        });
    }
}

#[test]
fn tcp_is_refused_where_there_is_nothing_to_reach() {
    for user in users() {
        as_user(user, || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
            let address = listener.local_addr().expect("address");
            let works = || {
                let connected = TcpStream::connect(address).map(drop);
                let bound = TcpListener::bind("127.0.0.1:0").map(drop);
                match (connected, bound) {
                    (Ok(()), Ok(())) => true,
                    (Err(one), Err(two)) => {
                        let denied = io::ErrorKind::PermissionDenied;
                        assert_eq!((one.kind(), two.kind()), (denied, denied));
                        false
                    }
                    other => panic!("{other:?}"),
                }
            };
            assert!(works());
            for (network, own_net, expected) in [
                (Network::Nothing, false, false),
                (Network::Nothing, true, false),
                (Network::PrivateLoopback, false, false),
                (Network::PrivateLoopback, true, true),
                (Network::HostLoopback, false, false),
                (Network::Open, false, true),
            ] {
                confined(network, own_net, || {
                    assert_eq!(works(), expected, "{network:?}, own: {own_net}");
                });
            }
        });
    }
}

/// Answers a system call with an error number from now on.
fn deny(call: i64, errno: i32) {
    let statement = |code: u32, jt: u8, jf: u8, k: u32| {
        let code = u16::try_from(code).expect("a code");
        libc::sock_filter { code, jt, jf, k }
    };
    let call = u32::try_from(call).expect("a number");
    let mut program = [
        // The number of the call is the first that there is to load.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call),
        statement(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(),
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
    let filter = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the program.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, filter, &raw const program) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// A system without Landlock, and containers that refuse one of its calls.
#[test]
fn what_is_missing_is_reported_with_its_reason() {
    let calls = [
        (libc::SYS_landlock_create_ruleset, libc::ENOSYS),
        (libc::SYS_landlock_create_ruleset, libc::EOPNOTSUPP),
        (libc::SYS_landlock_add_rule, libc::EPERM),
        (libc::SYS_landlock_restrict_self, libc::EPERM),
    ];
    for user in users() {
        let (_keep, dir) = tree();
        give(&dir, user);
        for (call, errno) in calls {
            as_user(user, || {
                deny(call, errno);
                let rules = prepare(&plan(&dir), false, false, &[]);
                let refused = Layer::Refused(errno);
                assert_eq!((rules.files, rules.scope, rules.tcp), (refused, refused, refused));
                assert_eq!(rules.closed, Layer::Unused, "the plan closes nothing");
                assert_eq!(rules.abi, 0);
                rules.restrict_self().expect("nothing to do");
                fs::write("/proc/self/comm", "free").expect("not confined");
            });
        }
    }
}

/// What imitates the last call without restricting anything.
#[test]
fn what_only_says_that_it_restricts_is_not_believed() {
    for user in users() {
        let (_keep, dir) = tree();
        give(&dir, user);
        as_user(user, || {
            deny(libc::SYS_landlock_restrict_self, 0);
            let rules = prepare(&plan(&dir), false, false, &[]);
            let refused = Layer::Refused(libc::EOPNOTSUPP);
            assert_eq!((rules.files, rules.scope, rules.tcp), (refused, refused, refused));
        });
    }
}

/// An old container's filter refuses `openat2`, with which paths are opened.
#[test]
fn paths_are_found_without_the_newer_call() {
    for user in users() {
        let (_keep, dir) = tree();
        for name in ["in", "out"] {
            fs::create_dir(dir.join(name)).expect("directory");
        }
        std::os::unix::fs::symlink("out", dir.join("linked")).expect("link");
        give(&dir, user);
        for errno in [libc::ENOSYS, libc::EPERM] {
            as_user(user, || {
                deny(libc::SYS_openat2, errno);
                let mut plan = plan(&dir.join("in"));
                plan.writable.push(dir.join("linked"));
                let rules = prepare(&plan, false, false, &[]);
                assert_eq!((rules.files, rules.left_out), (Layer::Holds, 1));
                rules.restrict_self().expect("restricted");
                fs::write(dir.join("in/file"), "x").expect("write");
                assert!(fs::write(dir.join("out/file"), "x").is_err());
            });
        }
    }
}
