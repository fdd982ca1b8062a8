//! More than a fair share.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::descriptors::map;
use crate::internet::owned;
use crate::outcome::{Named, Outcome, Refused, attacks, check, system_call};

attacks! { processes, threads, memory, memory_of_many, burn, file_of_size, open_files }

/// A copy of this process that does `work` and ends; gives its number.
pub(crate) fn fork(work: impl FnOnce()) -> Result<i32, Refused> {
    // SAFETY: this program has one thread wherever it forks.
    let child = unsafe { libc::fork() };
    check("fork", child.into())?;
    if child == 0 {
        work();
        // SAFETY: `_exit` ends the child without running the handlers of the parent.
        unsafe { libc::_exit(0) };
    }
    Ok(child)
}

fn end_all(children: &[i32]) {
    for child in children {
        let _ = system_call!(SYS_kill, *child, libc::SIGKILL);
    }
    for child in children {
        let _ = system_call!(SYS_wait4, *child, 0, 0, 0);
    }
}

/// Starts this number of processes at once.
fn processes(arguments: &Arguments) -> Outcome {
    let count = arguments.number::<usize>(0)?;
    let mut children = Vec::new();
    let mut failure = None;
    while children.len() < count && failure.is_none() {
        match fork(|| thread::sleep(Duration::from_secs(20))) {
            Ok(child) => children.push(child),
            Err(refused) => failure = Some(refused),
        }
    }
    let made = children.len();
    end_all(&children);
    failure.map_or(Ok(format!("<{made} processes>")), Err)
}

fn threads(arguments: &Arguments) -> Outcome {
    let count = arguments.number::<usize>(0)?;
    for _ in 0..count {
        let sleeper = thread::Builder::new().stack_size(65_536);
        sleeper.spawn(|| thread::sleep(Duration::from_secs(20))).named("clone")?;
    }
    Ok(format!("<{count} threads>"))
}

/// Touches every page of this number of bytes.
fn touch(bytes: usize) -> Result<(), Refused> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let start = map(bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)?;
    for at in (0..bytes).step_by(4096) {
        // SAFETY: within the length of the new mapping.
        unsafe { start.add(at).write_volatile(1) };
    }
    Ok(())
}

fn memory(arguments: &Arguments) -> Outcome {
    touch(arguments.number(0)?)?;
    Ok("all of it".to_owned())
}

/// Uses this much memory in each of several processes, at the same time.
fn memory_of_many(arguments: &Arguments) -> Outcome {
    let (bytes, count) = (arguments.number::<usize>(0)?, arguments.number::<usize>(1)?);
    let mut ready = Vec::new();
    let mut children = Vec::new();
    for _ in 0..count {
        let mut ends = [0_i32; 2];
        system_call!(SYS_pipe2, ends.as_mut_ptr(), 0)?;
        let writer = owned(ends[1] as usize);
        ready.push(File::from(owned(ends[0] as usize)));
        children.push(fork(|| {
            if touch(bytes).is_ok() {
                let _ = File::from(writer).write_all(b"x");
                thread::sleep(Duration::from_secs(20));
            }
        })?);
    }
    let mut touched = 0;
    for pipe in &mut ready {
        touched += usize::from(matches!(std::io::Read::read(pipe, &mut [0]), Ok(1)));
    }
    end_all(&children);
    if touched < count {
        return Err(Refused::without_effect("write to memory"));
    }
    Ok("all of it".to_owned())
}

/// Uses a processor for this number of milliseconds.
fn burn(arguments: &Arguments) -> Outcome {
    let duration = Duration::from_millis(arguments.number(0)?);
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let limit = Instant::now() + Duration::from_secs(20);
    while Instant::now() < limit {
        for _ in 0..100_000 {
            std::hint::spin_loop();
        }
        let clock = libc::CLOCK_PROCESS_CPUTIME_ID;
        system_call!(SYS_clock_gettime, clock, &raw mut used)?;
        if Duration::new(used.tv_sec as u64, used.tv_nsec as u32) >= duration {
            return Ok("all of it".to_owned());
        }
    }
    Err(Refused::without_effect("burn"))
}

fn file_of_size(arguments: &Arguments) -> Outcome {
    let mut file = File::create(arguments.text(0)?).named("open")?;
    let block = vec![b'x'; 65_536];
    let mut left = arguments.number::<usize>(1)?;
    while left > 0 {
        let part = left.min(block.len());
        file.write_all(&block[..part]).named("write")?;
        left -= part;
    }
    Ok("all of it".to_owned())
}

fn open_files(arguments: &Arguments) -> Outcome {
    let count = arguments.number::<usize>(0)?;
    let files = (0..count).map(|_| File::open("/dev/null")).collect::<Result<Vec<_>, _>>();
    Ok(format!("<{} files>", files.named("open")?.len()))
}
