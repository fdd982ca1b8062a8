//! Questions about names, and their answers, as resolvers of programs write and read them.

/// No question that is answered is longer.
pub(super) const MAX_QUERY_BYTES: usize = 1232;

const HEADER: usize = 12;
const A: u16 = 1;
const INTERNET: u16 = 1;
/// An answer may be used for so many seconds.
const LIFETIME: u32 = 60;

const NO_SUCH_NAME: u8 = 3;
const SERVER_FAILURE: u8 = 2;
const NOT_IMPLEMENTED: u8 = 4;

/// A question, as far as an answer repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    id: [u8; 2],
    is_recursive: bool,
    /// The question itself: name, type, class.
    question: Vec<u8>,
    /// In small letters, without a dot at its end.
    pub(super) name: String,
    /// Whether it asks for addresses of IPv4. Names have no others.
    pub(super) wants_addresses: bool,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Addresses(&'a [u32]),
    Nothing,
    Failed,
}

/// What a packet is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Query(Query),
    /// A question that no name can answer, with its answer.
    Odd(Vec<u8>),
    /// None at all.
    Nonsense,
}

impl Packet {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Self::Nonsense;
        };
        let [a, b, flags, _, count_high, count, ..] = *header;
        let is_answer = flags & 0x80 != 0;
        if is_answer || bytes.len() > MAX_QUERY_BYTES {
            return Self::Nonsense;
        }
        let (id, is_recursive) = ([a, b], flags & 1 != 0);
        let opcode = flags >> 3 & 0xF;
        let odd = |code| Self::Odd(header_of(id, is_recursive, code, 0, 0));
        if opcode != 0 || (count_high, count) != (0, 1) {
            return odd(NOT_IMPLEMENTED);
        }
        let Some((name, length)) = read_name(rest) else { return odd(NO_SUCH_NAME) };
        let Some([kind_high, kind, class_high, class]) =
            rest.get(length..).and_then(|rest| rest.first_chunk::<4>())
        else {
            return Self::Nonsense;
        };
        if u16::from_be_bytes([*class_high, *class]) != INTERNET {
            return odd(NOT_IMPLEMENTED);
        }
        Self::Query(Query {
            id,
            is_recursive,
            question: rest[..length + 4].to_vec(),
            name,
            wants_addresses: u16::from_be_bytes([*kind_high, *kind]) == A,
        })
    }
}

impl Query {
    pub(super) fn answer(&self, found: Found<'_>) -> Vec<u8> {
        let (code, addresses) = match found {
            Found::Addresses(addresses) if self.wants_addresses => (0, addresses),
            Found::Addresses(_) => (0, &[][..]),
            Found::Nothing => (NO_SUCH_NAME, &[][..]),
            Found::Failed => (SERVER_FAILURE, &[][..]),
        };
        let count = u16::try_from(addresses.len()).unwrap_or(0);
        let mut answer = header_of(self.id, self.is_recursive, code, 1, count);
        answer.extend_from_slice(&self.question);
        for address in addresses.iter().take(count.into()) {
            // The name is that of the question.
            answer.extend_from_slice(&[0xC0, 0x0C]);
            answer.extend_from_slice(&A.to_be_bytes());
            answer.extend_from_slice(&INTERNET.to_be_bytes());
            answer.extend_from_slice(&LIFETIME.to_be_bytes());
            answer.extend_from_slice(&4_u16.to_be_bytes());
            answer.extend_from_slice(&address.to_be_bytes());
        }
        answer
    }
}

fn header_of(id: [u8; 2], is_recursive: bool, code: u8, questions: u8, answers: u16) -> Vec<u8> {
    let [high, low] = answers.to_be_bytes();
    // An answer, of a resolver that looks names up.
    let flags = [0x80 | u8::from(is_recursive), 0x80 | code];
    vec![id[0], id[1], flags[0], flags[1], 0, questions, high, low, 0, 0, 0, 0]
}

/// A name of letters, digits, hyphens and underscores, and how many bytes it takes. `None` for any other:
/// no host has it.
fn read_name(bytes: &[u8]) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            return (!name.is_empty()).then_some((name, at));
        }
        // More would be a reference to another name.
        if length > 63 || name.len() + length + 1 > 254 {
            return None;
        }
        let label = bytes.get(at..at + length)?;
        at += length;
        if !name.is_empty() {
            name.push('.');
        }
        for byte in label {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(*byte)),
                b'A'..=b'Z' => name.push(char::from(byte.to_ascii_lowercase())),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(name: &[&str], kind: u8) -> Vec<u8> {
        let mut bytes = vec![0xAB, 0xCD, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name {
            bytes.push(u8::try_from(label.len()).expect("short"));
            bytes.extend(label.bytes());
        }
        bytes.extend([0, 0, kind, 0, 1]);
        bytes
    }

    fn query(bytes: &[u8]) -> Query {
        match Packet::read(bytes) {
            Packet::Query(query) => query,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_read_and_answered() {
        let question = query(&asked(&["Registry", "example", "COM"], 1));
        assert_eq!(question.name, "registry.example.com");
        assert!(question.wants_addresses);
        let answer = question.answer(Found::Addresses(&[0xC612_0005]));
        assert_eq!(answer[..12], [0xAB, 0xCD, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[answer.len() - 6..], [0, 4, 198, 18, 0, 5]);
        let nothing = question.answer(Found::Nothing);
        assert_eq!((nothing[3] & 0xF, nothing[7]), (NO_SUCH_NAME, 0));
        assert_eq!(question.answer(Found::Failed)[3] & 0xF, SERVER_FAILURE);
    }

    #[test]
    fn a_name_has_no_other_records() {
        let question = query(&asked(&["example", "com"], 28));
        assert!(!question.wants_addresses);
        let answer = question.answer(Found::Addresses(&[1, 2]));
        assert_eq!((answer[3] & 0xF, answer[7]), (0, 0));
    }

    #[test]
    fn what_no_host_is_called_is_none() {
        for name in [&["a b"][..], &["a.b"], &["bell\u{7}"], &["é"], &[]] {
            assert!(matches!(Packet::read(&asked(name, 1)), Packet::Odd(_)), "{name:?}");
        }
        let label = "a".repeat(63);
        let long = [&*label; 5];
        assert!(matches!(Packet::read(&asked(&long, 1)), Packet::Odd(_)));
        // A reference, and an answer.
        assert!(matches!(
            Packet::read(&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xC0, 12, 0, 1, 0, 1]),
            Packet::Odd(_)
        ));
        let mut answer = asked(&["example", "com"], 1);
        answer[2] |= 0x80;
        assert_eq!(Packet::read(&answer), Packet::Nonsense);
    }

    proptest! {
        #[test]
        fn nothing_that_is_read_does_harm(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Packet::Query(query) = Packet::read(&bytes) {
                prop_assert!(query.name.len() <= 253);
                prop_assert!(query.answer(Found::Addresses(&[7; 8])).len() < 512);
            }
        }
    }
}
