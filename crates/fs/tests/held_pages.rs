//! Whatever a file holds, its pages together are the file.

mod support;

use proptest::prelude::*;
use support::NEVER;
use support::Tree;
use toolwright_fs::Held;
use toolwright_fs::Range;
use toolwright_fs::Roots;

fn hold(tree: &Tree, path: &str) -> Held {
    Roots::open(std::slice::from_ref(&tree.root), &[])
        .and_then(|roots| roots.hold(path))
        .expect("it is there")
}

fn range(held: &Held, offset: u64, limit: u64) -> Range {
    held.read_range(offset, limit, &NEVER).expect("it can be read")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn pages_together_are_the_file(
        text in proptest::collection::vec(prop_oneof![Just("a"), Just("é"), Just("漢"), Just("😀"), Just("\n")], 0..60),
        limit in 1u64..20,
    ) {
        let tree = Tree::new();
        tree.put("file", text.concat());
        let held = hold(&tree, "file");
        let (mut offset, mut all) = (0, Vec::new());
        loop {
            let page = range(&held, offset, limit);
            prop_assert_eq!(page.offset, offset);
            prop_assert!(page.bytes.len() as u64 <= limit.max(4) && !page.is_lossy);
            all.extend(page.bytes);
            match page.next_offset {
                Some(next) => { prop_assert!(next > offset); offset = next; }
                None => break,
            }
        }
        prop_assert_eq!(all, text.concat().into_bytes());
    }

    #[test]
    fn any_bytes_come_whole(bytes in proptest::collection::vec(any::<u8>(), 0..60), limit in 1u64..20) {
        let tree = Tree::new();
        tree.put("file", &bytes);
        let held = hold(&tree, "file");
        let (mut offset, mut all) = (0, Vec::new());
        loop {
            let page = range(&held, offset, limit);
            prop_assert_eq!(page.offset, offset, "a page begins where the last one ended");
            all.extend(page.bytes);
            match page.next_offset {
                Some(next) => { prop_assert!(next > offset); offset = next; }
                None => break,
            }
        }
        prop_assert_eq!(all, bytes);
    }
}
