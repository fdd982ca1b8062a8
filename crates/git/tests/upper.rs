//! What a command has written and deleted, in an overlay's upper directory.

mod overlay;

use overlay::Repository;
use toolwright_git::upper::{Bounds, Kind, Node};

#[test]
fn an_upper_directory_says_what_hides_what() {
    let repository = Repository::by_hand_only();
    let upper = repository.by_hand(
        "mkdir -p o/p d; : > o/.opaque; mknod w c 0 0; : > f; mkfifo p; ln -s f l; : > o/p/f",
    );
    let node = |path: &str| format!("{:?}", upper.entry(path).expect("a node"));
    for (path, expected) in [
        ("nothing", "Absent"),
        ("d/nothing", "Absent"),
        ("w", "Whiteout"),
        ("w/below", "Whiteout"),
        ("f/below", "Whiteout"),
        ("o/nothing", "Whiteout"),
        ("o/p/nothing", "Whiteout"),
        ("p", "Odd"),
        ("l", "Odd"),
        ("l/below", "Odd"),
        ("../f", "Odd"),
        ("/etc", "Odd"),
        ("d", "Directory { is_opaque: false }"),
        ("o", "Directory { is_opaque: true }"),
        ("o/p", "Directory { is_opaque: true }"),
    ] {
        assert_eq!(node(path), expected, "{path}");
    }
    assert!(matches!(upper.entry("o/p/f"), Ok(Node::File(_))));
    let found = upper.walk("o", Bounds::default()).expect("a walk");
    let found: Vec<_> = found.iter().map(|touched| (touched.path.to_str(), touched.kind)).collect();
    assert_eq!(
        found,
        [
            (Some("o"), Kind::Directory { is_opaque: true }),
            (Some("o/p"), Kind::Directory { is_opaque: false }),
            (Some("o/p/f"), Kind::File),
        ]
    );
    assert!(upper.walk("", Bounds { entries: 3, ..Bounds::default() }).is_err());
}
