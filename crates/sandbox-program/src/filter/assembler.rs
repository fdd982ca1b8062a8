//! Writes a filter from its end to its beginning. Branches only lead forward, so their targets
//! exist when they are written, and equal parts are written once.

use libc::sock_filter;

use super::{FilterTooLong, Program};

// `struct seccomp_data`.
pub(crate) const NUMBER: u32 = 0;
pub(crate) const ARCHITECTURE: u32 = 4;

/// Where the lower half of an argument is, on a little-endian machine. The kernel takes no more of
/// an argument that is an `int`.
pub(crate) const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}

pub(crate) const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

// Instructions of the classic packet filter.
const LOAD_WORD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// More exceptions than this are halved, fewer are tried one after the other: halving down to one
/// would need two instructions for each.
const CHAIN: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    Equal = 0x15,
    Above = 0x25,
    AtLeast = 0x35,
    AnyBit = 0x45,
}

/// A place in the program, counted from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(usize);

/// Numbers for which the search leads elsewhere. They do not overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exception {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) to: At,
}

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    backwards: Program,
    /// A branch leads further than it can.
    is_too_long: bool,
}

impl Assembler {
    pub(crate) fn allow(&mut self) -> At {
        self.answer(libc::SECCOMP_RET_ALLOW)
    }

    pub(crate) fn kill(&mut self) -> At {
        self.answer(libc::SECCOMP_RET_KILL_PROCESS)
    }

    /// The call is not made and fails with this error number, which is not negative.
    pub(crate) fn refuse(&mut self, errno: i32) -> At {
        self.answer(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
    }

    /// The call waits for a listener's answer.
    pub(crate) fn ask(&mut self) -> At {
        self.answer(libc::SECCOMP_RET_USER_NOTIF)
    }

    fn answer(&mut self, k: u32) -> At {
        let same = |it: &sock_filter| it.code == RETURN && it.k == k;
        match self.backwards.iter().position(same) {
            Some(index) => At(index),
            None => self.write(RETURN, 0, 0, k),
        }
    }

    /// Loads a word of `struct seccomp_data` and continues.
    pub(crate) fn load(&mut self, word: u32, next: At) -> At {
        self.lead_to(next);
        self.write(LOAD_WORD, 0, 0, word)
    }

    /// Clears all but some bits of the loaded word and continues.
    pub(crate) fn mask(&mut self, bits: u32, next: At) -> At {
        self.lead_to(next);
        self.write(AND, 0, 0, bits)
    }

    pub(crate) fn branch(&mut self, test: Test, value: u32, yes: At, no: At) -> At {
        let mut distance = |to| {
            u8::try_from(self.distance(to)).unwrap_or_else(|_| {
                self.is_too_long = true;
                0
            })
        };
        let (yes, no) = (distance(yes), distance(no));
        self.write(test as u16, yes, no, value)
    }

    pub(crate) fn any_of(&mut self, values: &[u32], yes: At, no: At) -> At {
        values.iter().rev().fold(no, |next, &value| self.branch(Test::Equal, value, yes, next))
    }

    /// Branches to the target of the exception that contains the loaded word, and elsewhere if none
    /// does. The word is known to be at least `floor`.
    pub(crate) fn search(&mut self, exceptions: &[Exception], floor: u32, elsewhere: At) -> At {
        if exceptions.len() > CHAIN {
            let (lower, upper) = exceptions.split_at(exceptions.len() / 2);
            let middle = upper[0].first;
            let upper = self.search(upper, middle, elsewhere);
            let lower = self.search(lower, floor, elsewhere);
            return self.branch(Test::AtLeast, middle, upper, lower);
        }
        let mut next = elsewhere;
        for (index, &Exception { first, last, to }) in exceptions.iter().enumerate().rev() {
            next = if first == last {
                self.branch(Test::Equal, first, to, next)
            } else {
                let from_first = if index == 0 && first == floor {
                    to
                } else {
                    self.branch(Test::AtLeast, first, to, elsewhere)
                };
                self.branch(Test::Above, last, next, from_first)
            };
        }
        next
    }

    pub(crate) fn finish(mut self) -> Result<Program, FilterTooLong> {
        self.backwards.reverse();
        if self.is_too_long { Err(FilterTooLong) } else { Ok(self.backwards) }
    }

    /// How many instructions are between the next one written and `to`.
    fn distance(&self, to: At) -> usize {
        self.backwards.len() - 1 - to.0
    }

    /// Makes the next instruction lead to `next`, for instructions that cannot branch.
    fn lead_to(&mut self, next: At) {
        if let Ok(distance @ 1..) = u32::try_from(self.distance(next)) {
            self.write(JUMP, 0, 0, distance);
        }
    }

    fn write(&mut self, code: u16, jt: u8, jf: u8, k: u32) -> At {
        self.backwards.push(sock_filter { code, jt, jf, k });
        At(self.backwards.len() - 1)
    }
}
