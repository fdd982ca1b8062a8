//! Values as SSH writes them (RFC 4251): numbers are big-endian, and texts are preceded by their length.

/// Reads from front to end. `None`: it is shorter than it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'m>(&'m [u8]);

impl<'m> Reader<'m> {
    pub(super) fn new(bytes: &'m [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*first))
    }

    pub(super) fn text(&mut self) -> Option<&'m [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// A positive number of any length, without the zeros before it.
    pub(super) fn large_number(&mut self) -> Option<&'m [u8]> {
        let text = self.text()?;
        let first = text.iter().position(|byte| *byte != 0).unwrap_or(text.len());
        Some(&text[first..])
    }

    /// Nothing may follow.
    pub(super) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    // No text here is longer than a message.
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or_default().to_be_bytes());
    out.extend_from_slice(text);
}

/// A positive number of fixed length, as one of any.
pub(super) fn put_large_number(out: &mut Vec<u8>, number: &[u8]) {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    let mut digits = Vec::with_capacity(number.len() + 1);
    if number.get(first).is_some_and(|byte| *byte >= 0x80) {
        digits.push(0);
    }
    digits.extend_from_slice(&number[first..]);
    put_text(out, &digits);
}

/// Filled up with zeros in front. `None`: it is longer.
pub(super) fn fixed<const N: usize>(number: &[u8]) -> Option<[u8; N]> {
    let mut all = [0; N];
    all[N.checked_sub(number.len())?..].copy_from_slice(number);
    Some(all)
}
