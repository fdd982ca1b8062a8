//! Sets of numbers of entries, compressed by runs, as git writes them.

/// The numbers of a set, in order, and what follows the set. Each number is below `bound`; `None` for a
/// set that is malformed or has another number. A run counts as long as it says, so the bound holds
/// before any work.
pub(super) fn numbers(bytes: &[u8], bound: usize) -> Option<(Vec<usize>, &[u8])> {
    let (_bits, rest) = u32_of(bytes)?;
    let (words, rest) = u32_of(rest)?;
    let length = usize::try_from(words).ok()?.checked_mul(8)?;
    let (words, rest) = rest.split_at_checked(length)?;
    // The position of the last run, which only a writer needs.
    let (_, rest) = u32_of(rest)?;
    let mut words = words
        .chunks_exact(8)
        .map(|word| word.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte)));
    let mut numbers = Vec::new();
    let mut at = 0_usize;
    while let Some(run) = words.next() {
        let is_set = run & 1 != 0;
        let length = usize::try_from(run >> 1 & 0xffff_ffff).ok()?.checked_mul(64)?;
        let literals = run >> 33;
        let end = at.checked_add(length)?;
        if is_set {
            if end > bound {
                return None;
            }
            numbers.extend(at..end);
        }
        at = end;
        for _ in 0..literals {
            let word = words.next()?;
            for bit in (0..64).filter(|bit| word >> bit & 1 != 0) {
                let number = at.checked_add(bit)?;
                if number >= bound {
                    return None;
                }
                numbers.push(number);
            }
            at = at.checked_add(64)?;
        }
    }
    Some((numbers, rest))
}

fn u32_of(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), rest))
}
