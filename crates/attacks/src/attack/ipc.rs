//! Shared memory, semaphores and message queues of the host.

use crate::arguments::Arguments;
use crate::descriptors::{filled, text};
use crate::outcome::{Done, Outcome, attacks, check, system_call};

attacks! {
    shm_read, shm_write, shm_remove, message_receive, message_send, semaphore_set, queue_receive,
    queue_send, queue_unlink,
}

/// `IPC_RMID`.
pub(crate) const REMOVE: i32 = 0;
/// `SETVAL`.
pub(crate) const SET_VALUE: i32 = 16;

/// Where a segment of at least a page is mapped.
pub(crate) fn attach(id: i32) -> Result<*mut u8, crate::outcome::Refused> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let place = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    check("shmat", if place as isize == -1 { -1 } else { 0 })?;
    Ok(place.cast())
}

/// The words in a segment up to the first zero.
pub(crate) fn text_at(place: *const u8) -> String {
    // SAFETY: the segment is mapped, and is at least a page long.
    let bytes = unsafe { std::slice::from_raw_parts(place, 64) };
    text(bytes).trim_end_matches('\0').to_owned()
}

fn shm_read(arguments: &Arguments) -> Outcome {
    Ok(text_at(attach(arguments.number(0)?)?))
}

fn shm_write(arguments: &Arguments) -> Outcome {
    let token = arguments.text(1)?;
    let place = attach(arguments.number(0)?)?;
    // SAFETY: a segment has a page at least, and a token is much shorter.
    unsafe { place.copy_from_nonoverlapping(token.as_ptr(), token.len().min(64)) };
    Ok(String::new())
}

fn shm_remove(arguments: &Arguments) -> Outcome {
    system_call!(SYS_shmctl, arguments.number::<i32>(0)?, REMOVE, 0).done()
}

/// A message: its type and its text.
#[repr(C)]
pub(crate) struct Message {
    pub(crate) kind: libc::c_long,
    pub(crate) text: [u8; 64],
}

impl Message {
    pub(crate) fn new(token: &str) -> Self {
        let mut text = [0; 64];
        for (place, byte) in text.iter_mut().zip(token.bytes()) {
            *place = byte;
        }
        Self { kind: 1, text }
    }
}

fn message_receive(arguments: &Arguments) -> Outcome {
    let mut message = Message::new("");
    let (id, place) = (arguments.number::<i32>(0)?, &raw mut message);
    let got = system_call!(SYS_msgrcv, id, place, 64, 0, libc::IPC_NOWAIT)?;
    Ok(text(&message.text[..got]))
}

fn message_send(arguments: &Arguments) -> Outcome {
    let message = Message::new(arguments.text(1)?);
    let (id, place) = (arguments.number::<i32>(0)?, &raw const message);
    system_call!(SYS_msgsnd, id, place, 64, libc::IPC_NOWAIT).done()
}

fn semaphore_set(arguments: &Arguments) -> Outcome {
    system_call!(SYS_semctl, arguments.number::<i32>(0)?, 0, SET_VALUE, 99).done()
}

fn queue_receive(arguments: &Arguments) -> Outcome {
    let name = arguments.path(0)?;
    let fd = system_call!(SYS_mq_open, &name, libc::O_RDONLY | libc::O_NONBLOCK, 0, 0)?;
    filled(|place, length| system_call!(SYS_mq_timedreceive, fd, place, length, 0, 0))
}

fn queue_send(arguments: &Arguments) -> Outcome {
    let name = arguments.path(0)?;
    let token = arguments.text(1)?;
    let fd = system_call!(SYS_mq_open, &name, libc::O_WRONLY | libc::O_NONBLOCK, 0, 0)?;
    system_call!(SYS_mq_timedsend, fd, token, token.len(), 1, 0).done()
}

fn queue_unlink(arguments: &Arguments) -> Outcome {
    let name = arguments.path(0)?;
    system_call!(SYS_mq_unlink, &name).done()
}
