use proptest::prelude::*;

use super::*;

/// What `openssl s_client -servername name.test` sends, but for keys and random values.
fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.push(32);
    body.extend([9; 32]);
    body.extend([0, 4, 0x13, 1, 0x13, 2, 1, 0]);
    let all: Vec<u8> = extensions
        .iter()
        .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &with_length(content)].concat())
        .collect();
    body.extend(with_length(&all));
    let length = u16::try_from(body.len()).expect("short").to_be_bytes();
    [&[1, 0, length[0], length[1]], &*body].concat()
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("short").to_be_bytes();
    [&length[..], bytes].concat()
}

fn named(name: &[u8]) -> (u16, Vec<u8>) {
    (0, with_length(&[&[0][..], &with_length(name)].concat()))
}

/// Records of at most so many bytes.
fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[22, 3, 1][..], &with_length(part)].concat()).collect()
}

fn read(extensions: &[(u16, Vec<u8>)]) -> Opening {
    Opening::read(&records(&hello(extensions), MAX_RECORD))
}

fn tls(name: &str, bytes: &[u8]) -> Opening {
    Opening::Tls { name: Some(name.to_owned()), length: bytes.len() }
}

#[test]
fn the_name_is_found_among_other_extensions() {
    let other = (16, vec![0, 3, 2, b'h', b'2']);
    let all = records(&hello(&[other.clone(), named(b"Name.test"), other.clone()]), MAX_RECORD);
    assert_eq!(Opening::read(&all), tls("Name.test", &all));
    assert!(matches!(read(&[other]), Opening::Tls { name: None, .. }));
    // Old clients have no extensions at all.
    let mut plain = hello(&[]);
    plain.truncate(plain.len() - 2);
    let length = u8::try_from(plain.len() - 4).expect("short");
    plain[3] = length;
    let plain = records(&plain, MAX_RECORD);
    assert_eq!(Opening::read(&plain), Opening::Tls { name: None, length: plain.len() });
}

#[test]
fn what_is_not_tls_is_told_at_once() {
    for other in [&b"GET / HTTP/1.1\r\n"[..], b"SSH-2.0-x\r\n", b"\x16\x02", b"\x80\x2e\x01", b"\0"]
    {
        assert_eq!(Opening::read(other), Opening::Other, "{other:?}");
    }
    assert_eq!(Opening::read(b""), Opening::Incomplete);
    assert_eq!(Opening::read(b"\x16"), Opening::Incomplete);
}

#[test]
fn what_could_be_read_in_two_ways_is_malformed() {
    let (a, b) = (named(b"a.test"), named(b"b.test"));
    assert_eq!(read(&[a.clone(), b]), Opening::Malformed, "two lists");
    assert_eq!(read(&[a.clone(), a.clone()]), Opening::Malformed, "the same list twice");
    let entry = |name: &[u8]| [&[0][..], &with_length(name)].concat();
    let two = with_length(&[entry(b"a.test"), entry(b"b.test")].concat());
    let other_kind = with_length(&[&[1][..], &with_length(b"a.test")].concat());
    let trailing = [&*named(b"a.test").1, b"x"].concat();
    for (what, content) in [
        ("two names", two),
        ("a name of another kind", other_kind),
        ("bytes behind the list", trailing),
        ("an empty name", named(b"").1),
        ("an empty list", vec![0, 0]),
        ("nothing", vec![]),
        ("a zero", named(b"a.test\0.b.test").1),
        ("a blank", named(b"a test").1),
        ("no ASCII", named("ä.test".as_bytes()).1),
    ] {
        assert_eq!(read(&[(0, content)]), Opening::Malformed, "{what}");
    }
    let good = hello(&[a]);
    let mut behind = good.clone();
    behind[3] += 1;
    behind.push(0);
    assert_eq!(
        Opening::read(&records(&behind, 999)),
        Opening::Malformed,
        "bytes behind extensions"
    );
    let mut other_message = good.clone();
    other_message[0] = 2;
    assert_eq!(Opening::read(&records(&other_message, 999)), Opening::Malformed);
    let mut long = good.clone();
    long[1] = 1;
    assert_eq!(Opening::read(&records(&long, 999)), Opening::Malformed, "too long a message");
    let twice = good.repeat(2);
    assert_eq!(
        Opening::read(&records(&twice, 999)),
        Opening::Malformed,
        "two messages in a record"
    );
    assert_eq!(Opening::read(&records(&twice, good.len())), tls("a.test", &records(&good, 999)));
    // A message in records, with another record between them.
    let parts: Vec<_> = good.chunks(20).map(|part| records(part, 20)).collect();
    for between in [&[21, 3, 1, 0, 2, 1, 0][..], &[22, 3, 1, 0, 0], &[20, 3, 1, 0, 1, 1], b"GET /"]
    {
        let all = [&*parts[0], between, &parts[1..].concat()].concat();
        assert_eq!(Opening::read(&all), Opening::Malformed, "{between:?}");
    }
}

#[test]
fn a_message_without_an_end_is_given_up() {
    let mut message = hello(&[named(b"a.test")]);
    message[2..4].copy_from_slice(&u16::MAX.to_be_bytes());
    assert_eq!(Opening::read(&records(&message, 999)), Opening::Malformed);
    let long = (21, vec![0; 15 << 10]);
    let full = records(&hello(&[long, named(b"a.test")]), MAX_RECORD);
    assert!(full.len() < MAX_OPENING_BYTES);
    assert_eq!(Opening::read(&full), tls("a.test", &full));
    // In records of one byte it has six times the length.
    let drops = records(&hello(&[(21, vec![0; 3 << 10]), named(b"a.test")]), 1);
    assert_eq!(Opening::read(&drops[..MAX_OPENING_BYTES - 1]), Opening::Incomplete);
    assert_eq!(Opening::read(&drops[..MAX_OPENING_BYTES]), Opening::Malformed);
    assert_eq!(Opening::read(&drops), Opening::Malformed, "it does not matter how it arrives");
}

/// The server of TLS 1.3 that finds no key it can use.
#[test]
fn a_server_that_asks_again_is_told_from_others() {
    let mut answer = vec![22, 3, 3, 0, 88, 2, 0, 0, 84, 3, 3];
    answer.extend(RETRY);
    for length in 0..answer.len() {
        assert_eq!(asks_for_another_opening(&answer[..length]), None, "{length}");
    }
    assert_eq!(asks_for_another_opening(&answer), Some(true));
    answer[20] ^= 1;
    assert_eq!(asks_for_another_opening(&answer), Some(false));
    for other in [&[21, 3, 3, 0, 2, 2, 40][..], b"HTTP/1.1 400 Bad Request", &[22, 3, 3, 0, 9, 11]]
    {
        assert_eq!(asks_for_another_opening(other), Some(false));
    }
}

#[test]
fn the_second_message_is_found_behind_what_came_too_early() {
    let second = records(&hello(&[named(b"b.test")]), 50);
    let (change, early) = ([20, 3, 3, 0, 1, 1], [23, 3, 3, 0, 3, 7, 7, 7]);
    for before in [&[][..], &change, &early, &[&change[..], &early, &early].concat()] {
        let all = [before, &second].concat();
        assert_eq!(Opening::read_again(&all), tls("b.test", &second), "{before:?}");
        for length in 0..all.len() {
            assert_eq!(Opening::read_again(&all[..length]), Opening::Incomplete, "{length}");
        }
    }
    assert_eq!(Opening::read_again(b"GET /"), Opening::Malformed);
    assert_eq!(Opening::read_again(&[21, 3, 3, 0, 2, 2, 40]), Opening::Malformed);
    let endless = early.repeat(MAX_OPENING_BYTES / early.len());
    assert_eq!(Opening::read_again(&endless), Opening::Malformed);
}

proptest! {
    #[test]
    fn a_name_is_read_from_any_records(
        name in "[a-zA-Z0-9._-]{1,80}",
        before in proptest::collection::vec((1_u16..99, proptest::collection::vec(any::<u8>(), 0..40)), 0..6),
        size in 1_usize..300,
    ) {
        let mut extensions = before;
        extensions.push(named(name.as_bytes()));
        let all = records(&hello(&extensions), size);
        prop_assert_eq!(Opening::read(&all), tls(&name, &all));
        for length in 0..all.len() {
            prop_assert_eq!(Opening::read(&all[..length]), Opening::Incomplete);
        }
        // What follows changes nothing.
        let more = [&*all, b"more"].concat();
        prop_assert_eq!(Opening::read(&more), tls(&name, &all));
    }

    /// More bytes never change what has been said.
    #[test]
    fn what_has_been_said_stays(bytes in proptest::collection::vec(any::<u8>(), 0..200), more in any::<[u8; 9]>()) {
        let framed = records(&[&[1, 0, 0][..], &bytes].concat(), 64);
        for bytes in [&*bytes, &*framed] {
            let before = Opening::read(bytes);
            if before != Opening::Incomplete {
                prop_assert_eq!(Opening::read(&[bytes, &more].concat()), before);
            }
            let _ = Opening::read_again(bytes);
            let _ = asks_for_another_opening(bytes);
        }
    }

    /// A byte that is changed may change the name, and does no harm.
    #[test]
    fn a_changed_byte_does_no_harm(at in 0_usize..120, value in any::<u8>()) {
        let mut bytes = records(&hello(&[named(b"a.test"), (43, vec![2, 3, 4])]), 40);
        let at = at % bytes.len();
        bytes[at] = value;
        let _ = (Opening::read(&bytes), Opening::read_again(&bytes));
    }
}
