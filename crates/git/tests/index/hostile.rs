//! Indexes that no git writes.

use proptest::prelude::*;
use proptest::sample::Index as Choice;
use toolwright_git::index::{Index, IndexError, Limits, Reading, Source};

use super::file::{FILE, GITLINK, LINK, Line, sealed, written};
use super::repository::{listed, parse};
use super::times;

fn command(lines: &[Line]) -> Result<Index, IndexError> {
    parse(&written(lines, &[]), Source::Command)
}

#[test]
fn no_path_leads_out_of_the_work_tree_or_into_a_repository() {
    for path in [
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "./a",
        "a/.",
        ".git",
        ".git/config",
        "a/.git/config",
        ".GIT/x",
        "a/.Git",
        ".git./x",
        ".git /x",
        ".git...",
        "git~1/x",
        "GIT~1",
        ".git::$INDEX_ALLOCATION/x",
        ".git:x",
        "a\\.git\\config",
        "..\\.git",
        ".g\u{200c}it/x",
        "\u{feff}.git",
        ".gi\u{200d}t",
        "a/.git\u{200e}/b",
    ] {
        let refused = command(&[Line::new(path, 1)]);
        let is_refused = matches!(&refused, Err(IndexError::Path(it)) if it == path.as_bytes());
        assert!(is_refused, "{path:?}: {refused:?}");
    }
    for path in [
        ".gitignore",
        ".gitmodules",
        "a/.gitattributes",
        ".github/x",
        "git/x",
        "a b",
        "\u{e4}",
        "-x",
        "...",
    ] {
        assert!(command(&[Line::new(path, 1)]).is_ok(), "{path:?}");
    }
    for (length, is_accepted) in [(4_094, true), (4_095, true), (4_096, true), (4_097, false)] {
        let long = "x/".repeat(2_100)[..length - 1].to_owned() + "y";
        assert_eq!(command(&[Line::new(&long, 1)]).is_ok(), is_accepted, "{length}");
    }
    let link = |path| Line { mode: LINK, ..Line::new(path, 1) };
    for path in [".gitmodules", "a/.GitModules", ".gitmodules ", "gitmod~1"] {
        assert!(matches!(command(&[link(path)]), Err(IndexError::Path(_))), "{path}");
    }
    assert!(command(&[link("a")]).is_ok());
}

#[test]
fn entries_have_an_order_a_mode_and_an_object() {
    let [a, b] = ["a", "b"].map(|path| Line::new(path, 1));
    let stage = |stage, line: &Line| Line { stage, ..line.clone() };
    assert!(command(&[a.clone(), b.clone()]).is_ok());
    assert!(command(&[stage(1, &a), stage(3, &a), b.clone()]).is_ok());
    for lines in [
        vec![b.clone(), a.clone()],
        vec![a.clone(), a.clone()],
        vec![a.clone(), stage(1, &a)],
        vec![stage(2, &a), stage(1, &a)],
        vec![stage(2, &a), stage(2, &a)],
        vec![Line::new("", 1)],
    ] {
        assert!(matches!(command(&lines), Err(IndexError::Order(_))), "{lines:?}");
        assert!(parse(&written(&lines, &[]), Source::Person).is_err());
    }
    for mode in
        [0, 0o40_000, 0o100_600, 0o100_664, 0o100_000, 0o104_755, 0o20_644, 0o140_644, u32::MAX]
    {
        let lines = [Line { mode, ..a.clone() }];
        assert!(matches!(command(&lines), Err(IndexError::Mode(_))), "{mode:o}");
    }
    assert!(command(&[Line { mode: GITLINK, ..a.clone() }]).is_ok());
    assert_eq!(command(&[Line::new("a", 0)]).map(|_| ()), Err(IndexError::NoObject(b"a".into())));
}

#[test]
fn no_path_is_a_file_and_a_directory() {
    for between in [&["a-b", "a.c"][..], &[], &["a!", "a+", "a-", "a."]] {
        let mut paths = vec!["a"];
        paths.extend(between);
        paths.push("a/b/c");
        let lines: Vec<Line> = paths.iter().map(|path| Line::new(path, 1)).collect();
        assert_eq!(command(&lines).map(|_| ()), Err(IndexError::FileAndDirectory(b"a/b/c".into())));
        // As git has it, stages of a conflict are judged apart.
        let first = Line { stage: 2, ..lines[0].clone() };
        assert!(command(&[&[first], &lines[1..]].concat()).is_ok());
    }
}

#[test]
fn counts_and_lengths_allocate_nothing() {
    let file = |version: u8, count: u32, rest: &[u8]| {
        let mut bytes = [b"DIRC\0\0\0", &[version][..]].concat();
        bytes.extend(count.to_be_bytes());
        bytes.extend(rest);
        sealed(bytes)
    };
    assert!(matches!(parse(&file(2, u32::MAX, b""), Source::Command), Err(IndexError::TooLarge)));
    assert!(matches!(parse(&file(2, 9_999, b""), Source::Command), Err(IndexError::Broken(12))));
    for version in [0, 1, 5, 255] {
        assert!(matches!(parse(&file(version, 0, b""), Source::Command), Err(IndexError::Header)));
    }
    let extension = |signature: &[u8], length: u32| {
        parse(&file(2, 0, &[signature, &length.to_be_bytes()].concat()), Source::Command)
    };
    assert!(matches!(extension(b"TREE", u32::MAX), Err(IndexError::Broken(_))));
    assert!(matches!(extension(b"fsmn", 0), Err(IndexError::Extension(_))));
    assert!(extension(b"ABCD", 0).is_ok());
    // In version 4, a path takes three bytes and is as long as the one before it.
    let mut bytes = b"DIRC\0\0\0\x04".to_vec();
    bytes.extend(5_000_u32.to_be_bytes());
    for number in 0..5_000_u32 {
        bytes.extend([0; 24]);
        bytes.extend(FILE.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend([1; 20]);
        let own = if number == 0 { "x".repeat(4_000) } else { format!("{number:05}") };
        bytes.extend(4_000_u16.to_be_bytes());
        bytes.push(if number == 0 { 0 } else { 5 });
        bytes.extend(own.bytes());
        bytes.push(0);
    }
    assert!(parse(&sealed(bytes), Source::Command).is_err());
    let bytes = written(&[Line::new("a", 1)], &[]);
    let limits = Limits { bytes: bytes.len() - 1, entries: 10 };
    let reading = Reading { source: Source::Person, limits, shared: &|_| None, tree: &|_| None };
    assert_eq!(Index::parse(&bytes, &reading).map(|_| ()), Err(IndexError::TooLarge));
}

#[test]
fn a_run_of_a_split_index_has_a_bound() {
    for run in [u64::MAX, 1 | 0xffff_ffff << 1, 3, 1 | 1 << 33] {
        let set =
            [&64_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &run.to_be_bytes(), &[0; 4]].concat();
        let shared = written(&[Line::new("a", 1)], &[]);
        let id: [u8; 20] = shared[shared.len() - 20..].try_into().unwrap();
        let link = [&id[..], &set, &set].concat();
        let limits = Limits { bytes: 1 << 20, entries: 100 };
        let give = |_: &_| Some(shared.clone());
        let reading = Reading { source: Source::Command, limits, shared: &give, tree: &|_| None };
        let bytes = written(&[], &[(b"link", link)]);
        assert!(matches!(Index::parse(&bytes, &reading), Err(IndexError::Broken(_))), "{run:x}");
    }
}

#[test]
fn trees_within_trees_come_to_an_end() {
    let line = Line { mode: 0o40_000, skips_worktree: true, ..Line::new("d/", 1) };
    let bytes = written(&[line], &[(b"sdir", Vec::new())]);
    let wide: Vec<u8> = (0..100)
        .flat_map(|number| [format!("40000 {number}\0").as_bytes(), &[1; 20]].concat())
        .collect();
    let deep = [b"40000 d\0", &[1; 20][..]].concat();
    for content in [wide, deep, b"100644 a".to_vec(), b"40000 \0".to_vec(), b"x".to_vec()] {
        let tree = |_: &_| Some(content.clone());
        let limits = Limits { bytes: 1 << 20, entries: 10_000 };
        let reading = Reading { source: Source::Command, limits, shared: &|_| None, tree: &tree };
        assert!(Index::parse(&bytes, &reading).is_err());
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Byte(Choice, u8),
    Cut(Choice),
    Twice(Choice, Choice),
    Gone(Choice, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<Choice>;
    prop_oneof![
        6 => (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => place().prop_map(Damage::Cut),
        1 => (place(), place()).prop_map(|(from, to)| Damage::Twice(from, to)),
        1 => (place(), any::<u8>()).prop_map(|(at, count)| Damage::Gone(at, count)),
    ]
}

fn sound() -> Vec<u8> {
    let mut lines: Vec<Line> =
        ["a", "a-b", "b/c", "b/d/e", "z"].iter().map(|path| Line::new(path, 7)).collect();
    lines[1].skips_worktree = true;
    lines[2].is_intent_to_add = true;
    lines[3].stage = 2;
    let tree = b"\x005 1\n".iter().chain(&[3; 20]).chain(b"b\x002 0\n").chain(&[4; 20]).copied();
    written(&lines, &[(b"TREE", tree.collect()), (b"UNTR", vec![1, 2, 3]), (b"FSMN", vec![0; 12])])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_an_error_or_an_index_that_holds(damages in prop::collection::vec(damage(), 1..6), is_v4 in any::<bool>()) {
        let mut bytes = sound();
        bytes.truncate(bytes.len() - 20);
        if is_v4 {
            bytes[7] = 4;
        }
        for damage in damages {
            if bytes.is_empty() {
                break;
            }
            match damage {
                Damage::Byte(at, byte) => { let at = at.index(bytes.len()); bytes[at] = byte; }
                Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
                Damage::Twice(from, to) => {
                    let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                    let piece = bytes[from.min(to)..from.max(to)].to_vec();
                    bytes.splice(to..to, piece);
                }
                Damage::Gone(at, count) => {
                    let at = at.index(bytes.len());
                    bytes.drain(at..(at + usize::from(count)).min(bytes.len()));
                }
            }
        }
        let bytes = sealed(bytes);
        for source in [Source::Person, Source::Command] {
            let Ok(index) = parse(&bytes, source) else { continue };
            let again = parse(&index.to_bytes(), source).unwrap();
            prop_assert_eq!(listed(&again), listed(&index));
            prop_assert!(again.entries().eq(index.entries()));
        }
    }
}
