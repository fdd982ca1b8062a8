#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// Parts of names that together often make a spelling of `.git`.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => prop::sample::select(vec![".git", ".GiT", "git~1", "GIT~1", "git", ".g", "it", "t", "~1"]),
        3 => prop::sample::select(vec![".", " ", ":", ":x", "\\", "::$INDEX_ALLOCATION", "x", "~", "2"]),
        2 => prop::sample::select(vec![
            "\u{200c}", "\u{200f}", "\u{202e}", "\u{206a}", "\u{feff}", "\u{ad}", "\u{200b}", "ı", "é",
        ]),
        1 => prop::sample::select(vec!["\u{1}", "\n", "\"", "-"]),
    ];
    let bytes =
        prop_oneof![9 => part.prop_map(|part| part.as_bytes().to_vec()), 1 => Just(vec![0xff])];
    prop::collection::vec(bytes, 1..6).prop_map(|parts| parts.concat())
}

static ORACLE: LazyLock<Option<Oracle>> = LazyLock::new(Oracle::new);

/// A repository in which git judges names.
struct Oracle(tempfile::TempDir);

impl Oracle {
    /// Nothing where there is no git.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let made = Command::new("git").arg("init").arg("-q").arg(directory.path()).status();
        made.is_ok_and(|status| status.success()).then_some(Self(directory))
    }

    /// Whether git takes a path into its index.
    fn accepts(&self, path: &[u8]) -> bool {
        let entry = OsString::from("100644,1111111111111111111111111111111111111111,");
        let entry: OsString = [&*entry, OsStr::from_bytes(path)].into_iter().collect();
        let protects = ["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"];
        let mut git = Command::new("git");
        git.arg("-C").arg(self.0.path()).args(protects);
        git.args(["update-index", "--add", "--cacheinfo"]).arg(entry);
        git.output().unwrap().status.success()
    }
}

/// The characters that HFS+ ignores, as git lists them.
fn ignored_by_hfs() -> impl Iterator<Item = char> {
    let ranges = [0x200c..=0x200f, 0x202a..=0x202e, 0x206a..=0x206f, 0xfeff..=0xfeff];
    ranges.into_iter().flatten().filter_map(char::from_u32)
}

#[test]
fn every_spelling_that_git_refuses_is_one() {
    let Some(git) = &*ORACLE else { return };
    let mut spellings: Vec<String> = [
        ".git", ".GIT", ".gIt", "git~1", "GIT~1", ".git.", ".git ", ".git . .", ".git:x",
        "git~1 .:",
    ]
    .map(str::to_owned)
    .into();
    spellings
        .extend([".git\\x", "a\\.git", "a\\git~1", ".git::$INDEX_ALLOCATION"].map(str::to_owned));
    for ignored in ignored_by_hfs() {
        spellings.push(format!(".g{ignored}it"));
        spellings.push(format!("{ignored}.git"));
        spellings.push(format!(".GIT{ignored}"));
    }
    for name in &spellings {
        assert!(!git.accepts(name.as_bytes()), "git takes {name:?} for another name");
        assert!(is_git_directory_name(name.as_bytes()), "{name:?}");
        assert!(!is_allowed_tree_entry(name.as_bytes()), "{name:?}");
        assert!(holds_git_name(&Path::new("a").join(name).join("b")), "{name:?}");
    }
}

#[test]
fn names_that_other_file_systems_take_for_it_are_spellings_too() {
    for name in [
        ".g\u{ad}it",
        ".git\u{e0100}",
        ".\u{200b}git",
        ".gıt",
        ".GİT",
        "git~2",
        "GI7D29~1",
        "git~12 ",
    ] {
        assert!(is_git_directory_name(name.as_bytes()), "{name:?}");
    }
}

#[test]
fn ordinary_names_are_ordinary() {
    for name in [
        "",
        ".",
        "..",
        "git",
        "a.git",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".gitkeep",
        ".github",
        ".git-blame-ignore-revs",
        ".gitlab-ci.yml",
        "git~",
        "git~x",
        "gi1234",
        "gi12~1",
        ".git~1",
        "..git",
        " .git",
        "a:.git",
        "digit",
        "Δ.git",
        ".git\u{301}",
    ] {
        assert!(!is_git_directory_name(name.as_bytes()), "{name:?}");
    }
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0b", b"/"] {
        assert!(!is_allowed_tree_entry(name), "{name:?}");
    }
    for name in [&b"a"[..], b"...", b"a\\b", b"\xff", "é".as_bytes(), b".gitmodules"] {
        assert!(is_allowed_tree_entry(name), "{name:?}");
    }
}

#[test]
fn marks_are_found_by_every_name_of_them() {
    for mark in Mark::ALL {
        let name = mark.name();
        for one in [name.to_owned(), name.to_uppercase(), name.to_lowercase(), format!("{name}. ")]
        {
            assert_eq!(Mark::of(one.as_bytes()), Some(mark), "{one}");
        }
        assert_eq!(Mark::of(format!("{name}:x").as_bytes()), Some(mark));
        for one in [format!("{name}x"), format!("x{name}"), format!("{name}.lock")] {
            assert_eq!(Mark::of(one.as_bytes()), None, "{one}");
        }
    }
    assert_eq!(Mark::of("ref\u{17f}".as_bytes()), Some(Mark::Refs));
    assert_eq!(Mark::of("H\u{200c}EAD".as_bytes()), Some(Mark::Head));
}

/// git itself says which files make a directory its own.
#[test]
fn the_marks_are_those_of_git() {
    if ORACLE.is_none() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let home = base.path().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let status =
        Command::new("git").args(["init", "-q", "--bare"]).arg(base.path().join("shared")).status();
    assert!(status.unwrap().success());
    for bits in 0..16_u32 {
        let has = |mark: Mark| Ok::<_, Infallible>(bits & (1 << mark as u32) != 0);
        let place = base.path().join(format!("{bits}"));
        std::fs::create_dir(&place).unwrap();
        for mark in Mark::ALL.into_iter().filter(|mark| has(*mark).unwrap()) {
            let path = place.join(mark.name());
            match mark {
                Mark::Head => std::fs::write(path, "ref: refs/heads/x\n").unwrap(),
                Mark::CommonDir => std::fs::write(path, "../shared\n").unwrap(),
                Mark::Objects | Mark::Refs => std::fs::create_dir(path).unwrap(),
            }
        }
        let git = Command::new("git")
            .args(["rev-parse", "--git-dir"])
            .current_dir(&place)
            .env("GIT_CEILING_DIRECTORIES", base.path())
            .env("HOME", &home)
            .output()
            .unwrap();
        assert_eq!(git.status.success(), makes_git_directory(has).unwrap(), "{bits:04b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_git_refuses_is_a_spelling(names in prop::collection::vec(name(), 1..3)) {
        let Some(git) = &*ORACLE else { return Ok(()) };
        for name in names {
            prop_assert!(
                git.accepts(&name) || !is_allowed_tree_entry(&name),
                "{:?}", OsStr::from_bytes(&name)
            );
        }
    }

    #[test]
    fn a_spelling_stays_one_in_other_letters_and_with_what_nobody_sees(
        name in name(), at in any::<prop::sample::Index>(), ignored in prop::sample::select(ignored_by_hfs().collect::<Vec<_>>()),
    ) {
        let Ok(text) = std::str::from_utf8(&name) else { return Ok(()) };
        let is_one = is_git_directory_name(&name);
        prop_assert_eq!(is_git_directory_name(&name.to_ascii_uppercase()), is_one);
        let at = text.char_indices().map(|(at, _)| at).nth(at.index(text.chars().count())).unwrap_or(0);
        let with = format!("{}{ignored}{}", &text[..at], &text[at..]);
        prop_assert_eq!(is_git_directory_name(with.as_bytes()), is_one);
    }

    #[test]
    fn any_bytes_have_an_answer(name in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = (is_git_directory_name(&name), is_allowed_tree_entry(&name), Mark::of(&name));
    }
}
