//! What the file system says of an entry.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

use crate::state::{State, What};

/// The clocks of file systems are coarse: two writes within this time may leave the same times.
pub(crate) const CLOCK_TICK: i64 = 20_000_000;
/// The same where times are whole seconds.
const COARSE_CLOCK_TICK: i64 = 2_000_000_000;
const SECOND: i128 = 1_000_000_000;

/// What the file system says of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
    pub(crate) size: u64,
    /// In nanoseconds.
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
    pub(crate) inode: i64,
}

impl Look {
    pub(crate) fn of(stat: &Stat) -> Self {
        let time = |seconds: i128, nanoseconds: i128| {
            i64::try_from(seconds * SECOND + nanoseconds).unwrap_or(i64::MAX)
        };
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: u32::try_from(i128::from(stat.st_mode) & 0o7777).unwrap_or(0),
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: u64::try_from(i128::from(stat.st_nlink)).unwrap_or(1),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: time(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            ctime: time(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
            inode: stat.st_ino.cast_signed(),
        }
    }

    pub(crate) fn state(&self, what: What) -> State {
        let mode = if matches!(what, What::Link(_)) { 0 } else { self.mode };
        State { what, mode, uid: self.uid, gid: self.gid, mtime: self.mtime }
    }

    /// The time of change to remember, if what was read at `now` can be recognised by it: another
    /// write within the same tick of the clock would leave the same time.
    pub(crate) fn ctime_if_settled(&self, now: i64) -> i64 {
        let tick = if self.ctime % 1_000_000_000 == 0 { COARSE_CLOCK_TICK } else { CLOCK_TICK };
        if self.ctime.saturating_add(tick) < now { self.ctime } else { UNSETTLED }
    }
}

/// The time of change of an entry that has to be read again.
pub(crate) const UNSETTLED: i64 = i64::MIN;

/// Now, in nanoseconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The time that a file made now would get, in nanoseconds.
#[cfg(target_os = "linux")]
pub(crate) fn file_time() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// The same, where the clock of files cannot be read.
#[cfg(not(target_os = "linux"))]
pub(crate) fn file_time() -> i64 {
    now() - CLOCK_TICK
}
