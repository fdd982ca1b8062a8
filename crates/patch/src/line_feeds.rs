//! The positions of line feeds in a text.
//!
//! `memchr` starts anew behind each newline, which takes as long as the forty bytes of a usual
//! line. This code looks at 64 bytes at a time and finds all newlines in them together.

/// The positions of all line feeds, in rising order.
pub(crate) fn positions(bytes: &[u8]) -> Vec<usize> {
    // Source text has about forty bytes a line. A guess that is too low costs one more
    // reallocation.
    let mut positions = Vec::with_capacity(bytes.len() / 32 + 2);
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        let mut here = mask(block);
        while here != 0 {
            positions.push(number * BLOCK + here.trailing_zeros() as usize);
            here &= here - 1;
        }
    }
    let start = bytes.len() - rest.len();
    positions
        .extend(rest.iter().zip(start..).filter(|(byte, _)| **byte == b'\n').map(|(_, at)| at));
    positions
}

const BLOCK: usize = 64;

/// A bit for each line feed of a block. The lowest bit is for the first byte.
#[cfg(target_arch = "x86_64")]
fn mask(block: &[u8; BLOCK]) -> u64 {
    // SAFETY: every x86_64 processor has SSE2.
    unsafe { mask_with_sse2(block) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn mask_with_sse2(block: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let line_feed = _mm_set1_epi8(b'\n'.cast_signed());
    let (parts, _) = block.as_chunks::<16>();
    parts.iter().rev().fold(0, |bits, part| {
        let [low, high] =
            [0, 8].map(|at| part[at..].first_chunk().map_or(0, |half| i64::from_le_bytes(*half)));
        let equal = _mm_cmpeq_epi8(_mm_set_epi64x(high, low), line_feed);
        // The mask has sixteen bits, so it never sets the sign.
        bits << 16 | u64::from(_mm_movemask_epi8(equal).cast_unsigned())
    })
}

/// A bit for each line feed of a block. The lowest bit is for the first byte.
#[cfg(not(target_arch = "x86_64"))]
fn mask(block: &[u8; BLOCK]) -> u64 {
    block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(bytes: &[u8]) -> Vec<usize> {
        (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect()
    }

    #[test]
    fn every_place_of_two_blocks() {
        for length in 0..=2 * BLOCK {
            for at in 0..length {
                let mut bytes = vec![0x8a; length];
                bytes[at] = b'\n';
                assert_eq!(positions(&bytes), [at]);
            }
        }
        assert_eq!(positions(&[b'\n'; 3 * BLOCK]), (0..3 * BLOCK).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn as_one_by_one(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..500)) {
            prop_assert_eq!(positions(&bytes), one_by_one(&bytes));
        }
    }
}
