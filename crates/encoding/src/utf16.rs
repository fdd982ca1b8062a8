//! UTF-16 with a byte order mark, as text in UTF-8.
//!
//! Half of a surrogate pair is no character, and has no place in UTF-8. It becomes the three bytes that its number
//! would have there, which a reader sees as U+FFFD and [`encode`] knows again.

/// Which byte of a unit comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The low one.
    Little,
    /// The high one.
    Big,
}

impl ByteOrder {
    /// The order that a byte order mark at the beginning shows.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            // With two zeros it is the mark of UTF-32.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            _ => None,
        }
    }

    /// For a reader.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Little => "UTF-16, little-endian",
            Self::Big => "UTF-16, big-endian",
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    fn bytes(self, unit: u16) -> [u8; 2] {
        match self {
            Self::Little => unit.to_le_bytes(),
            Self::Big => unit.to_be_bytes(),
        }
    }
}

/// A whole text with its mark, which becomes U+FEFF. `None` if it has no mark, half a unit at its end, or a NUL, which
/// no text has.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(ByteOrder, Vec<u8>)> {
    let order = ByteOrder::of(bytes).filter(|_| bytes.len().is_multiple_of(2))?;
    let text = text_of(bytes, order);
    (!text.contains(&0)).then_some((order, text))
}

/// A whole text as a reader sees it. Half a unit at its end becomes U+FFFD, so it cannot be made UTF-16 again.
#[must_use]
pub fn text_of(bytes: &[u8], order: ByteOrder) -> Vec<u8> {
    let mut decoder = Decoder::new(order);
    let mut text = Vec::with_capacity(bytes.len() / 2);
    decoder.push(bytes, &mut text);
    decoder.end(&mut text);
    text
}

/// A text of [`decode`] in UTF-16. The mark is a part of it. Bytes that are no UTF-8 and no half of a pair become
/// U+FFFD, but no decoded text has them.
#[must_use]
pub fn encode(text: &[u8], order: ByteOrder) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 2);
    let mut put = |unit: u16| bytes.extend_from_slice(&order.bytes(unit));
    let mut rest = text;
    while !rest.is_empty() {
        let (valid, after) = match str::from_utf8(rest) {
            Ok(valid) => (valid, &rest[rest.len()..]),
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                (str::from_utf8(valid).unwrap_or_default(), after)
            }
        };
        valid.encode_utf16().for_each(&mut put);
        rest = match *after {
            [0xed, middle @ 0xa0..=0xbf, low @ 0x80..=0xbf, ref rest @ ..] => {
                put(0xd000 | u16::from(middle & 0x3f) << 6 | u16::from(low & 0x3f));
                rest
            }
            [_, ref rest @ ..] => {
                put(0xfffd);
                rest
            }
            [] => after,
        };
    }
    bytes
}

/// Decodes a text in parts.
#[derive(Debug)]
pub struct Decoder {
    order: ByteOrder,
    /// The first byte of a unit.
    byte: Option<u8>,
    /// The first half of a pair.
    high: Option<u16>,
}

impl Decoder {
    /// At the beginning of a character.
    #[must_use]
    pub fn new(order: ByteOrder) -> Self {
        Self { order, byte: None, high: None }
    }

    /// Appends the text of `bytes`, as far as its characters are complete.
    pub fn push(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        let mut bytes = bytes;
        if let (Some(first), [second, rest @ ..]) = (self.byte, bytes) {
            self.byte = None;
            self.unit(self.order.unit([first, *second]), text);
            bytes = rest;
        }
        let (pairs, rest) = bytes.as_chunks::<2>();
        for pair in pairs {
            self.unit(self.order.unit(*pair), text);
        }
        if let [byte] = rest {
            self.byte = Some(*byte);
        }
    }

    /// Appends what is left of a text that ends in the middle of a character.
    pub fn end(&mut self, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            half(high, text);
        }
        if self.byte.take().is_some() {
            text.extend_from_slice("\u{fffd}".as_bytes());
        }
    }

    fn unit(&mut self, unit: u16, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            if let Some(Ok(character)) = char::decode_utf16([high, unit]).next() {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
            half(high, text);
        }
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            0xdc00..=0xdfff => half(unit, text),
            _ => {
                let character = char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}');
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// Half of a pair, as the three bytes of its number.
fn half(unit: u16, text: &mut Vec<u8>) {
    let [high, low] = unit.to_be_bytes();
    let middle = 0x80 | (high & 0x0f) << 2 | low >> 6;
    text.extend_from_slice(&[0xed, middle, 0x80 | (low & 0x3f)]);
}
