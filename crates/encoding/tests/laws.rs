//! Nothing is lost on the way to UTF-8 and back, and no letter is written in an encoding that a file does not name.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_encoding::Declared;
use toolwright_encoding::utf16::{ByteOrder, Decoder, decode, encode};

fn bytes_of(units: &[u16], order: ByteOrder) -> Vec<u8> {
    let bytes = |unit: &u16| match order {
        ByteOrder::Little => unit.to_le_bytes(),
        ByteOrder::Big => unit.to_be_bytes(),
    };
    std::iter::once(&0xfeff).chain(units).flat_map(bytes).collect()
}

fn order() -> impl Strategy<Value = ByteOrder> {
    prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)]
}

/// Units of text, with halves of pairs among them.
fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![1_u16..0x80, 1_u16.., 0xd800_u16..0xe000, Just(10), Just(13)];
    vec(unit, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn utf16_comes_back_bit_for_bit(units in units(), order in order()) {
        let bytes = bytes_of(&units, order);
        let (found, text) = decode(&bytes).unwrap();
        prop_assert_eq!(found, order);
        prop_assert_eq!(encode(&text, order), bytes);
        let expected = String::from_utf16(&units);
        if let Ok(expected) = expected {
            prop_assert_eq!(String::from_utf8(text).unwrap(), format!("\u{feff}{expected}"));
        } else {
            prop_assert!(String::from_utf8(text).is_err());
        }
    }

    #[test]
    fn parts_make_no_difference(units in units(), order in order(), parts in vec(1_usize..9, 1..20)) {
        let bytes = bytes_of(&units, order);
        let (mut decoder, mut text, mut rest) = (Decoder::new(order), Vec::new(), &bytes[..]);
        for part in parts {
            let (now, later) = rest.split_at(part.min(rest.len()));
            decoder.push(now, &mut text);
            rest = later;
        }
        decoder.push(rest, &mut text);
        decoder.end(&mut text);
        prop_assert_eq!(text, decode(&bytes).unwrap().1);
    }

    /// Whatever a file names, what is added to it can be read in the same encoding as the rest.
    #[test]
    fn declared_letters_are_written_as_they_are_read(
        label in prop::sample::select(vec!["iso-8859-1", "windows-1252", "shift_jis", "euc-jp", "gbk", "koi8-r", "iso-8859-2", "big5", "euc-kr", "gb18030"]),
        old in "[ -~éßñ日本語あアжд中文€—]{0,20}",
        added in "[ -~éßñ日本語あアжд中文€—¥‾½]{0,20}",
    ) {
        let encoding = encoding_rs_label(label);
        let declaration = format!("# -*- coding: {label} -*-\n");
        let has = |letter: &char| !encoding.encode(letter.encode_utf8(&mut [0; 4])).2;
        let body: String = old.chars().filter(has).collect();
        let body = encoding.encode(&body).0;
        let file = [declaration.as_bytes(), &body].concat();
        let Some(declared) = Declared::of(&file) else {
            // Its letters are valid UTF-8 by chance, or not written back the same.
            let text = encoding.decode_without_bom_handling(&file).0;
            prop_assert!(str::from_utf8(&file).is_ok() || *encoding.encode(&text).0 != *file);
            return Ok(());
        };
        if let Some(bytes) = declared.encode(&added) {
            let whole = [&file[..], &bytes].concat();
            let (text, has_errors) = encoding.decode_without_bom_handling(&whole);
            prop_assert!(!has_errors);
            prop_assert!(text.ends_with(&added));
        }
    }
}

fn encoding_rs_label(label: &str) -> &'static encoding_rs::Encoding {
    encoding_rs::Encoding::for_label(label.as_bytes()).unwrap()
}

fn name_in(file: &[u8]) -> Option<&'static str> {
    Declared::of(file).map(Declared::name)
}

#[test]
fn files_name_their_encoding_in_many_ways() {
    for (file, name) in [
        ("<?xml version='1.0' encoding='ISO-8859-1'?>\n<a/>", Some("windows-1252")),
        (
            "<meta http-equiv=Content-Type content=\"text/html; charset=Shift_JIS\">",
            Some("Shift_JIS"),
        ),
        ("<meta charset='gb2312'>", Some("GBK")),
        ("@charset \"euc-jp\";\n", Some("EUC-JP")),
        ("#!/usr/bin/python\n# -*- coding: latin-1 -*-\n", Some("windows-1252")),
        ("# coding=cp932\n", Some("Shift_JIS")),
        ("/* -*- mode: C; coding: euc-jp-unix -*- */\n", Some("EUC-JP")),
        ("x\n\n# vim: set ts=8 fileencoding=big5 :\n", Some("Big5")),
        (
            "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=KOI8-R\\n\"\n",
            Some("KOI8-R"),
        ),
        ("# -*- coding: utf-8 -*-\n", None),
        ("# coding: nonsense\n", None),
        ("# coding: us-ascii\n", None),
        ("# -*- coding: latin-1 -*-\n# vim: fileencoding=euc-jp\n", None),
        ("x\n\n\n# coding: latin-1\n", None),
        ("the charset=latin1 of a text\n", None),
        ("send('Content-Type: text/html; charset=latin1')\n", None),
        ("page = '<meta charset=latin1>'\n", None),
        ("", None),
    ] {
        assert_eq!(name_in(file.as_bytes()), name, "{file}");
    }
}

#[test]
fn a_name_that_is_wrong_counts_for_nothing() {
    assert_eq!(name_in("# coding: latin-1\n# caf\u{e9}\n".as_bytes()), None);
    assert_eq!(name_in(b"# coding: euc-jp\n# caf\xe9\n"), None);
    assert_eq!(name_in(b"# coding: latin-1\n# caf\xe9\n"), Some("windows-1252"));
}

#[test]
fn a_letter_that_an_encoding_lacks_is_not_written() {
    let latin = Declared::of(b"# coding: latin-1\n").unwrap();
    assert_eq!(latin.encode("caf\u{e9}").unwrap(), b"caf\xe9");
    assert_eq!((latin.encode("\u{20ac}"), latin.encode("\u{65e5}")), (None, None));
    let windows = Declared::of(b"# coding: cp1252\n").unwrap();
    assert_eq!(windows.encode("\u{20ac}").unwrap(), b"\x80");
    let shift_jis = Declared::of(b"# coding: shift_jis\n").unwrap();
    assert_eq!((shift_jis.encode("\u{a5}"), shift_jis.encode("\u{203e}")), (None, None));
}

#[test]
fn other_marks_and_halves_are_no_utf16() {
    assert_eq!(decode(b"\xff\xfe\0\0a\0\0\0"), None);
    assert_eq!(decode(b"\xff\xfea\0b"), None);
    assert_eq!(decode(b"\xff\xfe\0\0"), None);
    assert_eq!(decode(b"a\0b\0"), None);
    assert_eq!(decode(b"\xff\xfe").unwrap(), (ByteOrder::Little, b"\xef\xbb\xbf".to_vec()));
}
