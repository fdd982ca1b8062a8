//! The pages of a file, put together, are the file.

mod support;

use proptest::prelude::*;
use support::{NEVER, Tree};
#[cfg(target_os = "linux")]
use toolwright_fs::DirectoryGrant;
use toolwright_fs::{OpenTarget, Range, Roots};

#[cfg(target_os = "linux")]
fn granted(tree: &Tree) -> DirectoryGrant {
    let granted = DirectoryGrant::new("rootDir", &tree.root);
    granted.identify().expect("it is there");
    granted
}

fn open(tree: &Tree, path: &str) -> OpenTarget {
    Roots::open(std::slice::from_ref(&tree.root), &[])
        .and_then(|roots| roots.open_target(path))
        .expect("it is there")
}

fn range(target: &OpenTarget, offset: u64, limit: u64) -> Range {
    target.read_range(offset, limit, &NEVER).expect("it can be read")
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
        let target = open(&tree, "file");
        let (mut offset, mut all) = (0, Vec::new());
        loop {
            let page = range(&target, offset, limit);
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
        let target = open(&tree, "file");
        let (mut offset, mut all) = (0, Vec::new());
        loop {
            let page = range(&target, offset, limit);
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

#[cfg(target_os = "linux")]
#[test]
fn a_cached_target_is_the_one_opened_otherwise() {
    let tree = Tree::new();
    tree.put("dir/file", "text é");
    tree.put("binary", "a\0b");
    tree.put("broken", b"\xff");
    tree.put("empty", "");
    tree.link("dir", "link");
    tree.link("file", "dir/alias");
    tree.link("../outside/secret", "secret");
    // Read once the ordinary way, so that the kernel caches them.
    for path in ["dir/file", "./dir//file", "empty"] {
        let ordinary = open(&tree, path);
        let cached =
            OpenTarget::try_open_cached(&granted(&tree), path).expect("it is in the caches");
        assert_eq!((cached.real_path(), cached.kind()), (ordinary.real_path(), ordinary.kind()));
        let text = cached.try_read_cached(100).expect("so are its bytes");
        assert_eq!(text, range(&ordinary, 0, 100).bytes);
    }
    for path in [
        "link/file",
        "dir/alias",
        "secret",
        "../outside/secret",
        "dir",
        "dir/",
        "none",
        "/etc/passwd",
        "dir/../dir/file",
        "",
    ] {
        assert!(OpenTarget::try_open_cached(&granted(&tree), path).is_none(), "{path}");
    }
    let read = |path: &str, limit| {
        OpenTarget::try_open_cached(&granted(&tree), path)
            .and_then(|target| target.try_read_cached(limit))
    };
    assert!(read("binary", 100).is_none() && read("broken", 100).is_none());
    assert!(read("dir/file", 6).is_none() && read("dir/file", 7).is_some());
}
