//! Bytes in and out again.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

mod support;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use support::Kind;
use toolwright_thread_store::{
    AttachmentRef, CHUNK, Changes, NewAttachment, Options, Store, ThreadError,
};

fn memory(options: Options) -> Arc<Store> {
    let store = Arc::new(Store::open(&"memory:".parse().unwrap(), options).unwrap());
    store.open_thread("t", "f").unwrap();
    store
}

fn new(name: &str, mime: &str) -> NewAttachment {
    NewAttachment { name: name.to_owned(), mime_type: mime.to_owned(), width: None, height: None }
}

fn put(store: &Arc<Store>, new: NewAttachment, parts: &[&[u8]]) -> AttachmentRef {
    let mut upload = store.begin_upload("t", new).unwrap();
    for part in parts {
        upload.append(part).unwrap();
    }
    let attachment = upload.finish().unwrap();
    commit(store, &attachment);
    attachment
}

fn commit(store: &Store, attachment: &AttachmentRef) {
    let changes = Changes { attachments: vec![attachment.path.clone()], ..Changes::default() };
    store.commit("t", &changes).unwrap();
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

#[test]
fn chunks_begin_above_1835008_bytes() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let store = Arc::new(
        Store::open(&file.to_str().unwrap().parse().unwrap(), Options::default()).unwrap(),
    );
    store.open_thread("t", "f").unwrap();
    let counted = rusqlite::Connection::open(&file).unwrap();
    for (length, chunks) in [
        (0, 0),
        (1, 0),
        (1_835_007, 0),
        (1_835_008, 0),
        (1_835_009, 2),
        (2 * CHUNK, 2),
        (2 * CHUNK + 1, 3),
    ] {
        let bytes = pattern(length);
        // Whole, and in parts that end nowhere in particular.
        for parts in [vec![bytes.as_slice()], bytes.chunks(777_777).collect()] {
            let attachment = put(&store, new("a.dat", "application/octet-stream"), &parts);
            assert_eq!(attachment.size, length as u64);
            assert!(
                store.read_attachment("t", &attachment.path, 0, None).unwrap() == bytes,
                "{length}"
            );
            let count = |sql: &str| -> i64 {
                counted.query_row(sql, [&attachment.path], |row| row.get(0)).unwrap()
            };
            assert_eq!(count("SELECT count(*) FROM file_chunks WHERE file_path = ?1"), chunks);
            assert_eq!(count("SELECT chunk_count FROM files WHERE path = ?1"), chunks);
            assert_eq!(
                count("SELECT is_chunked FROM files WHERE path = ?1"),
                i64::from(chunks > 0)
            );
            let largest =
                "SELECT coalesce(max(length(data)), 0) FROM file_chunks WHERE file_path = ?1";
            assert!(count(largest) <= i64::try_from(CHUNK).unwrap());
            assert!(store.delete_attachment("t", &attachment.path).unwrap());
            assert_eq!(count("SELECT count(*) FROM file_chunks WHERE file_path = ?1"), 0);
        }
    }
}

#[test]
fn text_is_one_text_whatever_its_size() {
    let store = memory(Options::default());
    let text = "é — text\0\n".repeat(300_000);
    let attachment = put(&store, new("a.md", "text/markdown"), &[text.as_bytes()]);
    assert!(store.read_attachment("t", &attachment.path, 0, None).unwrap() == text.as_bytes());
    assert_eq!(
        store.read_attachment("t", &attachment.path, 3_000_000, Some(3_000_007)).unwrap(),
        &text.as_bytes()[3_000_000..3_000_007]
    );
    // What calls itself text and is none comes back as it was.
    let bytes = b"\xff\xfe\0broken".as_slice();
    let attachment = put(&store, new("a.txt", "text/plain"), &[bytes]);
    assert_eq!(store.read_attachment("t", &attachment.path, 0, None).unwrap(), bytes);
}

#[test]
fn base64_is_strict_wherever_it_is_cut() {
    let store = memory(Options::default());
    let decode = |parts: &[&str]| {
        let mut upload = store.begin_upload("t", new("a", "image/png"))?;
        for part in parts {
            upload.append_base64(part)?;
        }
        upload.finish()
    };
    let bytes = |parts: &[&str]| {
        let attachment = decode(parts).unwrap();
        commit(&store, &attachment);
        store.read_attachment("t", &attachment.path, 0, None).unwrap()
    };
    assert_eq!(bytes(&["aGVsbG8="]), b"hello");
    assert_eq!(bytes(&["a", "G", "VsbG", "8="]), b"hello");
    assert_eq!(bytes(&[]), b"");
    for (parts, at) in [
        (vec!["aGVsbG8"], 7),
        (vec!["aGVs bG8="], 4),
        (vec!["aGVs\nbG8="], 4),
        (vec!["aGVsbG8=", "aGVs"], 7),
        (vec!["aGVsbG8=aGVs"], 7),
        (vec!["aGVsbG9="], 6),
        (vec!["aG-_"], 2),
        (vec!["data:image/png;base64,aGVs"], 4),
        (vec!["====", "===="], 0),
        (vec!["a"], 1),
        (vec!["aGVs", "é"], 4),
    ] {
        match decode(&parts) {
            Err(ThreadError::Base64 { offset, .. }) => assert_eq!(offset, at, "{parts:?}"),
            other => panic!("{parts:?}: {other:?}"),
        }
    }
    assert_eq!(store.list_attachments("t").unwrap().len(), 3);
}

#[test]
fn too_large_leaves_nothing() {
    let store = memory(Options { attachment_limit: 4_000_000, ..Options::default() });
    let mut upload = store.begin_upload("t", new("a", "image/png")).unwrap();
    upload.append(&vec![1; 3_999_999]).unwrap();
    let error = upload.append(&[1, 2]).unwrap_err();
    assert_eq!(error.kind(), "TooLarge");
    drop(upload);
    assert!(store.list_attachments("t").unwrap().is_empty());
}

#[test]
fn width_and_height_are_read_from_images() {
    let store = memory(Options::default());
    let measured = |mime: &str, bytes: &[u8]| {
        let attachment = put(&store, new("a", mime), &[bytes]);
        (attachment.new.width, attachment.new.height)
    };
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend_from_slice(&[0, 0, 1, 0, 0, 0, 0, 7, 8, 6, 0, 0, 0]);
    let gif = b"GIF89a\x05\0\x06\0\0\0\0";
    assert_eq!(measured("image/png", &png), (Some(256), Some(7)));
    assert_eq!(measured("image/gif", gif), (Some(5), Some(6)));
    // The bytes decide, and not what they are called.
    assert_eq!(measured("application/octet-stream", gif), (Some(5), Some(6)));
    assert_eq!(measured("image/png", b"not a picture"), (None, None));
    assert_eq!(measured("image/png", &png[..12]), (None, None));
    let with_width = NewAttachment { width: Some(3), ..new("a", "image/gif") };
    assert_eq!(put(&store, with_width, &[gif.as_slice()]).new.width, Some(3));
}

#[test]
fn hostile_names_and_paths() {
    let store = memory(Options::default());
    let place = tempfile::tempdir().unwrap();
    for name in ["../../../etc/passwd", "x./../../y", "/abs.sh", "a/b\\c.p/g", "con.", "."] {
        let attachment = put(&store, new(name, "application/octet-stream"), &[b"x"]);
        let file = attachment.path.strip_prefix("/attachments/").unwrap();
        assert!(!file.contains(['/', '\\']) && !file.contains(".."), "{}", attachment.path);
        assert_eq!(attachment.new.name, name);
        let exported = store.export_attachment("t", &attachment.path, place.path()).unwrap();
        assert_eq!(exported, place.path().join(file));
        assert_eq!(std::fs::read(exported).unwrap(), b"x");
    }
    for name in ["", "a\0b", "a\nb", &"x".repeat(256)] {
        let error = store.begin_upload("t", new(name, "image/png")).unwrap_err();
        assert_eq!(error.kind(), "Name", "{name:?}");
    }
    for path in ["/attachments/../x", "/etc/passwd", "", "/attachments/a/b", "/attachments/\0"] {
        let code = |error: ThreadError| assert_eq!(error.kind(), "Name", "{path:?}");
        code(store.read_attachment("t", path, 0, None).unwrap_err());
        code(store.get_attachment("t", path).unwrap_err());
        code(store.export_attachment("t", path, place.path()).unwrap_err());
        code(store.delete_attachment("t", path).unwrap_err());
    }
}

#[test]
fn rows_that_do_not_fit_are_damage_and_take_no_memory() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.db");
    let store = Arc::new(
        Store::open(&file.to_str().unwrap().parse().unwrap(), Options::default()).unwrap(),
    );
    store.open_thread("t", "f").unwrap();
    let large = put(&store, new("a", "image/png"), &[&pattern(2 * CHUNK + 5)]).path;
    let small = put(&store, new("a", "image/png"), &[b"small"]).path;
    let other = rusqlite::Connection::open(&file).unwrap();
    for sql in [
        "UPDATE files SET size = 9000000000000000000",
        "UPDATE files SET size = -5",
        "UPDATE files SET size = 'text'",
    ] {
        other.execute_batch(sql).unwrap();
        for path in [&large, &small] {
            let error = store.read_attachment("t", path, 0, None).unwrap_err();
            assert_eq!(error.kind(), "Corrupt", "{sql}");
        }
    }
    other.execute_batch("DELETE FROM file_chunks WHERE chunk_index = 1").unwrap();
    assert_eq!(store.read_attachment("t", &large, 0, None).unwrap_err().kind(), "Corrupt");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_range_of_any_parts(
        length in 0..3 * CHUNK + 7,
        cuts in prop::collection::vec(1..2 * CHUNK, 1..4),
        start in 0..4 * CHUNK as u64,
        more in 0..3 * CHUNK as u64,
        encoded: bool,
    ) {
        let store = memory(Options::default());
        let bytes = pattern(length);
        let mut upload = store.begin_upload("t", new("a", "image/png")).unwrap();
        let text = if encoded { STANDARD.encode(&bytes) } else { String::new() };
        let whole = if encoded { text.as_bytes() } else { &bytes };
        let (mut rest, mut cut) = (whole, cuts.iter().cycle());
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(*cut.next().unwrap()));
            rest = after;
            if encoded {
                upload.append_base64(std::str::from_utf8(part).unwrap()).unwrap();
            } else {
                upload.append(part).unwrap();
            }
        }
        let attachment = upload.finish().unwrap();
        commit(&store, &attachment);
        let range = store.read_attachment("t", &attachment.path, start, Some(start + more)).unwrap();
        let from = usize::try_from(start).unwrap().min(length);
        let to = usize::try_from(start + more).unwrap().min(length);
        prop_assert!(range == bytes[from..to]);
    }
}
