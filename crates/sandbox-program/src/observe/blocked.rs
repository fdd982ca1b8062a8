//! The system call in which a thread is, by `/proc/PID/task/TID/syscall`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What a thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocked {
    /// It has a processor, or waits for one.
    Runs,
    /// It waits for something that is no input, or that a short time limit ends.
    Elsewhere,
    /// It waits until a descriptor is readable.
    On(Condition),
}

/// Where the descriptors are for which a thread waits, and where the limit of that wait is, if it is in
/// memory too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Read(i32),
    /// In an array of `struct pollfd`.
    Poll {
        at: u64,
        count: u64,
        limit: u64,
    },
    /// In a set of bits.
    Select {
        at: u64,
        count: u64,
        limit: u64,
    },
    /// In the set of this descriptor.
    Epoll {
        descriptor: i32,
        limit: u64,
    },
}

/// More descriptors are not looked at. A program that waits for so many is a server.
const MAX_COUNT: u64 = 1024;
/// A program that asks may have timers, such as for idle connections. One that looks at its input while it
/// does something else comes back sooner.
const LONG_MS: i32 = 1_000;
const LONG_S: i64 = 1;

fn is_long(limit_ms: i32) -> bool {
    !(0..LONG_MS).contains(&limit_ms)
}

pub(super) fn blocked(line: &str) -> Blocked {
    let mut words = line.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
        return Blocked::Runs; // "running"
    };
    let mut args = [0; 6];
    for arg in &mut args {
        let word = words.next().and_then(|word| word.strip_prefix("0x"));
        *arg = word.and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
    }
    condition(number, args).map_or(Blocked::Elsewhere, Blocked::On)
}

fn condition(number: i64, args: [u64; 6]) -> Option<Condition> {
    // An `int` is in the lower half of its register, and the upper half means nothing.
    #[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
    let int = |index: usize| (args[index] as u32).cast_signed();
    let poll = |limit| Condition::Poll { at: args[0], count: args[1], limit };
    let select = || Condition::Select { at: args[1], count: args[0], limit: args[4] };
    let epoll = |limit| Condition::Epoll { descriptor: int(0), limit };
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_poll if is_long(int(2)) => return Some(poll(0)),
        libc::SYS_select => return Some(select()),
        libc::SYS_epoll_wait if is_long(int(3)) => return Some(epoll(0)),
        _ => {}
    }
    match number {
        libc::SYS_read | libc::SYS_readv => Some(Condition::Read(int(0))),
        libc::SYS_ppoll => Some(poll(args[2])),
        libc::SYS_pselect6 => Some(select()),
        libc::SYS_epoll_pwait if is_long(int(3)) => Some(epoll(0)),
        libc::SYS_epoll_pwait2 => Some(epoll(args[3])),
        _ => None,
    }
}

impl Condition {
    /// Whether the wait has no time limit, or a long one.
    pub(super) fn is_long(&self, memory: impl FnOnce() -> io::Result<File>) -> io::Result<bool> {
        let (Self::Poll { limit, .. } | Self::Select { limit, .. } | Self::Epoll { limit, .. }) =
            self
        else {
            return Ok(true);
        };
        if *limit == 0 {
            return Ok(true);
        }
        let seconds =
            part(&memory()?, *limit, 8)?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(i64::from_ne_bytes(seconds) >= LONG_S)
    }

    /// The descriptors that are in the memory of the process.
    pub(super) fn read_descriptors(&self, memory: &File) -> io::Result<Vec<i32>> {
        const POLL_SIZE: u64 = 8;
        match *self {
            Self::Poll { at, count, .. } => {
                let array = part(memory, at, count.min(MAX_COUNT) * POLL_SIZE)?;
                let entries = array.chunks_exact(8).filter_map(|entry| {
                    let descriptor = i32::from_ne_bytes(entry[..4].try_into().ok()?);
                    let events = i16::from_ne_bytes(entry[4..6].try_into().ok()?);
                    (events & libc::POLLIN != 0).then_some(descriptor)
                });
                Ok(entries.collect())
            }
            Self::Select { at, count, .. } if at != 0 => {
                let count = count.min(MAX_COUNT);
                let set = part(memory, at, count.div_ceil(8))?;
                let is_set = |index: &u64| {
                    let byte = usize::try_from(index / 8).ok().and_then(|at| set.get(at));
                    byte.is_some_and(|byte| byte >> (index % 8) & 1 == 1)
                };
                Ok((0..count)
                    .filter(is_set)
                    .filter_map(|index| i32::try_from(index).ok())
                    .collect())
            }
            Self::Read(_) | Self::Epoll { .. } | Self::Select { .. } => Ok(Vec::new()),
        }
    }
}

/// The descriptors in the set of another one: of lines such as `tfd:        0 events:       19 data: …`.
pub(super) fn epoll_descriptors(information: &str) -> Vec<i32> {
    let entry = |line: &str| -> Option<i32> {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let events = words.nth(1).and_then(|events| u32::from_str_radix(events, 16).ok())?;
        (events & libc::EPOLLIN.unsigned_abs() != 0).then_some(descriptor)
    };
    information.lines().filter_map(entry).collect()
}

fn part(memory: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    memory.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let read = format!("{} 0x0 0x7ffd 0x400 0x0 0x0 0x0 0x7ffd 0x7f", libc::SYS_read);
        assert_eq!(blocked(&read), Blocked::On(Condition::Read(0)));
        assert_eq!(blocked("running\n"), Blocked::Runs);
        assert_eq!(blocked("-1 0x7ffd 0x7f\n"), Blocked::Elsewhere);
        let wait = |limit: &str| {
            format!("{} 0xd 0x7ffd 0x400 {limit} 0x0 0x8 0x7ffd 0x7f", libc::SYS_epoll_pwait)
        };
        let epoll = Blocked::On(Condition::Epoll { descriptor: 13, limit: 0 });
        for long in ["0xffffffff", "0xffffffffffffffff", "0x3e8"] {
            assert_eq!(blocked(&wait(long)), epoll, "{long}");
        }
        assert_eq!(blocked(&wait("0x64")), Blocked::Elsewhere);
    }

    #[test]
    fn the_set_of_an_epoll_descriptor_is_read() {
        let information = "pos:\t0\nflags:\t02000002\n\
            tfd:        8 events:       19 data:                8  pos:0 ino:41 sdev:e\n\
            tfd:       12 events:     2004 data:                c  pos:0 ino:42 sdev:e\n";
        assert_eq!(epoll_descriptors(information), [8]);
    }
}
