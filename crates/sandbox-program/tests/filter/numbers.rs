//! Calls refused by number.

use libc::{ENOSYS, EPERM};

use super::child::{is_root, users};
use super::*;

/// Calls that no argument opens, except those of only one architecture.
const CLOSED: &[(c_long, c_int)] = &[
    (libc::SYS_ptrace, EPERM),
    (libc::SYS_process_vm_readv, EPERM),
    (libc::SYS_process_vm_writev, EPERM),
    (libc::SYS_kcmp, EPERM),
    (libc::SYS_pidfd_getfd, EPERM),
    (libc::SYS_migrate_pages, EPERM),
    (libc::SYS_move_pages, EPERM),
    (libc::SYS_bpf, EPERM),
    (libc::SYS_perf_event_open, EPERM),
    (libc::SYS_userfaultfd, EPERM),
    (libc::SYS_io_uring_setup, ENOSYS),
    (libc::SYS_io_uring_enter, ENOSYS),
    (libc::SYS_io_uring_register, ENOSYS),
    (libc::SYS_add_key, ENOSYS),
    (libc::SYS_request_key, ENOSYS),
    (libc::SYS_keyctl, ENOSYS),
    (libc::SYS_clone3, ENOSYS),
    (libc::SYS_setns, EPERM),
    (libc::SYS_chroot, EPERM),
    (libc::SYS_pivot_root, EPERM),
    (libc::SYS_mount, EPERM),
    (libc::SYS_umount2, EPERM),
    (libc::SYS_open_tree, EPERM),
    (libc::SYS_move_mount, EPERM),
    (libc::SYS_fsopen, EPERM),
    (libc::SYS_fsconfig, EPERM),
    (libc::SYS_fsmount, EPERM),
    (libc::SYS_fspick, EPERM),
    (libc::SYS_mount_setattr, EPERM),
    (467, EPERM), // open_tree_attr
    (libc::SYS_open_by_handle_at, EPERM),
    (libc::SYS_lookup_dcookie, EPERM),
    (libc::SYS_fanotify_init, EPERM),
    (libc::SYS_fanotify_mark, EPERM),
    (libc::SYS_reboot, EPERM),
    (libc::SYS_kexec_load, EPERM),
    (libc::SYS_init_module, EPERM),
    (libc::SYS_finit_module, EPERM),
    (libc::SYS_delete_module, EPERM),
    (libc::SYS_swapon, EPERM),
    (libc::SYS_swapoff, EPERM),
    (libc::SYS_acct, EPERM),
    (libc::SYS_quotactl, EPERM),
    (libc::SYS_quotactl_fd, EPERM),
    (libc::SYS_syslog, EPERM),
    (libc::SYS_sethostname, EPERM),
    (libc::SYS_setdomainname, EPERM),
    (libc::SYS_nfsservctl, EPERM),
    (libc::SYS_adjtimex, EPERM),
    (libc::SYS_settimeofday, EPERM),
    (libc::SYS_clock_settime, EPERM),
    (libc::SYS_clock_adjtime, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_kexec_file_load, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_modify_ldt, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, EPERM),
];

/// Arguments of -1 are invalid for all of these calls, and without the filter root gets that
/// answer; the filter gives another.
#[test]
fn closed_calls_are_refused_before_the_kernel_looks_at_them() {
    let calls: Vec<_> = CLOSED.iter().map(|&(number, _)| (number, [-1; 6])).collect();
    let unfiltered = is_root().then(|| answers(&[], None, &calls));
    for user in users() {
        for plan in PLANS.into_iter().chain([NARROWEST]) {
            let answers = answers(&[&filter(plan)], user, &calls);
            for (place, &(number, errno)) in CLOSED.iter().enumerate() {
                let brokering = [libc::SYS_pidfd_getfd, libc::SYS_process_vm_readv];
                if plan.network == Network::HostLoopback && brokering.contains(&number) {
                    assert_ne!(answers[place], -i64::from(errno), "call {number}");
                    continue;
                }
                assert_eq!(answers[place], -i64::from(errno), "call {number} under {plan:?}");
                if let Some(unfiltered) = &unfiltered
                    && unfiltered[place] != -i64::from(ENOSYS)
                {
                    assert_ne!(unfiltered[place], answers[place], "call {number} proves nothing");
                }
            }
        }
    }
}

#[test]
fn numbers_of_x32_and_of_later_kernels_do_not_exist() {
    let x32 = 0x4000_0000;
    let numbers = [470, 471, 512, 547, 1000, x32, x32 + 39, x32 + 41, x32 + 520, 0xFFFF_FFFF];
    let calls = numbers.map(|number| (number, [0; 6]));
    for plan in PLANS {
        assert_eq!(answers(&[&filter(plan)], None, &calls), [-i64::from(ENOSYS); 10]);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_i386_kill_the_process() {
    for plan in PLANS {
        let filter = filter(plan);
        let report = in_child(Setup { filters: &[&filter], user: None }, || {
            let mut answer: i64 = 20;
            // SAFETY: getpid by the old gate; it takes nothing and changes one register.
            unsafe { std::arch::asm!("int 0x80", inout("rax") answer) };
            vec![answer]
        });
        assert_eq!(report.signal, Some(libc::SIGSYS), "{plan:?}");
        assert!(report.answers.is_empty());
    }
}
