//! Parts and lines of a file in UTF-16 are those of its text.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::PathBuf;

use proptest::prelude::*;
use support::{NEVER, Tree};
use toolwright_encoding::utf16::decode;
use toolwright_fs::{LineRange, Root, Roots, read_lines};

/// A text in UTF-16, in either order, with halves of pairs if they are there.
fn bytes_of(units: &[u16], little: bool) -> Vec<u8> {
    let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    std::iter::once(0xfeff).chain(units.iter().copied()).flat_map(bytes).collect()
}

fn units() -> impl Strategy<Value = Vec<u16>> {
    let text =
        "[a-c\u{e9}\u{65e5}\u{1f388}\n]{0,40}".prop_map(|text| text.encode_utf16().collect());
    let halves =
        prop::collection::vec(prop_oneof![Just(10), 97_u16..100, 0xd800_u16..0xe000], 0..20);
    prop_oneof![3 => text, 1 => halves]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn parts_are_joined_to_the_whole(units in units(), little in any::<bool>(), limit in 1_u64..20) {
        let tree = Tree::new();
        let bytes = bytes_of(&units, little);
        tree.put("file", &bytes);
        let roots = Roots::open(std::slice::from_ref(&tree.root), &[] as &[PathBuf]).unwrap();
        let target = roots.open_target("file").unwrap();
        let (mut text, mut offset) = (Vec::new(), 0);
        loop {
            let part = target.read_range(offset, limit, &NEVER).unwrap();
            prop_assert_eq!(part.offset, offset);
            prop_assert!(!part.is_binary && part.file_bytes == bytes.len() as u64);
            text.extend_from_slice(&part.bytes);
            let Some(next) = part.next_offset else { break };
            prop_assert!(next > offset);
            offset = next;
        }
        prop_assert_eq!(text, decode(&bytes).unwrap().1);
    }

    #[test]
    fn lines_are_those_of_the_text(units in units(), little in any::<bool>(), first in 1_u64..6, count in 1_u64..6) {
        let tree = Tree::new();
        let bytes = bytes_of(&units, little);
        tree.put("file", &bytes);
        let root = Root::open(&tree.root).unwrap();
        let range = LineRange { first, count, limit: 10_000 };
        let read = read_lines(&root, "file", range, &NEVER).unwrap();
        let whole = decode(&bytes).unwrap().1;
        let lines = whole.split_inclusive(|byte| *byte == b'\n');
        let from = usize::try_from(first).unwrap() - 1;
        let wanted: Vec<&[u8]> = lines.skip(from).take(usize::try_from(count).unwrap()).collect();
        prop_assert_eq!(read.bytes, wanted.concat());
        prop_assert_eq!(read.count, wanted.len() as u64);
    }
}

#[test]
fn other_files_with_these_first_bytes_are_binary() {
    let tree = Tree::new();
    let root = Root::open(&tree.root).unwrap();
    let range = LineRange { first: 1, count: 9, limit: 100 };
    for bytes in [&b"\xff\xfe\0\0a\0\0\0"[..], b"\xff\xfea\0\0\0b\0", b"a\0b\0"] {
        tree.put("file", bytes);
        assert!(read_lines(&root, "file", range, &NEVER).unwrap().is_binary);
    }
}
