//! `read`, `write` and `edit` at both doors: each limit and each refusal.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose, Target};
use toolwright_core::code::Code;
use toolwright_core::edit::{Change, EditInput, Edited};
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::file::{File, Publish};
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::write::{WriteInput, Written};
use toolwright_fs::{DirectoryGrant, LineRange};
use toolwright_policy::Variables;

const LIMIT: u64 = 20;

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    root: DirectoryGrant,
    policy: Arc<Policy>,
}

impl Fixture {
    /// `text` has three lines, `binary` a NUL, `long` more than the limit.
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        fs::create_dir_all(path.join(".git/hooks")).unwrap();
        fs::write(path.join("text"), "one\ntwo\nthree\n").unwrap();
        fs::write(path.join("binary"), "a\0b").unwrap();
        fs::write(path.join("long"), "x".repeat(21)).unwrap();
        let all = json!({ "fs": { "read": ["{workspace}/**"], "write": ["{workspace}/**"] } });
        let request = PolicyRequest {
            variables: Variables { workspace: vec![path.clone()], ..Variables::default() },
            names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set: all }]],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        Self { _made: made, root: DirectoryGrant::new("rootDir", &path), path, policy }
    }

    fn open(&self, path: &str, purpose: Purpose) -> Target {
        target::open(&self.policy, path, purpose, &never()).unwrap()
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path.join(path)).unwrap()
    }

    fn read(&self, path: &str, limit_bytes: u64, text_only: bool) -> Result<Vec<u8>, Unfinished> {
        ReadInput { root: &self.root, path, limit_bytes, text_only }.run(&never())
    }

    fn write_below(&self, path: &str, content: &str) -> Result<Written, Unfinished> {
        write(File::Below { root: &self.root, path }, content)
    }

    fn edit_below(&self, path: &str, change: Change<'_>) -> Result<Edited, Unfinished> {
        edit(File::Below { root: &self.root, path }, change)
    }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn publish() -> Publish {
    Publish {
        fsync: false,
        allow_in_place: false,
        wait: Duration::from_secs(9),
        deny_write: None,
        notebooks: false,
    }
}

fn write(file: File<'_>, content: &str) -> Result<Written, Unfinished> {
    WriteInput { file, content, limit_bytes: LIMIT, publish: &publish() }.run(&never())
}

/// What a write says that had no form to keep.
fn written(created: bool, bytes: u64) -> Written {
    Written { created, bytes, has_mark: false, has_crlf: false, encoding: None, note: None }
}

fn edit(file: File<'_>, change: Change<'_>) -> Result<Edited, Unfinished> {
    EditInput { file, change, limit_bytes: LIMIT, publish: &publish() }.run(&never())
}

fn failure<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Failure {
    match result.unwrap_err() {
        Unfinished::Failed(failure) => failure,
        _ => panic!("cancelled"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Code {
    failure(result).code
}

/// The failure has the words that a session reads, which differ from those of the tools.
fn assert_in_session<T: std::fmt::Debug>(session: Result<T, Unfinished>, tools: &Failure) {
    let session = failure(session);
    assert_eq!(session.hint, tools.clone().for_session().hint);
    assert_ne!(session.hint, tools.hint);
}

#[test]
fn a_read_gives_a_file_up_to_its_limit() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read("text", 14, true).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(code(fixture.read("text", 13, true)), Code::FileTooLarge);
    assert_eq!(code(fixture.read("missing", LIMIT, true)), Code::FileNotFound);
    assert_eq!(code(fixture.read("../text", LIMIT, true)), Code::PathEscape);
}

#[test]
fn a_binary_file_is_read_unless_text_is_asked_for() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read("binary", LIMIT, false).unwrap(), b"a\0b");
    let refused = failure(fixture.read("binary", LIMIT, true));
    assert_eq!(refused.code, Code::FileBinary);
    assert_eq!(refused.details["bytes"], 3);
}

#[test]
fn a_cached_read_gives_what_a_read_would_or_nothing() {
    let fixture = Fixture::new();
    let cached = |path, limit_bytes, text_only| {
        // The first read of a root finds out which one it is.
        fixture.root.open().unwrap();
        let input = ReadInput { root: &fixture.root, path, limit_bytes, text_only };
        input.try_cached(<[u8]>::to_vec)
    };
    if let Some(text) = cached("text", 14, true) {
        assert_eq!(text, b"one\ntwo\nthree\n");
        assert_eq!(cached("binary", LIMIT, false).unwrap(), b"a\0b");
    }
    assert_eq!(cached("text", 13, true), None);
    assert_eq!(cached("binary", LIMIT, true), None);
    assert_eq!(cached("missing", LIMIT, true), None);
}

#[test]
fn lines_are_read_from_a_file_of_any_size_that_is_text() {
    let fixture = Fixture::new();
    let read = |path, first, count| {
        let lines = LineRange { first, count, limit: LIMIT };
        ReadLinesInput { root: &fixture.root, path, lines }.run(&never())
    };
    let lines = read("text", 2, 1).unwrap();
    assert_eq!((&*lines.bytes, lines.count, lines.has_more), (&b"two\n"[..], 1, true));
    assert!(read("long", 1, 1).unwrap().is_cut);
    let refused = failure(read("binary", 1, 1));
    assert_eq!(refused.code, Code::FileBinary);
    assert_eq!(refused.details["bytes"], 3);
    assert_eq!(code(read("missing", 1, 1)), Code::FileNotFound);
}

#[test]
fn a_range_of_an_opened_file_is_text() {
    let fixture = Fixture::new();
    fs::write(fixture.path.join("lossy"), b"a\xffb").unwrap();
    let read = |path, offset, limit_bytes| {
        let target = fixture.open(path, Purpose::Read);
        target.read_range(offset, limit_bytes, &never())
    };
    let range = read("text", 4, 3).unwrap();
    assert_eq!((&*range.bytes, range.offset, range.next_offset), (&b"two"[..], 4, Some(7)));
    assert!(!range.is_lossy);
    let range = read("lossy", 0, LIMIT).unwrap();
    assert_eq!((&*range.bytes, range.is_lossy), ("a\u{fffd}b".as_bytes(), true));
    let refused = failure(read("binary", 0, LIMIT));
    assert_eq!(refused.code, Code::FileBinary);
    assert_eq!(
        (&refused.details["bytes"], &refused.details["path"]),
        (&3.into(), &"binary".into())
    );
}

#[test]
fn every_operation_stops_when_it_is_cancelled() {
    let fixture = Fixture::new();
    let stop = AtomicBool::new(true);
    let (root, path) = (&fixture.root, "text");
    let read = ReadInput { root, path, limit_bytes: LIMIT, text_only: true }.run(&stop);
    assert_eq!(read, Err(Unfinished::Cancelled));
    let lines = LineRange { first: 1, count: 1, limit: LIMIT };
    assert_eq!(ReadLinesInput { root, path, lines }.run(&stop), Err(Unfinished::Cancelled));
    let target = fixture.open(path, Purpose::Edit);
    for file in [File::Below { root, path }, File::Opened(&target)] {
        let publish = &publish();
        let input = WriteInput { file, content: "new", limit_bytes: LIMIT, publish };
        assert_eq!(input.run(&stop), Err(Unfinished::Cancelled));
        let change = Change::Replacement { old: "one", new: "1", all: false };
        let input = EditInput { file, change, limit_bytes: LIMIT, publish };
        assert_eq!(input.run(&stop), Err(Unfinished::Cancelled));
    }
    assert_eq!(fixture.content("text"), "one\ntwo\nthree\n");
}

#[test]
fn a_write_makes_or_replaces_a_file_of_at_most_the_limit() {
    let fixture = Fixture::new();
    let full = "x".repeat(20);
    // A file below a root is found and written in one step, which does not say whether it was new.
    assert_eq!(fixture.write_below("new", &full).unwrap(), written(false, 20));
    assert_eq!(fixture.content("new"), full);
    let new = fixture.open("other", Purpose::Write);
    assert_eq!(write(File::Opened(&new), "a").unwrap(), written(true, 1));
    let existing = fixture.open("text", Purpose::Write);
    assert_eq!(write(File::Opened(&existing), "é").unwrap(), written(false, 2));
    let long = "x".repeat(21);
    let refused = failure(fixture.write_below("../outside", &long));
    assert_eq!(refused.code, Code::ContentTooLarge, "the size is judged before the path");
    assert_eq!(refused.details["contentBytes"], 21);
    assert_in_session(write(File::Opened(&existing), &long), &refused);
    assert_eq!(code(fixture.write_below("../outside", "a")), Code::PathEscape);
    assert_eq!(fixture.content("text"), "é");
}

#[test]
fn protected_paths_below_a_root_are_not_changed() {
    let fixture = Fixture::new();
    fs::write(fixture.path.join(".git/config"), "one").unwrap();
    assert_eq!(code(fixture.write_below(".git/hooks/a", "a")), Code::PathProtected);
    let change = Change::Replacement { old: "one", new: "1", all: false };
    assert_eq!(code(fixture.edit_below(".git/config", change)), Code::PathProtected);
    let none = Publish { deny_write: Some(Vec::new()), ..publish() };
    let file = File::Below { root: &fixture.root, path: ".git/hooks/a" };
    let input = WriteInput { file, content: "a", limit_bytes: LIMIT, publish: &none };
    assert!(input.run(&never()).is_ok());
    let listed = Publish { deny_write: Some(vec!["text".into()]), ..publish() };
    let file = File::Below { root: &fixture.root, path: "text" };
    let input = WriteInput { file, content: "a", limit_bytes: LIMIT, publish: &listed };
    assert_eq!(code(input.run(&never())), Code::PathProtected);
    // An opened file was checked when it was opened.
    let target = fixture.open("text", Purpose::Write);
    let file = File::Opened(&target);
    assert!(
        WriteInput { file, content: "a", limit_bytes: LIMIT, publish: &listed }
            .run(&never())
            .is_ok()
    );
}

#[test]
fn a_patch_is_applied_within_the_limit() {
    let fixture = Fixture::new();
    let change = Change::Patch { diff: "@@\n-two\n+2\n", by_content: true };
    let edited = fixture.edit_below("text", change).unwrap();
    assert_eq!(fixture.content("text"), "one\n2\nthree\n");
    assert!(edited.summary.is_some());
    let strict = Change::Patch { diff: "@@\n-one\n+1\n", by_content: false };
    let refused = failure(fixture.edit_below("text", strict));
    assert_eq!(refused.code, Code::PatchFailed, "the header has no line numbers");
    assert_eq!(refused.details["path"], "text");
    let long = format!("@@\n-one\n+{}\n", "1".repeat(11));
    assert_eq!(long.len(), 21);
    let too_large = Change::Patch { diff: &long, by_content: true };
    let refused = failure(fixture.edit_below("../outside", too_large));
    assert_eq!(refused.code, Code::PatchTooLarge, "the size is judged before the path");
    assert_eq!(refused.details["patchBytes"], 21);
    let change = Change::Patch { diff: "@@\n-x\n+y\n", by_content: true };
    assert_eq!(code(fixture.edit_below("long", change)), Code::FileTooLarge);
    assert_eq!(fixture.content("text"), "one\n2\nthree\n");
}

#[test]
fn a_text_is_replaced_in_its_only_place_or_in_all() {
    let fixture = Fixture::new();
    let replace = |old, new, all| {
        let target = fixture.open("text", Purpose::Edit);
        edit(File::Opened(&target), Change::Replacement { old, new, all })
    };
    let one = Edited { summary: None, replacements: 1, note: None };
    assert_eq!(replace("two", "2", false).unwrap(), one);
    assert_eq!(replace("e", "E", true).unwrap(), Edited { replacements: 3, ..one });
    assert_eq!(fixture.content("text"), "onE\n2\nthrEE\n");
    let missing = failure(replace("two", "2", false));
    assert_eq!(missing.code, Code::EditNoMatch);
    assert!(missing.details.contains_key("nearestLines"));
    let ambiguous = failure(replace("E", "e", false));
    assert_eq!(ambiguous.code, Code::EditAmbiguous);
    assert_eq!(
        (&ambiguous.details["count"], &ambiguous.details["lines"]),
        (&3.into(), &json!([1, 3]))
    );
    assert_eq!(code(replace("", "a", false)), Code::InvalidInput);
    assert_eq!(code(replace("onE", "onE", false)), Code::InvalidInput);
    let grown = failure(replace("2", "2345678901234567", false));
    assert_eq!(grown.code, Code::FileTooLarge, "the result is over the limit");
}

#[test]
fn a_replacement_whose_texts_are_too_large_is_refused_before_the_file_is_looked_at() {
    let fixture = Fixture::new();
    let long = "x".repeat(21);
    for (old, new, name) in [(&*long, "a", "old_string"), ("a", &*long, "new_string")] {
        let change = Change::Replacement { old, new, all: false };
        let refused = failure(fixture.edit_below("../outside", change));
        assert_eq!(refused.code, Code::ContentTooLarge);
        assert!(refused.summary.starts_with(name), "{refused:?}");
        let target = fixture.open("text", Purpose::Edit);
        assert_in_session(edit(File::Opened(&target), change), &refused);
    }
    let longest = "x".repeat(20);
    let change = Change::Replacement { old: &longest, new: &longest, all: false };
    assert_eq!(code(fixture.edit_below("text", change)), Code::InvalidInput, "both are the same");
}

#[test]
fn the_session_s_words_are_for_opened_files() {
    let fixture = Fixture::new();
    let change = Change::Replacement { old: "x", new: "y", all: true };
    let tools = failure(fixture.edit_below("long", change));
    let target = fixture.open("long", Purpose::Edit);
    assert_in_session(edit(File::Opened(&target), change), &tools);
}
