//! The time at which a fork is made.

use std::fs::File;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, Stat, fchmod, fstat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// A time of the system clock, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp(i64);

impl Timestamp {
    /// Later than everything.
    pub(crate) const END: Self = Self(i64::MAX);

    /// Now. Whatever was changed before has no later time.
    pub(crate) fn now() -> Self {
        Self(nanoseconds(ClockId::Realtime))
    }

    /// Whether a time of change is later.
    pub(crate) const fn is_before(self, changed: i64) -> bool {
        changed > self.0
    }

    /// Returns once whatever is changed has a later time: files may get theirs from a clock that is some milliseconds
    /// behind. `files` are two of ours on a file system, and `base` is what the times are wanted for.
    pub(crate) fn pass(self, files: [&File; 2], base: impl AsFd) {
        let is_one_file_system = fstat(base)
            .is_ok_and(|base| fstat(files[0]).is_ok_and(|file| file.st_dev == base.st_dev));
        if !(is_one_file_system && self.push(files).is_ok_and(|is_past| is_past)) {
            self.wait();
        }
    }

    /// Has the kernel hand out an exact time, and finds out whether times of other files are no earlier from then on.
    ///
    /// Since Linux 6.13 a file whose time of change was looked at gets an exact one at the next change, and no file of
    /// such a file system gets an earlier one after that.
    fn push(self, [looked_at, other]: [&File; 2]) -> Result<bool, Errno> {
        change(looked_at)?;
        fstat(looked_at)?;
        change(looked_at)?;
        // The first change forgets that somebody has looked at this one.
        change(other)?;
        change(other)?;
        let is_past = |file: &File| fstat(file).map(|stat| self.is_before(changed(&stat)));
        Ok(is_past(looked_at)? && is_past(other)?)
    }

    /// Waits until the clock of files has gone on.
    pub(crate) fn wait(self) {
        const PAUSE: Duration = Duration::from_micros(300);
        // A clock that was set back is not waited for.
        const MAX_PAUSES: usize = 1000;
        for _ in 0..MAX_PAUSES {
            if nanoseconds(ClockId::RealtimeCoarse) > self.0 {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Gives a file of ours a new time of change, and changes nothing.
fn change(file: &File) -> Result<(), Errno> {
    fchmod(file, Mode::RUSR | Mode::WUSR)
}

fn changed(stat: &Stat) -> i64 {
    nanoseconds_of(stat.st_ctime, stat.st_ctime_nsec.cast_signed())
}

fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    nanoseconds_of(now.tv_sec, now.tv_nsec)
}

const fn nanoseconds_of(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_after_a_moment_has_passed_has_a_later_time() {
        let place = tempfile::tempdir().expect("made");
        let base = tempfile::tempdir().expect("made");
        let file = |name: &str| File::create_new(place.path().join(name)).expect("made");
        let files = [file("a"), file("b")];
        let open = File::open(base.path()).expect("open");
        let written = base.path().join("written");
        for round in 0..200 {
            let timestamp = Timestamp::now();
            timestamp.pass([&files[0], &files[1]], &open);
            std::fs::write(&written, format!("{round}")).expect("written");
            // One that nobody has looked at, and one that somebody has.
            let new = File::create_new(base.path().join(format!("{round}"))).expect("made");
            for file in [&File::open(&written).expect("open"), &new] {
                let stat = fstat(file).expect("looked at");
                assert!(timestamp.is_before(changed(&stat)), "{round}");
            }
        }
    }
}
