//! A machine that runs a filter as the kernel does.

use libc::sock_filter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Allow,
    Kill,
    Ask,
    Errno(i32),
}
use Answer::{Allow, Ask, Errno, Kill};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) arch: u32,
    pub(crate) number: u32,
    pub(crate) args: [u64; 6],
}

/// Runs a program as the kernel does; returns its answer and how many instructions it took.
pub(crate) fn run(program: &[sock_filter], request: &Request) -> (Answer, usize) {
    let word = |at: u32| match at {
        0 => request.number,
        4 => request.arch,
        at => {
            assert!((16..64).contains(&at) && at % 4 == 0, "no such word: {at}");
            let arg = request.args[(at as usize - 16) / 8];
            if at % 8 == 0 { int(arg).cast_unsigned() } else { int(arg >> 32).cast_unsigned() }
        }
    };
    let (mut at, mut loaded, mut steps) = (0, 0_u32, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        steps += 1;
        at += 1;
        let branch = |yes: bool| usize::from(if yes { jt } else { jf });
        match code {
            0x20 => loaded = word(k),
            0x54 => loaded &= k,
            0x05 => at += k as usize,
            0x15 => at += branch(loaded == k),
            0x25 => at += branch(loaded > k),
            0x35 => at += branch(loaded >= k),
            0x45 => at += branch(loaded & k != 0),
            0x06 => {
                let answer = match k {
                    0x7FFF_0000 => Allow,
                    0x8000_0000 => Kill,
                    0x7FC0_0000 => Ask,
                    errno => {
                        assert_eq!(errno >> 16, 5, "no such answer: {errno:#x}");
                        Errno(i32::try_from(errno & 0xFFFF).unwrap())
                    }
                };
                return (answer, steps);
            }
            code => panic!("no such instruction: {code:#x}"),
        }
    }
}

/// As the kernel takes an `int`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel truncates")]
pub(crate) fn int(arg: u64) -> i32 {
    arg as i32
}
