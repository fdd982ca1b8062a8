//! `attack victim DIRECTORY NAME [ipc|apart]`: a process of the host that is to be left alone.
//!
//! It has a secret (`VICTIM_SECRET` in its environment) in its memory and in a descriptor, and prints
//! where, as JSON. To each line that comes it answers with the state it is in. It ends with its input.

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::os::fd::AsRawFd;

use crate::arguments::Arguments;
use crate::escape::USER_AND_MOUNT;
use crate::ipc::{self, Message, REMOVE, SET_VALUE};
use crate::keyring;
use crate::launch::secret_file;
use crate::outcome::{Named, Outcome, Refused, attacks, say, system_call};
use crate::terminal_pair::Pair;

attacks! { victim }

fn victim(arguments: &Arguments) -> Outcome {
    let (directory, name) = (arguments.text(0)?, arguments.text(1)?);
    let mode = arguments.text(2)?;
    let secret = std::env::var("VICTIM_SECRET").unwrap_or_default();
    std::env::set_current_dir(directory).named("chdir")?;
    // A security module may let only parents trace; these tests are about the layers below it.
    let _ = system_call!(SYS_prctl, libc::PR_SET_PTRACER, -1, 0, 0, 0);
    if mode == "apart" {
        system_call!(SYS_unshare, USER_AND_MOUNT)?;
    }
    let memory = secret.clone().into_bytes().into_boxed_slice();
    let secret_file = secret_file(&secret).named("memfd_create")?;
    let written = File::create(format!("{directory}/held")).named("open")?;
    let pair = Pair::open()?;
    let objects = if mode == "ipc" { Some(Objects::make(name, &secret)?) } else { None };
    say(&format!(
        r#"{{"pid":{},"address":{},"length":{},"held":{},"written":{},"terminal":"{}"{}}}"#,
        std::process::id(),
        memory.as_ptr() as usize,
        memory.len(),
        secret_file.as_raw_fd(),
        written.as_raw_fd(),
        pair.name,
        objects.as_ref().map(Objects::numbers).unwrap_or_default(),
    ));
    for _ in io::stdin().lock().lines() {
        // SAFETY: reads within the box, as often as it is asked: others may have written to it.
        let now = memory.iter().map(|byte| unsafe { std::ptr::read_volatile(byte) });
        let now = now.collect::<Vec<u8>>();
        let (typed, echoed) = pair.read();
        say(&format!(
            r#"{{"memory":"{}","typed":"{typed}","echoed":"{echoed}","files":{},"processors":{},"ioClass":{}{}}}"#,
            String::from_utf8_lossy(&now),
            limit_of_files(),
            processors(),
            io_class(),
            objects.as_ref().map(Objects::state).unwrap_or_default(),
        ));
    }
    if let Some(objects) = objects {
        objects.remove(name);
    }
    Ok(String::new())
}

fn limit_of_files() -> u64 {
    let mut limits = [0_u64; 2];
    let _ = system_call!(SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, limits.as_mut_ptr());
    limits[0]
}

fn processors() -> u32 {
    let mut mask = [0_u64; 16];
    let _ = system_call!(SYS_sched_getaffinity, 0, 128, mask.as_mut_ptr());
    mask.iter().map(|word| word.count_ones()).sum()
}

fn io_class() -> usize {
    system_call!(SYS_ioprio_get, 1, 0).map_or(0, |value| value >> 13)
}

/// Shared memory, a semaphore, two message queues and a key.
struct Objects {
    memory: usize,
    place: *const u8,
    semaphore: usize,
    messages: usize,
    queue: usize,
    key: Option<usize>,
}

impl Objects {
    fn make(name: &str, secret: &str) -> Result<Self, Refused> {
        let mode = libc::IPC_CREAT | 0o600;
        let memory = system_call!(SYS_shmget, libc::IPC_PRIVATE, 4096, mode)?;
        let place = ipc::attach(memory as i32)?;
        // SAFETY: a segment has a page, and a secret is much shorter.
        unsafe { place.copy_from_nonoverlapping(secret.as_ptr(), secret.len().min(64)) };
        let semaphore = system_call!(SYS_semget, libc::IPC_PRIVATE, 1, mode)?;
        system_call!(SYS_semctl, semaphore, 0, SET_VALUE, 7)?;
        let messages = system_call!(SYS_msgget, libc::IPC_PRIVATE, mode)?;
        let message = Message::new(secret);
        system_call!(SYS_msgsnd, messages, &raw const message, 64, 0)?;
        let queue = Self::open_queue(name, secret)?;
        let key = keyring::add(name, secret).ok();
        Ok(Self { memory, place, semaphore, messages, queue, key })
    }

    fn open_queue(name: &str, secret: &str) -> Result<usize, Refused> {
        // `struct mq_attr`: flags, messages at most, bytes each, messages now.
        let attributes: [libc::c_long; 8] = [0, 4, 128, 0, 0, 0, 0, 0];
        let name = crate::arguments::c_string(name)?;
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_NONBLOCK;
        let fd = system_call!(SYS_mq_open, &name, flags, 0o600, &attributes)?;
        system_call!(SYS_mq_timedsend, fd, secret, secret.len(), 1, 0)?;
        Ok(fd)
    }

    fn numbers(&self) -> String {
        let Self { memory, semaphore, messages, .. } = self;
        let key = self.key.is_some();
        format!(r#","shm":{memory},"sem":{semaphore},"msg":{messages},"key":{key}"#)
    }

    fn state(&self) -> String {
        const GET_STATE: i32 = 2;
        const GET_VALUE: i32 = 12;
        let value = system_call!(SYS_semctl, self.semaphore, 0, GET_VALUE, 0);
        let queued = fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default();
        let queue_id = self.messages.to_string();
        let number = |line: &str, at| line.split_whitespace().nth(at).unwrap_or("").to_owned();
        let line = queued.lines().find(|line| number(line, 1) == queue_id);
        let mut attributes = [0 as libc::c_long; 8];
        let place = attributes.as_mut_ptr();
        let _ = system_call!(SYS_mq_getsetattr, self.queue, 0, place);
        let mut memory = [0_u32; 64];
        let place = memory.as_mut_ptr();
        let known = system_call!(SYS_shmctl, self.memory, GET_STATE, place);
        // Its mode marks it for removal once no process has it mapped.
        let gone = known.is_err() || memory[5] & 0o1000 != 0;
        format!(
            r#","shared":"{}","semaphore":{},"messages":{},"queued":{},"removed":{gone}"#,
            ipc::text_at(self.place),
            value.unwrap_or(0),
            line.map_or(0, |line| number(line, 4).parse::<u32>().unwrap_or(0)),
            attributes[3],
        )
    }

    fn remove(self, name: &str) {
        let _ = system_call!(SYS_shmctl, self.memory, REMOVE, 0);
        let _ = system_call!(SYS_semctl, self.semaphore, 0, REMOVE, 0);
        let _ = system_call!(SYS_msgctl, self.messages, REMOVE, 0);
        if let Ok(name) = crate::arguments::c_string(name) {
            let _ = system_call!(SYS_mq_unlink, &name);
        }
        if let Some(key) = self.key {
            keyring::remove(key);
        }
    }
}
