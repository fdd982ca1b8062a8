//! What the system tells of its processes.

#[cfg(target_os = "linux")]
pub(super) use linux::{all, read};
#[cfg(target_os = "macos")]
pub(super) use macos::{all, read};

#[cfg(target_os = "macos")]
mod macos {
    use std::ffi::c_int;
    use std::mem::{MaybeUninit, size_of, size_of_val};
    use std::ptr;

    use super::super::Process;

    /// The flavor of [`Lineage`]. Like it, not among the public headers, but with a fixed layout.
    const PROC_PIDUNIQIDENTIFIERINFO: c_int = 17;

    /// `proc_uniqidentifierinfo`.
    #[repr(C)]
    struct Lineage {
        executable: [u8; 16],
        /// Never used again.
        unique: u64,
        /// Of the process that started it; since its last `exec`, if that came later, of its parent.
        parent_unique: u64,
        /// Another one after each `exec`.
        version: u32,
        /// Of the process that started it, at that moment. 0 where the system does not tell.
        parent_version: u32,
        reserved: [u64; 2],
    }

    const _: () = assert!(size_of::<Lineage>() == 56);

    /// All processes, those of others without what is told to nobody else.
    pub(in super::super) fn all() -> Vec<Process> {
        // SAFETY: without a buffer it only tells how many there are.
        let count = unsafe { libc::proc_listallpids(ptr::null_mut(), 0) };
        // Some may begin meanwhile.
        let mut pids: Vec<libc::pid_t> = vec![0; usize::try_from(count).unwrap_or_default() + 64];
        let bytes = c_int::try_from(size_of_val(pids.as_slice())).unwrap_or_default();
        // SAFETY: it writes at most so many bytes, and so many there are.
        let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
        pids.truncate(usize::try_from(count).unwrap_or_default());
        pids.into_iter().filter_map(read).collect()
    }

    pub(in super::super) fn read(pid: i32) -> Option<Process> {
        // SAFETY: a structure of numbers.
        let info: libc::proc_bsdinfo = unsafe { tell(pid, libc::PROC_PIDTBSDINFO) }?;
        // SAFETY: likewise.
        let lineage: Option<Lineage> = unsafe { tell(pid, PROC_PIDUNIQIDENTIFIERINFO) };
        // SAFETY: it only tells a number: below 0 if it is not told, 0 for the kernel's own.
        let session = unsafe { libc::getsid(pid) }.max(0);
        let number = |number: u32| i32::try_from(number).unwrap_or_default();
        Some(Process {
            pid,
            start: info.pbi_start_tvsec.wrapping_mul(1_000_000).wrapping_add(info.pbi_start_tvusec),
            parent: number(info.pbi_ppid),
            group: number(info.pbi_pgid),
            session,
            ended: info.pbi_status == libc::SZOMB,
            marks: lineage.as_ref().map_or([0; 2], |told| [told.unique, told.version.into()]),
            origin: lineage
                .as_ref()
                .map_or([0; 2], |told| [told.parent_unique, told.parent_version.into()]),
        })
    }

    /// # Safety
    ///
    /// All zeros, and whatever else the system writes there, must be a value of the type.
    unsafe fn tell<T>(pid: i32, flavor: c_int) -> Option<T> {
        let mut told = MaybeUninit::<T>::zeroed();
        let bytes = c_int::try_from(size_of::<T>()).ok()?;
        // One that has ended counts too, as long as nobody has asked for its end.
        let ended_too = 1;
        // SAFETY: it writes at most so many bytes, and so many there are.
        let written =
            unsafe { libc::proc_pidinfo(pid, flavor, ended_too, told.as_mut_ptr().cast(), bytes) };
        // SAFETY: the caller says so.
        (written == bytes).then(|| unsafe { told.assume_init() })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use super::super::Process;

    pub(in super::super) fn all() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    pub(in super::super) fn read(pid: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name of a program may hold spaces and parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Process {
            pid,
            start: fields.get(19)?.parse().ok()?,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            ended: matches!(fields.first(), Some(&("Z" | "X"))),
            marks: [0; 2],
            origin: [0; 2],
        })
    }
}
