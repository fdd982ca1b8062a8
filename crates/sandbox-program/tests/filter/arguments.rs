//! Calls refused by argument.

use libc::{ENOSYS, EPERM};
use toolwright_sandbox_program::filter::pin_filter;

use super::child::{args, is_root, leaked, users};
use super::*;

#[test]
fn no_namespace_is_made() {
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let mut refused = Vec::new();
    for flag in namespaces {
        let flag = c_long::from(flag);
        refused.push((libc::SYS_unshare, args([flag])));
        refused.push((libc::SYS_unshare, args([flag | c_long::from(libc::CLONE_FS)])));
        refused.push((libc::SYS_clone, args([flag | c_long::from(libc::SIGCHLD)])));
        refused.push((libc::SYS_clone, args([flag | 1 << 40])));
    }
    // The time namespace, an empty mount namespace, and what no kernel knows yet.
    for flag in [0x80, 0x10_0000, 1 << 31, 1 << 32, 1 << 40, 1 << 62] {
        refused.push((libc::SYS_unshare, args([flag])));
    }
    for plan in PLANS {
        for answer in answers(&[&filter(plan)], None, &refused) {
            assert_eq!(answer, -i64::from(EPERM), "{plan:?}");
        }
        let files_and_fs = c_long::from(libc::CLONE_FILES | libc::CLONE_FS);
        let allowed = [(libc::SYS_unshare, args([files_and_fs])), (libc::SYS_unshare, args([0]))];
        assert_eq!(answers(&[&filter(plan)], None, &allowed), [0, 0]);
    }
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    let Ok(terminal) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx") else {
        println!("no terminal can be made: left out");
        return;
    };
    let terminal = leaked(terminal);
    let letter = std::ptr::from_ref(&b'x') as c_long;
    let mut waiting: c_int = 0;
    let waiting = std::ptr::from_mut(&mut waiting) as c_long;
    let mut calls = Vec::new();
    // TIOCSTI, TIOCLINUX and TIOCSETD, also with an upper half that the kernel ignores.
    for request in [0x5412, 0x541C, 0x5423] {
        for upper in [0, 1 << 32, -1 << 32] {
            calls.push((libc::SYS_ioctl, args([terminal, request | upper, letter])));
        }
    }
    calls.push((libc::SYS_ioctl, args([terminal, 0x541B, waiting])));
    let mut expected = vec![-i64::from(EPERM); calls.len()];
    expected[calls.len() - 1] = 0;
    assert_eq!(answers(&[&filter(NARROWEST)], None, &calls), expected);
    close(terminal);
}

#[test]
fn shared_objects_need_a_namespace_of_their_own() {
    let calls: Vec<_> = [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_shmdt,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semctl,
        libc::SYS_semtimedop,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
    ]
    // Neither is a queue made, nor is there one with this key.
    .map(|number| (number, if number == libc::SYS_msgget { args([-1]) } else { [-1; 6] }))
    .to_vec();
    let refused = -i64::from(ENOSYS);
    let with = FilterPlan { own_ipc: true, ..NARROWEST };
    assert!(answers(&[&filter(NARROWEST)], None, &calls).iter().all(|&it| it == refused));
    assert_eq!(answers(&[&filter(with)], None, &calls), answers(&[], None, &calls));
    assert!(answers(&[], None, &calls).iter().all(|&it| it != refused));
}

#[test]
fn without_a_process_namespace_only_the_caller_is_changed() {
    // There is no such process, so that nothing happens where a call is let through.
    let nobody = 0x3FFF_FFFF;
    let (process, group, user) = (0, 1, 2);
    let refused = [
        (libc::SYS_kill, args([-1, 0])),
        (libc::SYS_kill, args([0xFFFF_FFFF, 0])),
        (libc::SYS_prlimit64, args([nobody, 7])),
        (libc::SYS_setpriority, args([process, nobody, 0])),
        (libc::SYS_setpriority, args([group, nobody, 0])),
        (libc::SYS_setpriority, args([user, nobody, 0])),
        (libc::SYS_setpriority, args([user | 1 << 32, nobody, 0])),
        (libc::SYS_ioprio_set, args([1, nobody, 0])),
        (libc::SYS_ioprio_set, args([3, nobody, 0])),
    ];
    let allowed = [
        (libc::SYS_kill, args([0, 0])),
        (libc::SYS_prlimit64, args([0, 7])),
        (libc::SYS_setpriority, args([process, 0, 5])),
        (libc::SYS_ioprio_set, args([1, 0, 0])),
        (libc::SYS_sched_setaffinity, args([nobody, 0, 0])),
    ];
    let narrow = filter(NARROWEST);
    assert_eq!(answers(&[&narrow], None, &refused), [-i64::from(EPERM); 9]);
    assert_eq!(answers(&[&narrow], None, &allowed), answers(&[], None, &allowed));
    // With such a namespace strangers have no numbers, and only calls on all processes of a user
    // are refused.
    let with = filter(FilterPlan { own_pids: true, ..NARROWEST });
    let unfiltered = answers(&[], None, &refused);
    assert!(unfiltered.iter().all(|&it| it != -i64::from(EPERM)), "{unfiltered:?}");
    let by_user = |call: usize| [5, 6, 8].contains(&call);
    for (call, answer) in answers(&[&with], None, &refused).into_iter().enumerate() {
        let expected = if by_user(call) { -i64::from(EPERM) } else { unfiltered[call] };
        assert_eq!(answer, expected, "{:?}", refused[call]);
    }
}

/// The process with number 1, seen from the command. Here that is the first process of the machine,
/// and the invalid arguments keep it unchanged.
#[test]
fn a_worker_is_not_changed() {
    let filter = filter(FilterPlan { own_pids: true, ..NARROWEST });
    let (process, group, nonsense) = (0, 1, -1);
    let on = |pid: c_long| {
        [
            (libc::SYS_prlimit64, args([pid, nonsense])),
            (libc::SYS_sched_setparam, args([pid, 0])),
            (libc::SYS_sched_setscheduler, args([pid, nonsense, 0])),
            (libc::SYS_sched_setaffinity, args([pid, 0, nonsense])),
            (libc::SYS_sched_setattr, args([pid, 0, nonsense])),
            (libc::SYS_ioprio_set, args([1, pid, nonsense])),
            (libc::SYS_ioprio_set, args([2, pid, nonsense])),
        ]
    };
    // The kernel takes no more than the lower half.
    for upper in [0, 1, 7, 0x7FFF_FFFF, -1] {
        let first = upper << 32 | 1;
        assert_eq!(answers(&[&filter], None, &on(first)), [-i64::from(EPERM); 7], "{first:#x}");
        let priorities = [process, group]
            .map(|which| (libc::SYS_setpriority, args([upper << 32 | which, first, 0])));
        assert_eq!(answers(&[&filter], None, &priorities), [-i64::from(EPERM); 2], "{first:#x}");
    }
    // The caller itself, and everybody else, as without a filter. (No process has the last number.)
    for other in [0, 1 << 32, 2_000_000_000, 1 << 31 | 1, -1] {
        let calls = on(other);
        assert_eq!(answers(&[&filter], None, &calls), answers(&[], None, &calls), "{other:#x}");
    }
}

/// All of a user's processes are also named by 0.
#[test]
fn a_user_is_not_named_by_zero() {
    let calls = [(libc::SYS_setpriority, args([2, 0, 0])), (libc::SYS_ioprio_set, args([3, 0, 0]))];
    // A user without processes that it could affect.
    let user = is_root().then_some(4_000_000_000);
    assert_eq!(answers(&[&filter(NARROWEST)], user, &calls), [-i64::from(EPERM); 2]);
}

#[test]
fn the_pin_keeps_the_group() {
    let (main, pin) = (filter(NARROWEST), pin_filter().unwrap());
    for user in users() {
        let report = in_child(Setup { filters: &[&main, &pin], user }, || {
            // SAFETY: plain calls of the child about itself and a child of its own.
            unsafe {
                let before = (libc::getsid(0), libc::getpgrp());
                let results = [libc::setsid(), libc::setpgid(0, 0)];
                let same = before == (libc::getsid(0), libc::getpgrp());
                let grandchild = libc::fork();
                if grandchild == 0 {
                    libc::setsid();
                    libc::_exit(i32::from(before != (libc::getsid(0), libc::getpgrp())));
                }
                let mut status = -1;
                libc::waitpid(grandchild, &raw mut status, 0);
                vec![results[0].into(), results[1].into(), same.into(), status.into()]
            }
        });
        assert_eq!(report.answers, [0, 0, 1, 0]);
    }
}
