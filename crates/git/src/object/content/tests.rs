use super::*;

const HEX: &str = "257cc5642cb1a054f08cc83f2d943e56fd3ebe99";

fn tree(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut content = Vec::new();
    for (mode, name) in entries {
        content.extend_from_slice(mode.as_bytes());
        content.push(b' ');
        content.extend_from_slice(name);
        content.push(0);
        content.extend_from_slice(&[7; 20]);
    }
    content
}

fn refused(entries: &[(&str, &[u8])]) -> Malformed {
    references(Kind::Tree, &tree(entries)).unwrap_err()
}

#[test]
fn a_tree_refers_to_blobs_and_trees_but_not_to_submodules() {
    let content = tree(&[
        ("100644", b"a"),
        ("100755", b"a.b"),
        ("40000", b"b"),
        ("160000", b"c"),
        ("120000", b"d"),
    ]);
    let kinds: Vec<Kind> =
        references(Kind::Tree, &content).unwrap().into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [Kind::Blob, Kind::Blob, Kind::Tree, Kind::Blob]);
    assert_eq!(references(Kind::Tree, b""), Ok(vec![]));
}

#[test]
fn a_tree_has_only_names_of_work_trees() {
    for name in [
        ".git",
        ".GIT",
        ".giT",
        "git~1",
        "GIT~2",
        ".git.",
        ".git ",
        ".git::$INDEX_ALLOCATION",
        "..",
        ".",
        "",
        "a/b",
        "/",
        ".git/hooks",
        ".g\u{200c}it",
        "a\\.git",
        ".git\\hooks",
    ] {
        assert_eq!(refused(&[("100644", name.as_bytes())]), Malformed::Name, "{name:?}");
        assert_eq!(refused(&[("40000", name.as_bytes())]), Malformed::Name, "{name:?}");
    }
    for name in [".gitignore", ".gitmodules", "git", ".github", "a b", "\u{e9}", "-x", ".gi", "~1"]
    {
        assert!(references(Kind::Tree, &tree(&[("100644", name.as_bytes())])).is_ok(), "{name:?}");
    }
    assert!(references(Kind::Tree, &tree(&[("100644", b"\xff\xfe")])).is_ok());
}

#[test]
fn a_tree_is_in_order_and_without_duplicates() {
    let file = "100644";
    let directory = "40000";
    assert_eq!(refused(&[(file, b"b"), (file, b"a")]), Malformed::Order);
    assert_eq!(refused(&[(file, b"a"), (file, b"a")]), Malformed::Order);
    assert_eq!(refused(&[(directory, b"a"), (file, b"a.b")]), Malformed::Order);
    assert_eq!(refused(&[(file, b"a"), (directory, b"a")]), Malformed::Order);
    assert_eq!(
        refused(&[(file, b"a"), (file, b"a-b"), (file, b"a.c"), (directory, b"a")]),
        Malformed::Order
    );
    assert!(
        references(Kind::Tree, &tree(&[(file, b"a"), (file, b"a.b"), (directory, b"ab")])).is_ok()
    );
    assert!(
        references(Kind::Tree, &tree(&[(file, b"a.b"), (directory, b"a"), (file, b"a0")])).is_ok()
    );
}

#[test]
fn a_tree_has_only_modes_of_git() {
    for mode in
        ["100600", "100666", "0100644", "644", "", "40755", "060000", "140000", "+40000", "1"]
    {
        assert_eq!(refused(&[(mode, b"a")]), Malformed::Mode, "{mode:?}");
    }
    for mode in ["40000", "040000", "100644", "100664", "100755", "120000", "160000"] {
        assert!(references(Kind::Tree, &tree(&[(mode, b"a")])).is_ok(), "{mode:?}");
    }
}

#[test]
fn a_tree_ends_with_an_entry() {
    let whole = tree(&[("100644", b"a"), ("100644", b"b")]);
    for length in 1..whole.len() {
        let is_entry = length == whole.len() / 2;
        assert_eq!(references(Kind::Tree, &whole[..length]).is_ok(), is_entry, "{length}");
    }
    let mut nothing = tree(&[("100644", b"a")]);
    let begin = nothing.len() - 20;
    nothing[begin..].fill(0);
    assert_eq!(references(Kind::Tree, &nothing), Err(Malformed::Nothing));
}

fn commit(lines: &[&str]) -> Result<Vec<(Id, Kind)>, Malformed> {
    references(Kind::Commit, format!("{}\n\nmessage\n", lines.join("\n")).as_bytes())
}

#[test]
fn a_commit_refers_to_its_tree_and_parents() {
    let id = Id::from_hex(HEX.as_bytes()).unwrap();
    let lines = [
        &format!("tree {HEX}"),
        &format!("parent {HEX}"),
        &format!("parent {HEX}"),
        "author A U Thor <a@example.com> 1700000000 +0100",
        "committer <> 0 -0000",
        "gpgsig -----BEGIN PGP SIGNATURE-----",
        " x",
    ];
    assert_eq!(commit(&lines), Ok(vec![(id, Kind::Tree), (id, Kind::Commit), (id, Kind::Commit)]));
}

#[test]
fn a_commit_has_its_headers_in_their_order() {
    let tree = format!("tree {HEX}");
    let parent = format!("parent {HEX}");
    let author = "author A <a> 1 +0000";
    let committer = "committer A <a> 1 +0000";
    assert!(commit(&[&tree, author, committer]).is_ok());
    assert_eq!(commit(&[author, committer]), Err(Malformed::Header("tree")));
    assert_eq!(commit(&[&parent, &tree, author, committer]), Err(Malformed::Header("tree")));
    assert_eq!(commit(&[&tree, committer]), Err(Malformed::Header("author")));
    assert_eq!(commit(&[&tree, author]), Err(Malformed::Header("committer")));
    assert_eq!(commit(&[&tree, author, &parent, committer]), Err(Malformed::Header("committer")));
    assert_eq!(commit(&[&tree, "parent x", author, committer]), Err(Malformed::Header("parent")));
    let upper = format!("tree {}", HEX.to_uppercase());
    assert_eq!(commit(&[&upper, author, committer]), Err(Malformed::Header("tree")));
    let nothing = format!("parent {}", Id::NONE);
    assert_eq!(commit(&[&tree, &nothing, author, committer]), Err(Malformed::Nothing));
    for wrong in [
        "author A 1 +0000",
        "author A <a>",
        "author A <a> x +0000",
        "author A <a> 1 0000",
        "author A <a> 1",
        "author A <a> 1 +0000 x",
        "author A a> 1 +0000",
    ] {
        assert_eq!(
            commit(&[&tree, wrong, committer]),
            Err(Malformed::Identity("author")),
            "{wrong}"
        );
    }
    let hidden = format!("{tree}\n{author}\n{committer}\n\nshown\0hidden");
    assert_eq!(references(Kind::Commit, hidden.as_bytes()), Err(Malformed::Zero));
}

#[test]
fn a_tag_refers_to_an_object_of_its_type() {
    let tag = |kind: &str| {
        format!("object {HEX}\ntype {kind}\ntag v1\ntagger A <a> 1 +0000\n\nmessage\n")
    };
    let id = Id::from_hex(HEX.as_bytes()).unwrap();
    for kind in [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag] {
        assert_eq!(references(Kind::Tag, tag(kind.name()).as_bytes()), Ok(vec![(id, kind)]));
    }
    assert_eq!(references(Kind::Tag, tag("thing").as_bytes()), Err(Malformed::Header("type")));
    let old = format!("object {HEX}\ntype commit\ntag v0\n\nwithout a tagger\n");
    assert!(references(Kind::Tag, old.as_bytes()).is_ok());
}
