//! Numbers of system calls, on both architectures whatever this one is, so that both programs are
//! tested everywhere.

use libc::{ENOSYS, EPERM};
use toolwright_sandbox::background::CallKind::{
    self, Handle, Keys, Measure, Memory, Mount, Namespace, Root, System,
};

/// The architecture that a call's number belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    #[cfg_attr(
        all(not(target_arch = "x86_64"), not(test)),
        expect(dead_code, reason = "its program is built in tests")
    )]
    X86_64,
    #[cfg_attr(
        all(not(target_arch = "aarch64"), not(test)),
        expect(dead_code, reason = "its program is built in tests")
    )]
    Aarch64,
}

impl Architecture {
    #[cfg(target_arch = "x86_64")]
    pub(crate) const OURS: Self = Self::X86_64;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const OURS: Self = Self::Aarch64;

    pub(crate) const fn audit_number(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }
}

/// A system call, by its number on each architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    x86_64: Option<u32>,
    aarch64: Option<u32>,
}

impl Call {
    pub(crate) const fn number(self, arch: Architecture) -> Option<u32> {
        match arch {
            Architecture::X86_64 => self.x86_64,
            Architecture::Aarch64 => self.aarch64,
        }
    }
}

const fn call(x86_64: u32, aarch64: u32) -> Call {
    Call { x86_64: Some(x86_64), aarch64: Some(aarch64) }
}

const fn only_x86_64(number: u32) -> Call {
    Call { x86_64: Some(number), aarch64: None }
}

/// Numbers are the same everywhere since 424.
const fn alike(number: u32) -> Call {
    call(number, number)
}

/// What comes from here on was not looked at: `listns` and later. Below it are, as harmless,
/// `statmount`, `listmount`, `mseal`, `file_setattr` and the `lsm_*` family.
pub(crate) const FIRST_UNKNOWN: u32 = 470;

pub(crate) const BIND: Call = call(49, 200);
pub(crate) const CLONE: Call = call(56, 220);
pub(crate) const CONNECT: Call = call(42, 203);
pub(crate) const FCNTL: Call = call(72, 25);
pub(crate) const IOCTL: Call = call(16, 29);
pub(crate) const IOPRIO_SET: Call = call(251, 30);
pub(crate) const KILL: Call = call(62, 129);
pub(crate) const LISTEN: Call = call(50, 201);
pub(crate) const PRLIMIT64: Call = call(302, 261);
pub(crate) const SENDMMSG: Call = call(307, 269);
pub(crate) const SENDMSG: Call = call(46, 211);
pub(crate) const SENDTO: Call = call(44, 206);
pub(crate) const SCHED_SETATTR: Call = call(314, 274);
pub(crate) const SCHED_SETSCHEDULER: Call = call(144, 119);
pub(crate) const SETPGID: Call = call(109, 154);
pub(crate) const SETPRIORITY: Call = call(141, 140);
pub(crate) const SETRLIMIT: Call = call(160, 164);
pub(crate) const SETSID: Call = call(112, 157);
pub(crate) const SETSOCKOPT: Call = call(54, 208);
pub(crate) const SOCKET: Call = call(41, 198);
pub(crate) const SOCKETPAIR: Call = call(53, 199);
pub(crate) const UNSHARE: Call = call(272, 97);

pub(crate) const CREAT: Call = only_x86_64(85);
pub(crate) const OPEN: Call = only_x86_64(2);
pub(crate) const OPENAT: Call = call(257, 56);
pub(crate) const TRUNCATE: Call = call(76, 45);

pub(crate) const LINK: Call = only_x86_64(86);
pub(crate) const LINKAT: Call = call(265, 37);
pub(crate) const MKDIR: Call = only_x86_64(83);
pub(crate) const MKDIRAT: Call = call(258, 34);
pub(crate) const MKNOD: Call = only_x86_64(133);
pub(crate) const MKNODAT: Call = call(259, 33);
pub(crate) const RENAME: Call = only_x86_64(82);
pub(crate) const RENAMEAT: Call = call(264, 38);
pub(crate) const RENAMEAT2: Call = call(316, 276);
pub(crate) const RMDIR: Call = only_x86_64(84);
pub(crate) const SYMLINK: Call = only_x86_64(88);
pub(crate) const SYMLINKAT: Call = call(266, 36);
pub(crate) const UNLINKAT: Call = call(263, 35);

/// What changes the mask of permission bits.
pub(crate) const UMASK: Call = call(95, 166);

/// What changes the rights with which a thread uses files, or its mask.
pub(crate) const RIGHTS: &[Call] = &[
    UMASK,
    call(105, 146), // setuid
    call(106, 144), // setgid
    call(113, 145), // setreuid
    call(114, 143), // setregid
    call(116, 159), // setgroups
    call(117, 147), // setresuid
    call(119, 149), // setresgid
    call(122, 151), // setfsuid
    call(123, 152), // setfsgid
    call(126, 91),  // capset
];

/// How a process is scheduled, whose number is the first argument. (Core scheduling, by `prctl`, asks
/// for the right to trace it.)
pub(crate) const SCHEDULING: &[Call] = &[
    call(142, 118), // sched_setparam
    SCHED_SETSCHEDULER,
    call(203, 122), // sched_setaffinity
    SCHED_SETATTR,
];

pub(crate) const CHMOD: Call = only_x86_64(90);
pub(crate) const FCHMOD: Call = call(91, 52);
pub(crate) const FCHMODAT2: Call = alike(452);

/// Calls that make a file with a mode, and in which argument that is.
pub(crate) const MODES: &[(Call, u32)] = &[(CREAT, 1), (MKNOD, 1), (MKNODAT, 2)];

/// Those of them that make what is no file.
pub(crate) const NODES: &[(Call, u32)] = &[(MKNOD, 1), (MKNODAT, 2)];

/// Calls that change a mode.
pub(crate) const CHMODS: &[(Call, u32)] =
    &[(CHMOD, 1), (FCHMOD, 1), (call(268, 53), 2), (FCHMODAT2, 2)];

/// The same where the call only may make a file.
pub(crate) const OPENS: &[(Call, u32)] = &[(OPEN, 2), (OPENAT, 3)];

/// Its mode and flags are in memory, where no filter can read them. Programs fall back to `openat`.
pub(crate) const OPENAT2: Call = alike(437);

/// Refused whatever the arguments are, also to the worker.
pub(crate) const REFUSED: &[(Call, i32)] = &[
    // io_uring makes calls that no filter sees.
    (alike(425), ENOSYS), // io_uring_setup
    (alike(426), ENOSYS), // io_uring_enter
    (alike(427), ENOSYS), // io_uring_register
    // Its flags are in memory, where no filter can read them. libc falls back to clone.
    (alike(435), ENOSYS), // clone3
    // Parts of the kernel with a long history of holes.
    (call(212, 18), EPERM), // lookup_dcookie
    (call(180, 42), EPERM), // nfsservctl
    // The processor's own doors, and calls that are long gone.
    (only_x86_64(154), EPERM), // modify_ldt
    (only_x86_64(134), EPERM), // uselib
    (only_x86_64(156), EPERM), // _sysctl
    (only_x86_64(174), EPERM), // create_module
    (only_x86_64(177), EPERM), // get_kernel_syms
    (only_x86_64(178), EPERM), // query_module
];

/// Refused whatever the arguments are, and reported where a worker answers calls: what they are for.
pub(crate) const REPORTED: &[(Call, i32, CallKind)] = &[
    // What processes have in common, and where their memory lies.
    (call(312, 272), EPERM, Memory), // kcmp
    (call(256, 238), EPERM, Memory), // migrate_pages
    (call(279, 239), EPERM, Memory), // move_pages
    // Parts of the kernel with a long history of holes.
    (call(321, 280), EPERM, Measure), // bpf
    (call(298, 241), EPERM, Measure), // perf_event_open
    (call(323, 282), EPERM, Memory),  // userfaultfd
    // Keyrings have no namespace and outlive the command.
    (call(248, 217), ENOSYS, Keys), // add_key
    (call(249, 218), ENOSYS, Keys), // request_key
    (call(250, 219), ENOSYS, Keys), // keyctl
    // Namespaces and mounts.
    (call(308, 268), EPERM, Namespace), // setns
    (call(161, 51), EPERM, Root),       // chroot
    (call(155, 41), EPERM, Root),       // pivot_root
    (call(165, 40), EPERM, Mount),      // mount
    (call(166, 39), EPERM, Mount),      // umount2
    (alike(428), EPERM, Mount),         // open_tree
    (alike(429), EPERM, Mount),         // move_mount
    (alike(430), EPERM, Mount),         // fsopen
    (alike(431), EPERM, Mount),         // fsconfig
    (alike(432), EPERM, Mount),         // fsmount
    (alike(433), EPERM, Mount),         // fspick
    (alike(442), EPERM, Mount),         // mount_setattr
    (alike(467), EPERM, Mount),         // open_tree_attr
    // Files without a path: past every mount.
    (call(304, 265), EPERM, Handle), // open_by_handle_at
    (call(300, 262), EPERM, Handle), // fanotify_init
    (call(301, 263), EPERM, Handle), // fanotify_mark
    // The machine.
    (call(169, 142), EPERM, System),   // reboot
    (call(246, 104), EPERM, System),   // kexec_load
    (call(320, 294), EPERM, System),   // kexec_file_load
    (call(175, 105), EPERM, System),   // init_module
    (call(313, 273), EPERM, System),   // finit_module
    (call(176, 106), EPERM, System),   // delete_module
    (call(167, 224), EPERM, System),   // swapon
    (call(168, 225), EPERM, System),   // swapoff
    (call(163, 89), EPERM, System),    // acct
    (call(179, 60), EPERM, System),    // quotactl
    (alike(443), EPERM, System),       // quotactl_fd
    (call(103, 116), EPERM, System),   // syslog
    (call(153, 58), EPERM, System),    // vhangup
    (call(170, 161), EPERM, System),   // sethostname
    (call(171, 162), EPERM, System),   // setdomainname
    (only_x86_64(172), EPERM, System), // iopl
    (only_x86_64(173), EPERM, System), // ioperm
    // Clocks.
    (call(159, 171), EPERM, System), // adjtimex
    (call(164, 170), EPERM, System), // settimeofday
    (call(227, 112), EPERM, System), // clock_settime
    (call(305, 266), EPERM, System), // clock_adjtime
];

/// Other processes' memory and registers.
pub(crate) const PTRACE: Call = call(101, 117);
pub(crate) const PROCESS_VM_WRITEV: Call = call(311, 271);
/// Where commands may not trace, a worker needs it all the same that makes calls for them.
pub(crate) const PROCESS_VM_READV: Call = call(310, 270);
/// Refused to commands, and needed by a worker that makes calls for them.
pub(crate) const PIDFD_GETFD: Call = alike(438);

/// System V objects and POSIX message queues, which no file rule sees.
pub(crate) const SHARED_OBJECTS: &[Call] = &[
    call(29, 194),  // shmget
    call(30, 196),  // shmat
    call(31, 195),  // shmctl
    call(67, 197),  // shmdt
    call(64, 190),  // semget
    call(65, 193),  // semop
    call(66, 191),  // semctl
    call(220, 192), // semtimedop
    call(68, 186),  // msgget
    call(69, 189),  // msgsnd
    call(70, 188),  // msgrcv
    call(71, 187),  // msgctl
    call(240, 180), // mq_open
    call(241, 181), // mq_unlink
];
