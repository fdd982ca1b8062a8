//! What the system reports of its processes.

#[cfg(target_os = "linux")]
use linux::{all, read};
#[cfg(target_os = "macos")]
use macos::{all, read};

/// A process as the system reports it at one moment. Unknown numbers are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInfo {
    /// The pid in the namespace of this process.
    pub pid: i32,
    /// When it began, in a unit of the system; later ones have greater numbers.
    pub start: u64,
    /// The pid of its parent.
    pub parent: i32,
    /// The process group.
    pub group: i32,
    /// The session.
    pub session: i32,
    /// It has ended, and stays only until its parent asks how.
    pub has_ended: bool,
    /// Numbers of this process that the system never reuses: of the process, and of its last `exec`.
    pub unique_ids: [u64; 2],
    /// The same numbers of the process that started it. A new parent does not change them.
    pub starter_ids: [u64; 2],
}

impl ProcessInfo {
    /// The process with this pid, if there is one that may be looked at.
    #[must_use]
    pub fn read(pid: i32) -> Option<Self> {
        read(pid)
    }

    /// All processes. Those of other users lack what the system reports to their owners alone.
    #[must_use]
    pub fn all() -> Vec<Self> {
        all()
    }

    /// Together unique until the machine is restarted.
    pub(crate) fn key(&self) -> (i32, u64) {
        (self.pid, self.start)
    }
}

#[cfg(target_os = "macos")]
mod macos {
    use std::ffi::c_int;
    use std::mem::{MaybeUninit, size_of, size_of_val};
    use std::ptr;

    use super::ProcessInfo;

    /// The flavor of [`Lineage`]. Like it, not in the public headers, but with a fixed layout.
    const PROC_PIDUNIQIDENTIFIERINFO: c_int = 17;

    /// `proc_uniqidentifierinfo`.
    #[repr(C)]
    struct Lineage {
        executable: [u8; 16],
        /// Never reused.
        unique: u64,
        /// Of the process that started it; since its last `exec`, if that came later, of its parent.
        parent_unique: u64,
        /// Changes at each `exec`.
        version: u32,
        /// Of the process that started it, at that moment. 0 where the system does not report it.
        parent_version: u32,
        reserved: [u64; 2],
    }

    const _: () = assert!(size_of::<Lineage>() == 56);

    pub(super) fn all() -> Vec<ProcessInfo> {
        // SAFETY: without a buffer the call only returns the number of processes.
        let count = unsafe { libc::proc_listallpids(ptr::null_mut(), 0) };
        // Some may begin between the two calls.
        let mut pids: Vec<libc::pid_t> = vec![0; usize::try_from(count).unwrap_or_default() + 64];
        let bytes = c_int::try_from(size_of_val(pids.as_slice())).unwrap_or_default();
        // SAFETY: `bytes` is the size of `pids` in bytes, so the call cannot write past it.
        let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
        pids.truncate(usize::try_from(count).unwrap_or_default());
        pids.into_iter().filter_map(read).collect()
    }

    pub(super) fn read(pid: i32) -> Option<ProcessInfo> {
        // SAFETY: `proc_bsdinfo` consists of integers.
        let info: libc::proc_bsdinfo = unsafe { query(pid, libc::PROC_PIDTBSDINFO) }?;
        // SAFETY: `Lineage` consists of integers.
        let lineage: Option<Lineage> = unsafe { query(pid, PROC_PIDUNIQIDENTIFIERINFO) };
        // SAFETY: the call takes and returns an integer: negative on failure, 0 for the kernel itself.
        let session = unsafe { libc::getsid(pid) }.max(0);
        let number = |number: u32| i32::try_from(number).unwrap_or_default();
        Some(ProcessInfo {
            pid,
            start: info.pbi_start_tvsec.wrapping_mul(1_000_000).wrapping_add(info.pbi_start_tvusec),
            parent: number(info.pbi_ppid),
            group: number(info.pbi_pgid),
            session,
            has_ended: info.pbi_status == libc::SZOMB,
            unique_ids: lineage.as_ref().map_or([0; 2], |ids| [ids.unique, ids.version.into()]),
            starter_ids: lineage
                .as_ref()
                .map_or([0; 2], |ids| [ids.parent_unique, ids.parent_version.into()]),
        })
    }

    /// # Safety
    ///
    /// All zeros, and whatever the system writes for this flavor, must be a value of `T`.
    unsafe fn query<T>(pid: i32, flavor: c_int) -> Option<T> {
        let mut value = MaybeUninit::<T>::zeroed();
        let bytes = c_int::try_from(size_of::<T>()).ok()?;
        // Include a process that has ended and is not reaped.
        let include_zombies = 1;
        // SAFETY: `bytes` is the size of `value`, so the call cannot write past it.
        let written = unsafe {
            libc::proc_pidinfo(pid, flavor, include_zombies, value.as_mut_ptr().cast(), bytes)
        };
        // SAFETY: the system has written all of `value`, and the caller vouches for its type.
        (written == bytes).then(|| unsafe { value.assume_init() })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use super::ProcessInfo;

    pub(super) fn all() -> Vec<ProcessInfo> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    pub(super) fn read(pid: i32) -> Option<ProcessInfo> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// The line of `/proc/PID/stat`, see proc(5). The name of the program in field 2 may hold spaces and
    /// parentheses, so fields are counted from the last `)`: field 3 is the first.
    pub(super) fn parse(pid: i32, stat: &str) -> Option<ProcessInfo> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |at: usize| field(at)?.parse().ok();
        let is_dead = matches!(field(3), Some("Z" | "X"));
        let is_last_thread = field(20).is_none_or(|threads| matches!(threads, "0" | "1"));
        Some(ProcessInfo {
            pid,
            start: field(22)?.parse().ok()?,
            parent: number(4)?,
            group: number(5)?,
            session: number(6)?,
            has_ended: is_dead && is_last_thread,
            unique_ids: [0; 2],
            starter_ids: [0; 2],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn pid_of(child: &std::process::Child) -> i32 {
        child.id().cast_signed()
    }

    /// Waits until the process has ended; it is not reaped.
    fn wait_for_end(pid: i32) -> ProcessInfo {
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let info = ProcessInfo::read(pid).expect("not reaped");
            if info.has_ended || Instant::now() > until {
                return info;
            }
        }
    }

    #[test]
    fn this_process_and_its_children_are_reported() {
        let own = std::process::id().cast_signed();
        let all = ProcessInfo::all();
        let this = all.iter().find(|one| one.pid == own).expect("it is listed");
        assert!(!this.has_ended && this.start > 0);
        assert!(
            all.iter().any(|one| one.pid == 1 && one.start <= this.start)
                || cfg!(target_os = "macos")
        );
        // macOS reports numbers that are never reused.
        assert_eq!(this.unique_ids.iter().all(|id| *id != 0), cfg!(target_os = "macos"));
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let started = ProcessInfo::read(pid_of(&child)).expect("it is there");
        assert_eq!((started.parent, started.has_ended), (own, false));
        // Both are 0 where they began outside of the pid namespace of the tests.
        assert_eq!((started.group, started.session), (this.group, this.session));
        assert_eq!(started.starter_ids[0], this.unique_ids[0]);
        assert!(started.start >= this.start);
        child.kill().expect("killed");
        assert!(wait_for_end(pid_of(&child)).has_ended);
        child.wait().expect("reaped");
        assert_eq!(ProcessInfo::read(pid_of(&child)), None);
    }

    #[test]
    fn groups_and_sessions_are_reported() {
        let new_session = if cfg!(target_os = "macos") {
            "perl -MPOSIX=setsid -e \"setsid; exec @ARGV\""
        } else {
            "setsid"
        };
        let mut leader = Command::new("sh")
            .args(["-c", &format!("exec {new_session} sh -c 'sleep 60 & echo $!; wait'")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut line = String::new();
        let output = leader.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let child: i32 = line.trim().parse().expect("a number");
        let own = pid_of(&leader);
        for (pid, parent) in [(own, std::process::id().cast_signed()), (child, own)] {
            let info = ProcessInfo::read(pid).expect("it is there");
            assert_eq!((info.parent, info.group, info.session), (parent, own, own));
        }
        leader.kill().expect("killed");
        let child = rustix::process::Pid::from_raw(child).expect("a pid");
        rustix::process::kill_process(child, rustix::process::Signal::KILL).expect("killed");
        leader.wait().expect("reaped");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_look_like_the_fields_after_it() {
        let stat = |name: &str, state: &str, threads: u32| {
            format!("7 ({name}) {state} 4 5 6 0 0 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 99 0")
        };
        let read = linux::parse(7, &stat("a) Z 1 (b", "S", 1)).expect("a line");
        assert_eq!((read.parent, read.group, read.session, read.start), (4, 5, 6, 99));
        assert!(!read.has_ended);
        assert!(linux::parse(7, &stat("a", "Z", 1)).expect("a line").has_ended);
        assert!(!linux::parse(7, &stat("a", "Z", 2)).expect("a line").has_ended, "threads run on");
        assert_eq!(linux::parse(7, "7 (a) S 1"), None);
    }
}
