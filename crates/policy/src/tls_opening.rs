//! What the first bytes of a connection say: whether they are TLS, and for which name.
//!
//! Servers differ in what they take from a message that is not as it should be. So one that could be read in
//! two ways is [malformed](Opening::Malformed), and no reader has to agree with any server about it.

/// The first message of TLS is whole within this many bytes, those of its records included.
pub const MAX_OPENING_BYTES: usize = 16 << 10;

const RECORD_HEADER: usize = 5;
const MAX_RECORD: usize = 1 << 14;
const MESSAGE_HEADER: usize = 4;

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const MAJOR: u8 = 3;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// The random value of a server that asks for another first message (RFC 8446, 4.1.3).
const RETRY: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// What the bytes are that a client has sent until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// They may become the first message of TLS.
    Incomplete,
    /// They are not TLS.
    Other,
    /// The first message of TLS.
    Tls {
        /// The name that it asks for, if it asks for one. With an encrypted one (ECH) beside it, it is the name
        /// that is not encrypted.
        name: Option<String>,
        /// How many bytes are its own. What follows was sent before the server has answered.
        length: usize,
    },
    /// TLS that is not as it should be, or too long.
    Malformed,
}

impl Opening {
    /// Reads the first bytes of a client.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        match *bytes {
            [] | [HANDSHAKE] => Self::Incomplete,
            [HANDSHAKE, MAJOR, ..] => read_hello(bytes, 0),
            _ => Self::Other,
        }
    }

    /// Reads what a client has sent after a server has asked it for another first message: that, behind
    /// data that it has sent too early.
    #[must_use]
    pub fn read_again(mut bytes: &[u8]) -> Self {
        let all = bytes.len();
        loop {
            match *bytes {
                [CHANGE_CIPHER_SPEC | APPLICATION_DATA, MAJOR, _, high, low, ref rest @ ..] => {
                    let length = usize::from(u16::from_be_bytes([high, low]));
                    match rest.get(length..) {
                        Some(rest) => bytes = rest,
                        None => return until_too_long(all),
                    }
                }
                [] | [HANDSHAKE | CHANGE_CIPHER_SPEC | APPLICATION_DATA] => {
                    return until_too_long(all);
                }
                [CHANGE_CIPHER_SPEC | APPLICATION_DATA, MAJOR, ..] => return until_too_long(all),
                [HANDSHAKE, MAJOR, ..] => return read_hello(bytes, all - bytes.len()),
                _ => return Self::Malformed,
            }
        }
    }
}

/// Whether a server asks for another first message. `None`: more of its bytes are needed.
#[must_use]
pub fn asks_for_another_opening(bytes: &[u8]) -> Option<bool> {
    // Two versions stand before the random value: that of the record, and that of the message.
    let is_like = |at: usize, expected: &[u8]| {
        bytes.iter().skip(at).zip(expected).all(|(byte, expected)| byte == expected)
    };
    let at = RECORD_HEADER + MESSAGE_HEADER + 2;
    let is_hello = is_like(0, &[HANDSHAKE, MAJOR])
        && is_like(RECORD_HEADER, &[SERVER_HELLO])
        && is_like(at, &RETRY);
    match is_hello {
        false => Some(false),
        true if bytes.len() < at + RETRY.len() => None,
        true => Some(true),
    }
}

fn until_too_long(length: usize) -> Opening {
    if length < MAX_OPENING_BYTES { Opening::Incomplete } else { Opening::Malformed }
}

/// Reads a message that records of a handshake begin with, behind so many other bytes.
fn read_hello(bytes: &[u8], before: usize) -> Opening {
    match read_records(bytes) {
        Ok(None) => until_too_long(before + bytes.len()),
        Ok(Some((name, length))) if before + length <= MAX_OPENING_BYTES => {
            Opening::Tls { name, length }
        }
        Ok(Some(_)) | Err(Malformed) => Opening::Malformed,
    }
}

/// The name, and how many bytes the message takes with its records. `None`: it is not whole.
fn read_records(bytes: &[u8]) -> Result<Option<(Option<String>, usize)>, Malformed> {
    let mut message = Vec::new();
    let mut rest = bytes;
    while let Some(Record { length, content, after }) = record(rest)? {
        let end = message.len() + length;
        message.extend_from_slice(content);
        match length_of(&message)? {
            // A second message in its record could be one for the name of another host.
            Some(whole) if end > whole => return Err(Malformed),
            Some(whole) if message.len() == whole => {
                let name = name_of(message.get(MESSAGE_HEADER..).unwrap_or_default())?;
                return Ok(Some((name, bytes.len() - after.len())));
            }
            _ => rest = after,
        }
    }
    Ok(None)
}

struct Malformed;

struct Record<'a> {
    length: usize,
    /// As much as is there.
    content: &'a [u8],
    after: &'a [u8],
}

/// The first record. `None`: nothing of its content is there.
fn record(bytes: &[u8]) -> Result<Option<Record<'_>>, Malformed> {
    let is_handshake = bytes.first().is_none_or(|kind| *kind == HANDSHAKE)
        && bytes.get(1).is_none_or(|major| *major == MAJOR);
    if !is_handshake {
        return Err(Malformed);
    }
    let Some((&[_, _, _, high, low], rest)) = bytes.split_first_chunk::<RECORD_HEADER>() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length == 0 || length > MAX_RECORD {
        return Err(Malformed);
    }
    if rest.is_empty() {
        return Ok(None);
    }
    let (content, after) = rest.split_at(length.min(rest.len()));
    Ok(Some(Record { length, content, after }))
}

/// How long the message becomes, with its header. `None`: that is not there yet.
fn length_of(message: &[u8]) -> Result<Option<usize>, Malformed> {
    if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Err(Malformed);
    }
    let Some(&[_, high, middle, low]) = message.first_chunk::<MESSAGE_HEADER>() else {
        return Ok(None);
    };
    let length = MESSAGE_HEADER + usize::from(u16::from_be_bytes([middle, low]));
    if high != 0 || length > MAX_OPENING_BYTES {
        return Err(Malformed);
    }
    Ok(Some(length))
}

fn name_of(hello: &[u8]) -> Result<Option<String>, Malformed> {
    let mut hello = Fields(hello);
    // The version, and the random value.
    hello.take(2 + 32)?;
    let session = hello.with_short_length()?;
    let ciphers = hello.with_length()?;
    let compression = hello.with_short_length()?;
    if session.0.len() > 32 || ciphers.0.is_empty() || compression.0.is_empty() {
        return Err(Malformed);
    }
    if hello.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = hello.with_length()?;
    hello.end()?;
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.with_length()?;
        if kind == SERVER_NAME && name.replace(server_name(content)?).is_some() {
            return Err(Malformed);
        }
    }
    Ok(name)
}

/// The one name of a list.
fn server_name(mut content: Fields<'_>) -> Result<String, Malformed> {
    let mut list = content.with_length()?;
    content.end()?;
    let kind = list.take(1)?;
    let name = list.with_length()?;
    list.end()?;
    let is_text = !name.0.is_empty() && name.0.iter().all(u8::is_ascii_graphic);
    if kind != [HOST_NAME] || !is_text {
        return Err(Malformed);
    }
    String::from_utf8(name.0.to_vec()).map_err(|_| Malformed)
}

/// Fields that are still to be read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u16, Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*taken))
    }

    /// A field behind its length in one byte.
    fn with_short_length(&mut self) -> Result<Self, Malformed> {
        let length = self.take(1)?.first().copied().unwrap_or_default();
        self.take(length.into()).map(Self)
    }

    /// A field behind its length in two bytes.
    fn with_length(&mut self) -> Result<Self, Malformed> {
        let length = self.number()?;
        self.take(length.into()).map(Self)
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests;
