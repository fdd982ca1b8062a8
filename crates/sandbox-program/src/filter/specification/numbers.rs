//! Numbers of calls, compared with those of libc.

use super::*;

/// The numbers of this architecture are those of its headers.
#[test]
fn the_numbers_are_right() {
    let calls = [
        (calls::BIND, libc::SYS_bind),
        (calls::CLONE, libc::SYS_clone),
        (calls::CONNECT, libc::SYS_connect),
        (calls::FCNTL, libc::SYS_fcntl),
        (calls::IOCTL, libc::SYS_ioctl),
        (calls::IOPRIO_SET, libc::SYS_ioprio_set),
        (calls::KILL, libc::SYS_kill),
        (calls::LISTEN, libc::SYS_listen),
        (calls::PRLIMIT64, libc::SYS_prlimit64),
        (calls::SENDMMSG, libc::SYS_sendmmsg),
        (calls::SENDMSG, libc::SYS_sendmsg),
        (calls::SENDTO, libc::SYS_sendto),
        (calls::SETPGID, libc::SYS_setpgid),
        (calls::SETPRIORITY, libc::SYS_setpriority),
        (calls::SETRLIMIT, libc::SYS_setrlimit),
        (calls::SETSID, libc::SYS_setsid),
        (calls::SETSOCKOPT, libc::SYS_setsockopt),
        (calls::SOCKET, libc::SYS_socket),
        (calls::SOCKETPAIR, libc::SYS_socketpair),
        (calls::UNSHARE, libc::SYS_unshare),
    ];
    let scheduling = [
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
    ];
    let scheduling = calls::SCHEDULING.iter().copied().zip(scheduling);
    for (call, number) in calls.into_iter().chain(scheduling) {
        assert_eq!(call.number(Architecture::OURS).map(i64::from), Some(number));
    }
}
