//! System calls by the doors of other architectures, whose numbers a filter may not know.

#[cfg(target_arch = "x86_64")]
pub(crate) use gates::ATTACKS;

#[cfg(not(target_arch = "x86_64"))]
crate::outcome::attacks! {}

#[cfg(target_arch = "x86_64")]
mod gates {
    use std::arch::asm;
    use std::io;

    use crate::arguments::Arguments;
    use crate::descriptors::map;
    use crate::internet::{family, wire_address};
    use crate::outcome::{Done, Outcome, Refused, attacks, system_call};

    attacks! { i386_connect, i386_create, i386_socketcall, x32_create }

    const WRITE: u32 = 4;
    const OPEN: u32 = 5;
    const SOCKETCALL: u32 = 102;
    const SOCKET: u32 = 359;
    const CONNECT: u32 = 362;

    /// A copy of `bytes` where an address has 32 bits.
    fn low(bytes: &[u8]) -> Result<u32, Refused> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let place = map(
            4096,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT,
            -1,
            0,
        )?;
        // SAFETY: the copy stays within the new mapping.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(4096)) };
        Ok(place as usize as u32)
    }

    /// A system call through the gate of 32-bit programs.
    fn gate(call: &str, number: u32, arguments: [u32; 3]) -> Result<u32, Refused> {
        let [first, second, third] = arguments.map(u64::from);
        let mut result = u64::from(number);
        // SAFETY: the gate keeps all registers but the result; rbx is the compiler's and is restored.
        unsafe {
            asm!(
                "xchg rbx, {first}",
                "int 0x80",
                "xchg rbx, {first}",
                first = inout(reg) first => _,
                inout("rax") result,
                in("rcx") second,
                in("rdx") third,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        let result = result as u32 as i32;
        if result < 0 {
            return Err(Refused::new(call, io::Error::from_raw_os_error(-result)));
        }
        Ok(result as u32)
    }

    fn write(fd: u32, token: &str) -> Outcome {
        gate("write", WRITE, [fd, low(token.as_bytes())?, token.len() as u32]).done()
    }

    fn i386_connect(arguments: &Arguments) -> Outcome {
        let address = arguments.address(0)?;
        let to = wire_address(address);
        let fd = gate("socket", SOCKET, [family(address) as u32, libc::SOCK_STREAM as u32, 0])?;
        gate("connect", CONNECT, [fd, low(&to)?, to.len() as u32])?;
        write(fd, arguments.text(1)?)
    }

    /// The same by the one call that stands for all socket calls.
    fn i386_socketcall(arguments: &Arguments) -> Outcome {
        let address = arguments.address(0)?;
        let to = wire_address(address);
        let words = |words: [u32; 3]| low(&words.map(u32::to_ne_bytes).concat());
        let domain = family(address) as u32;
        let fd = gate("socket", SOCKETCALL, [1, words([domain, libc::SOCK_STREAM as u32, 0])?, 0])?;
        gate("connect", SOCKETCALL, [3, words([fd, low(&to)?, to.len() as u32])?, 0])?;
        write(fd, arguments.text(1)?)
    }

    fn i386_create(arguments: &Arguments) -> Outcome {
        let path = arguments.path(0)?;
        let flags = (libc::O_CREAT | libc::O_WRONLY) as u32;
        let fd = gate("open", OPEN, [low(path.as_bytes_with_nul())?, flags, 0o644])?;
        write(fd, arguments.text(1)?)
    }

    /// The x32 interface: numbers of the same gate with one bit more.
    fn x32_create(arguments: &Arguments) -> Outcome {
        const X32: libc::c_long = 0x4000_0000;
        let path = arguments.path(0)?;
        let token = arguments.text(1)?;
        let fd = system_call!(
            "open",
            libc::SYS_open | X32,
            &path,
            libc::O_CREAT | libc::O_WRONLY,
            0o644
        )?;
        system_call!("write", libc::SYS_write | X32, fd, token, token.len()).done()
    }
}
