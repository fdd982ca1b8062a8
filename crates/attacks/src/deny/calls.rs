//! The calls that can be denied, by name.

/// One reason for a call to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) number: libc::c_long,
    /// Denied only if the first argument matches.
    pub(crate) when: When,
    pub(crate) errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// The first argument is this.
    Is(u32),
    /// The first argument has this bit.
    Has(u32),
}

const CALLS: &[(&str, libc::c_long)] = &[
    ("capset", libc::SYS_capset),
    ("chroot", libc::SYS_chroot),
    ("clone3", libc::SYS_clone3),
    ("close_range", libc::SYS_close_range),
    ("execveat", libc::SYS_execveat),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fsopen", libc::SYS_fsopen),
    ("landlock_add_rule", libc::SYS_landlock_add_rule),
    ("landlock_create_ruleset", libc::SYS_landlock_create_ruleset),
    ("landlock_restrict_self", libc::SYS_landlock_restrict_self),
    ("memfd_create", libc::SYS_memfd_create),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("open_tree", libc::SYS_open_tree),
    ("openat2", libc::SYS_openat2),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("pivot_root", libc::SYS_pivot_root),
    ("prlimit64", libc::SYS_prlimit64),
    ("setns", libc::SYS_setns),
    ("socket", libc::SYS_socket),
    ("umount2", libc::SYS_umount2),
    ("unshare", libc::SYS_unshare),
];

const FLAGS: &[(&str, i32)] = &[
    ("clone-newcgroup", libc::CLONE_NEWCGROUP),
    ("clone-newipc", libc::CLONE_NEWIPC),
    ("clone-newnet", libc::CLONE_NEWNET),
    ("clone-newns", libc::CLONE_NEWNS),
    ("clone-newpid", libc::CLONE_NEWPID),
    ("clone-newuser", libc::CLONE_NEWUSER),
    ("clone-newuts", libc::CLONE_NEWUTS),
];

const ERRORS: &[(&str, i32)] = &[
    ("EACCES", libc::EACCES),
    ("EINVAL", libc::EINVAL),
    ("EMFILE", libc::EMFILE),
    ("ENOSPC", libc::ENOSPC),
    ("ENOSYS", libc::ENOSYS),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPERM", libc::EPERM),
    ("EUSERS", libc::EUSERS),
];

/// What `NAME[=ERROR]` means.
pub(crate) fn denials(text: &str) -> Result<Vec<Denial>, String> {
    let (name, error) = text.split_once('=').unwrap_or((text, "EPERM"));
    let known = ERRORS.iter().find(|(known, _)| *known == error).map(|(_, errno)| *errno);
    let errno = known
        .or_else(|| error.parse().ok())
        .ok_or_else(|| format!("no error is called {error}"))?;
    let always = |number| Denial { number, when: When::Always, errno };
    match name {
        "seccomp" => {
            // The older door to the same: prctl(PR_SET_SECCOMP).
            let option = When::Is(libc::PR_SET_SECCOMP.unsigned_abs());
            let older = Denial { number: libc::SYS_prctl, when: option, errno };
            Ok(vec![always(libc::SYS_seccomp), older])
        }
        "landlock" => {
            let all = CALLS.iter().filter(|(name, _)| name.starts_with("landlock"));
            Ok(all.map(|(_, number)| always(*number)).collect())
        }
        "namespaces" => Ok(FLAGS.iter().flat_map(|(_, flag)| of_flag(*flag, errno)).collect()),
        _ => {
            if let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == name) {
                return Ok(of_flag(*flag, errno));
            }
            let call = CALLS.iter().find(|(known, _)| *known == name);
            let (_, number) = call.ok_or_else(|| format!("no call is called {name}"))?;
            Ok(vec![always(*number)])
        }
    }
}

/// By each call that takes such flags. Those of `clone3` are in memory: it is denied altogether, with
/// the error at which libraries fall back to `clone`.
fn of_flag(flag: i32, errno: i32) -> Vec<Denial> {
    let when = When::Has(flag.unsigned_abs());
    vec![
        Denial { number: libc::SYS_clone, when, errno },
        Denial { number: libc::SYS_unshare, when, errno },
        Denial { number: libc::SYS_clone3, when: When::Always, errno: libc::ENOSYS },
    ]
}
