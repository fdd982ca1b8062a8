//! System calls that no command may make, by the programs that are for them.

use toolwright_fs::{HostRight, host_has, host_may_change_mode, other_groups};

use super::is_confined;
use crate::denials::{Ended, not_permitted};

const NOT_PERMITTED: [&str; 2] = ["operation not permitted", "eperm"];

/// What the filter and the namespaces refuse: the programs that do nothing else, and how they say it besides.
const REFUSED: [(&str, &[&str], &str); 7] = [
    (
        "strace ltrace gdb lldb rr",
        &[],
        "commands cannot trace processes of others; print what you need to know instead",
    ),
    ("perf bpftrace bpftool trace-cmd", &["no permission to enable"], MEASURE),
    ("unshare bwrap nsenter firejail runc crun podman buildah", &["permission denied"], NAMESPACES),
    (
        "mount umount losetup swapon fusermount fusermount3",
        &["permission denied", "must be superuser", "loop device"],
        MOUNT,
    ),
    ("chroot pivot_root", &[], ROOT),
    ("mknod", &["permission denied"], DEVICES),
    (
        "dmesg insmod modprobe rmmod iptables nft sysctl hwclock reboot setcap chattr swapoff",
        &["permission denied", "must be root"],
        SYSTEM,
    ),
];

pub(super) const MEASURE: &str =
    "commands cannot measure the system; measure in the program itself";
pub(super) const NAMESPACES: &str =
    "commands cannot make namespaces, they run in some already; run the program itself";
pub(super) const MOUNT: &str = "commands cannot mount; work with directories";
pub(super) const ROOT: &str =
    "commands cannot change their root directory; work with paths below the directory";
pub(super) const DEVICES: &str = "commands cannot make devices; use a pipe (mkfifo) or a file";
pub(super) const SYSTEM: &str = "commands have no rights over the system; do without it";
pub(super) const SET_ID: &str =
    "a file cannot become one that runs with the rights of its owner or group; leave that bit out";

/// What nothing else is said of.
const PHRASES: [(&str, &str); 5] = [
    ("leaksanitizer does not work under ptrace", TRACING),
    ("leaksanitizer has encountered a fatal error", TRACING),
    ("cannot create special file", DEVICES),
    ("cannot set date", SYSTEM),
    ("must be root to change the host name", SYSTEM),
];
/// How shells and languages say that a limit could not be raised.
const RAISED: [&str; 5] = [
    "cannot modify limit",
    "error setting limit (operation not permitted)",
    "not allowed to raise maximum limit",
    "resource limit: operation not permitted",
    "operation not permitted - setrlimit",
];
const TRACING: &str =
    "a program cannot trace itself, as LeakSanitizer does; set ASAN_OPTIONS=detect_leaks=0";

pub(super) fn note(ended: &Ended<'_>, calls: &[Vec<String>]) -> Option<String> {
    if !is_confined(ended) {
        return None;
    }
    let lower: Vec<String> = ended.ends().map(str::to_lowercase).collect();
    let says = |words: &[&str]| lower.iter().any(|text| words.iter().any(|one| text.contains(one)));
    if let Some((_, what)) = PHRASES.iter().find(|(words, _)| says(&[words])) {
        return Some(this_is(what));
    }
    if says(&RAISED) && host_has(HostRight::Limits) {
        return Some(this_is(
            "commands may lower their limits and not raise them; work within what `ulimit -Ha` shows",
        ));
    }
    if says(&["no new privileges", "effective uid is not 0"]) {
        return Some(this_is("sudo, su and other programs gain no rights; work as this user"));
    }
    if says(&["invalid argument"])
        && let Some(note) = groups(calls)
    {
        return Some(note);
    }
    let is_not_permitted = says(&NOT_PERMITTED);
    let by_program = calls.iter().find_map(|call| {
        let (name, arguments) = call.split_first()?;
        if is_not_permitted
            && matches!(&**name, "chmod" | "install" | "mkdir")
            && arguments.iter().any(|one| sets_id(one))
        {
            return Some(this_is(SET_ID));
        }
        if is_not_permitted && matches!(&**name, "chown" | "chgrp") {
            return Some(this_is(
                "commands act for one user; leave the owner as it is, or have the user change it",
            ));
        }
        let listed = |(programs, words, _): &&(&str, &[&str], &str)| {
            (is_not_permitted || says(words)) && programs.split(' ').any(|one| one == name)
        };
        REFUSED.iter().find(listed).map(|(_, _, what)| this_is(what))
    });
    by_program.or_else(|| changes_mode(ended).then(|| this_is(SET_ID)))
}

/// Whether the mode of a file could not be changed that is its owner's: the kernel refuses that for nothing but its bits.
fn changes_mode(ended: &Ended<'_>) -> bool {
    const MODES: [&str; 4] =
        ["chmod", "change mode", "preserving permissions", "changing permissions"];
    not_permitted(ended, &MODES).iter().any(|path| host_may_change_mode(path))
}

pub(super) fn this_is(what: &str) -> String {
    format!("This is the sandbox: {what}.")
}

/// `u+s`, `g=rws`, `4755`, `-m6755`
fn sets_id(argument: &str) -> bool {
    let mode = argument.trim_start_matches("--mode=").trim_start_matches("-m");
    let is_octal = mode.len() >= 4 && mode.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    if is_octal {
        let special = mode.as_bytes()[mode.len() - 4] - b'0';
        return special & 6 != 0;
    }
    let is_symbolic = mode.bytes().all(|byte| b"ugoarwxXst+-=,".contains(&byte));
    is_symbolic && mode.contains(['+', '=']) && mode.contains('s')
}

/// A group of the user that is none of a command.
fn groups(calls: &[Vec<String>]) -> Option<String> {
    let others = other_groups();
    #[expect(clippy::disallowed_methods, reason = "commands cannot write the system's table")]
    let table = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let number = |name: &str| -> Option<u32> {
        name.parse().ok().or_else(|| {
            let line = table.lines().find(|line| line.split(':').next() == Some(name))?;
            line.split(':').nth(2)?.parse().ok()
        })
    };
    let is_other = |name: &str| number(name).is_some_and(|group| others.contains(&group));
    let of_call = |call: &Vec<String>| {
        let (name, arguments) = call.split_first()?;
        let is_one = matches!(&**name, "chgrp" | "chown" | "install");
        let words = arguments.iter().map(|one| one.rsplit([':', '=']).next().unwrap_or(one));
        words.filter(|_| is_one).find(|word| is_other(word)).map(str::to_owned)
    };
    let group = calls.iter().find_map(of_call)?;
    Some(format!(
        "This is the sandbox: commands have the first group of the user alone, and `{group}` is another one. Leave the group as it is, and tell the user to change it."
    ))
}
