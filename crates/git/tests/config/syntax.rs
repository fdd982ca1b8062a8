//! The parser and the writer of git's configuration, beside git itself.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use toolwright_git::config::{Config, Value, changes, with_changes};

use super::by_git::{by_git, has_git};
use super::times;

fn by_us(text: &[u8]) -> Option<Vec<(Vec<u8>, Value)>> {
    let config = Config::parse(text)?;
    let settings = config.settings().iter();
    Some(settings.map(|one| (one.name.clone(), one.value.clone())).collect())
}

/// Pieces of which most texts make some sense, and many none.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let usual: Vec<&[u8]> = vec![
        b"[core]",
        b"[Core]\n",
        b"[remote \"origin\"]\n",
        b"[a.B.c]",
        b"[a \"b.c\"]",
        b"[a  \"q\\\"\\\\x\"]",
        b"name",
        b"key-2",
        b"KEY",
        b" = ",
        b"=",
        b"\t",
        b" ",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r",
        b"value",
        b"two words",
        b"\"",
        b"\"quoted ; # \"",
        b"\\n",
        b"\\t",
        b"\\b",
        b"\\\\",
        b"\\\"",
        b"\\\n",
        b"\\x",
        b"#",
        b"; comment\n",
        b"# c",
        b"[",
        b"]",
        b"'",
        b"a = b\n",
        b"a\n",
        b"\xc3\xa4",
        b"\x0b",
        b"!",
        b"name = v # c\n",
        b"  x = 1  \n",
        b"\xef\xbb\xbf",
        b"[x]y=z\n",
        b"_",
        b"0",
        b"[a \"b\" ]",
    ];
    select(usual).prop_map(<[u8]>::to_vec)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

/// Texts that git reads.
fn sound() -> impl Strategy<Value = Vec<u8>> {
    let section =
        select(vec!["[core]", "[user]", "[remote \"a\"]", "[remote \"b.c\"]", "[branch.old]"]);
    let key = select(vec!["url", "Name", "email", "fetch", "x-y"]);
    let value = select(vec![
        "",
        " = v",
        " = \" s \"",
        "=1 # c",
        " = a\\nb",
        " = \"q\\\"\\\\\"",
        " = a;b",
        " = \u{e4}",
    ]);
    let end = select(vec!["\n", "\r\n", "\n\n# c\n"]);
    let line = (key, value, end).prop_map(|(key, value, end)| format!("\t{key}{value}{end}"));
    let block = (section, select(vec!["\n", " ", " ; c\n"]), prop::collection::vec(line, 0..4));
    let block = block.prop_map(|(section, end, lines)| format!("{section}{end}{}", lines.concat()));
    prop::collection::vec(block, 0..5).prop_map(|blocks| blocks.concat().into_bytes())
}

fn as_map(settings: Vec<(Vec<u8>, Value)>) -> BTreeMap<Vec<u8>, Vec<Value>> {
    let mut map: BTreeMap<Vec<u8>, Vec<Value>> = BTreeMap::new();
    for (name, value) in settings {
        map.entry(name).or_default().push(value);
    }
    map
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_read_as_git_reads_them(text in text()) {
        prop_assume!(has_git());
        let text = [b"[s]\n", &*text].concat();
        prop_assert_eq!(by_us(&text), by_git(&text));
    }

    #[test]
    fn changes_make_one_configuration_of_another(before in sound(), after in sound()) {
        prop_assume!(has_git());
        let (from, to) = (Config::parse(&before).expect("read"), Config::parse(&after).expect("read"));
        let written = with_changes(&from, &changes(&from, &to)).expect("written");
        let git = by_git(&written);
        prop_assert!(git.is_some(), "{}", String::from_utf8_lossy(&written));
        let expected = as_map(by_us(&after).expect("read"));
        prop_assert_eq!(as_map(git.unwrap_or_default()), expected);
        prop_assert_eq!(with_changes(&from, &[]).expect("written"), before);
    }
}

#[test]
fn lines_are_written_where_git_writes_them() {
    let text =
        "# mine\n[core]\n\tbare = false ; kept\n[user] name = a\n\temail = b\n[x]\n\ty = 1\n";
    let change = |after: &str| {
        let config = Config::parse(text.as_bytes()).expect("read");
        let after = Config::parse(after.as_bytes()).expect("read");
        let written = with_changes(&config, &changes(&config, &after)).expect("written");
        String::from_utf8(written).expect("text")
    };
    let with = |line: &str| change(&text.replace("[x]", &format!("{line}[x]")));
    assert_eq!(change(text), text);
    assert_eq!(
        with("[core]\n\tFileMode = true\n"),
        text.replace("kept\n", "kept\n\tFileMode = true\n"),
    );
    assert_eq!(with("[new \"s\"]\n\tk = v\n"), format!("{text}[new \"s\"]\n\tk = v\n"));
    assert_eq!(change(&text.replace("y = 1", "y = \" 2\"")), text.replace("y = 1", "y = \" 2\""));
    assert_eq!(change(&text.replace("[x]\n\ty = 1\n", "")), text.replace("[x]\n\ty = 1\n", ""));
    assert_eq!(
        change(&text.replace(" name = a\n", "\n")),
        text.replace("[user] name = a\n", "[user] \n"),
    );
    let broken =
        ["x = 1", "[a", "[a]\n1 = 2", "[a]\nb = \"c", "[a]\nb = \\q", "[a \"b]", "[a]\nb \0"];
    for text in broken {
        assert_eq!(Config::parse(text.as_bytes()), None, "{text}");
    }
}
