//! References as data: names, values and `packed-refs`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use proptest::prelude::*;
use toolwright_git::object::Id;
use toolwright_git::refs::packed::{self, Entry};
use toolwright_git::refs::{Head, Packed, RefName, RefValue};

const SOME: &str = "1111111111111111111111111111111111111111";

fn name(text: &str) -> RefName {
    RefName::parse(text.as_bytes()).expect(text)
}

#[test]
fn a_name_that_could_be_taken_for_something_else_is_none() {
    for text in [
        "refs/heads/main",
        "refs/heads/a/b/c",
        "refs/tags/v1.0",
        "refs/stash",
        "refs/notes/commits",
        "refs/remotes/origin/HEAD",
        "refs/heads/grün",
        "refs/heads/@",
        "refs/heads/a{b}",
        "refs/bisect/bad",
    ] {
        assert!(RefName::parse(text.as_bytes()).is_ok(), "{text}");
    }
    for text in [
        "HEAD",
        "refs",
        "refs/heads",
        "refs/x",
        "refs/stashes",
        "heads/main",
        "/refs/heads/a",
        "refs/heads/",
        "refs//heads/a",
        "refs/heads/a b",
        "refs/heads/a\tb",
        "refs/heads/a\u{1b}[31m",
        "refs/heads/a\u{9b}1m",
        "refs/heads/a\n",
        "refs/heads/~a",
        "refs/heads/a^",
        "refs/heads/a:b",
        "refs/heads/a?",
        "refs/heads/*",
        "refs/heads/[a",
        "refs/heads/a\\b",
        "refs/heads/..",
        "refs/heads/a..b",
        "refs/heads/.a",
        "refs/heads/a.",
        "refs/heads/a.lock",
        "refs/heads/a.lock/b",
        "refs/heads/a@{1}",
        "refs/heads/-a",
        "refs/heads/a/-b",
        "refs/-x/a",
        "refs/heads/HEAD",
        "refs/tags/HEAD",
        "refs/heads/1111111111111111111111111111111111111111",
        "refs/replace/1111111111111111111111111111111111111111",
        "refs/replace/a/b",
        "refs/toolwright/x/heads/a",
        "refs/toolwright/x",
        "refs/heads/a\u{7f}",
        "refs/heads/a\0",
    ] {
        assert!(RefName::parse(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(RefName::parse(b"refs/heads/\xff").is_err());
    assert!(RefName::parse(format!("refs/heads/{}", "a/".repeat(40) + "a").as_bytes()).is_err());
    assert!(RefName::parse(format!("refs/heads/{}", "a".repeat(251)).as_bytes()).is_err());
}

#[test]
fn only_the_host_names_what_is_kept() {
    let kept = RefName::kept("x7", &name("refs/heads/main")).expect("a name");
    assert_eq!(kept.as_str(), "refs/toolwright/x7/heads/main");
    for id in ["", "..", "a/b", "-", "a.lock"] {
        assert!(RefName::kept(id, &name("refs/heads/main")).is_err(), "{id}");
    }
}

#[test]
fn values_are_written_as_they_are_read() {
    for text in [format!("{SOME}\n"), "ref: refs/heads/main\n".to_owned()] {
        assert_eq!(RefValue::parse(text.as_bytes()).expect("a value").content(), text.as_bytes());
        assert_eq!(Head::parse(text.as_bytes()).expect("a value").content(), text.as_bytes());
    }
    for text in [
        "",
        "\n",
        "ref: HEAD",
        "ref: ../../x",
        "ref:refs/heads/main",
        "1111",
        "ref: refs/heads/a\nb\n",
    ] {
        assert!(RefValue::parse(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(Head::parse(b"ref: refs/tags/v1\n").is_err());
    assert!(Head::parse(b"ref: refs/heads/.invalid\n").is_err());
}

/// Git is the oracle: what it refuses, we refuse.
#[test]
fn git_takes_every_name_that_is_taken() {
    if Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let alphabet: Vec<char> = "ab-./@{}~^:?*[\\ \té\u{1}HEAD".chars().collect();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut taken = 0;
    for _ in 0..300 {
        let mut text = "refs/heads/".to_owned();
        for _ in 0..=((random >> 7) % 7) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(alphabet[usize::try_from(random >> 40).expect("an index") % alphabet.len()]);
        }
        if RefName::parse(text.as_bytes()).is_ok() {
            taken += 1;
            let status =
                Command::new("git").args(["check-ref-format", &text]).status().expect("git");
            assert!(status.success(), "{text:?}");
        }
    }
    assert!(taken > 20, "{taken}");
}

fn entries() -> impl Strategy<Value = Packed> {
    let entry = ("[a-z]{1,3}(/[a-z]{1,3}){0,2}", any::<[u8; 20]>(), any::<Option<[u8; 20]>>());
    proptest::collection::vec(entry, 0..40).prop_map(|entries| {
        let mut packed = Packed::default();
        packed.update(
            entries
                .into_iter()
                .map(|(name, id, peeled)| {
                    let name: Box<[u8]> = format!("refs/heads/{name}").into_bytes().into();
                    let entry =
                        Entry { name: name.clone(), id: Id::new(id), peeled: peeled.map(Id::new) };
                    (name, Some(entry))
                })
                .collect(),
        );
        packed
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packed_refs_are_parsed_as_they_are_written(packed in entries()) {
        prop_assert_eq!(packed::parse(&packed::write(&packed)), Ok(packed));
    }

    #[test]
    fn the_differences_of_packed_refs_are_exact(one in entries(), other in entries()) {
        let map = |packed: &Packed| -> BTreeMap<Vec<u8>, Id> {
            packed.entries().iter().map(|entry| (entry.name.to_vec(), entry.id)).collect()
        };
        let (left, right) = (map(&one), map(&other));
        let names: BTreeSet<&Vec<u8>> = left.keys().chain(right.keys()).collect();
        let different: Vec<&[u8]> =
            names.into_iter().filter(|name| left.get(*name) != right.get(*name)).map(|name| &name[..]).collect();
        prop_assert_eq!(one.differences(&other), different);
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in any::<Vec<u8>>(), text in "(# pack-refs with: |[0-9a-f]{40}| |\\^|refs/heads/|\n|x){0,40}") {
        for content in [&bytes[..], text.as_bytes()] {
            if let Ok(packed) = packed::parse(content) {
                prop_assert_eq!(packed::parse(&packed::write(&packed)), Ok(packed));
            }
            let _ = (RefName::parse(content), RefValue::parse(content), Head::parse(content));
        }
    }
}
