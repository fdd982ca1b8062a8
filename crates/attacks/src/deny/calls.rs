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

/// Names with the constants of the system that are called so.
macro_rules! named {
    ($($name:ident),+ $(,)?) => { &[$((stringify!($name), libc::$name)),+] };
}

const CALLS: &[(&str, libc::c_long)] = named! {
    SYS_capset, SYS_chroot, SYS_clone3, SYS_close_range, SYS_execveat, SYS_fsconfig, SYS_fsmount,
    SYS_fsopen, SYS_landlock_add_rule, SYS_landlock_create_ruleset, SYS_landlock_restrict_self,
    SYS_memfd_create, SYS_mount, SYS_mount_setattr, SYS_move_mount, SYS_open_tree, SYS_openat2,
    SYS_pidfd_getfd, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_pivot_root, SYS_prlimit64,
    SYS_setns, SYS_socket, SYS_umount2, SYS_unshare,
};

/// Called `clone-newcgroup` and so on.
const FLAGS: &[(&str, i32)] = named! {
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS,
};

const ERRORS: &[(&str, i32)] =
    named! { EACCES, EINVAL, EMFILE, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM, EUSERS };

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
            let all = CALLS.iter().filter(|(name, _)| name.starts_with("SYS_landlock"));
            Ok(all.map(|(_, number)| always(*number)).collect())
        }
        "namespaces" => Ok(FLAGS.iter().flat_map(|(_, flag)| of_flag(*flag, errno)).collect()),
        _ => {
            let flag = name.to_uppercase().replace('-', "_");
            if let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == flag) {
                return Ok(of_flag(*flag, errno));
            }
            let call = CALLS.iter().find(|(known, _)| known.strip_prefix("SYS_") == Some(name));
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
