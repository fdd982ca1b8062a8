//! Entries of directories and rewritten files: limits, refusals and their codes.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_core::code::Code;
use toolwright_core::entries::{EntryInput, ListInput, RewriteInput};
use toolwright_core::failure::Unfinished;
use toolwright_core::file::{File, Publish};
use toolwright_fs::{DirectoryGrant, Placed};

static GO: AtomicBool = AtomicBool::new(false);

struct Fixture {
    _made: tempfile::TempDir,
    path: PathBuf,
    root: DirectoryGrant,
    publish: Publish,
}

impl Fixture {
    fn new() -> Self {
        let made = tempfile::tempdir().expect("made");
        let path = made.path().canonicalize().expect("there");
        fs::create_dir_all(path.join(".git/hooks")).expect("made");
        fs::write(path.join("text"), "one\n").expect("written");
        let root = DirectoryGrant::new("rootDir", &path);
        let wait = Duration::from_secs(1);
        let publish = Publish {
            fsync: true,
            allow_in_place: false,
            wait,
            deny_write: None,
            notebooks: false,
        };
        Self { _made: made, path, root, publish }
    }

    fn at<'a>(&'a self, path: &'a str) -> EntryInput<'a> {
        EntryInput { root: &self.root, path, publish: &self.publish }
    }

    fn rewrite(&self, known: &str, content: &str) -> Result<(), Unfinished> {
        let file = File::Below { root: &self.root, path: "text" };
        RewriteInput { file, known, content, limit_bytes: 10, publish: &self.publish }.run(&GO)
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Code {
    match result {
        Err(Unfinished::Failed(failure)) => failure.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_rewritten_only_if_it_holds_what_is_known() {
    let at = Fixture::new();
    at.rewrite("one\n", "two\n").expect("rewritten");
    assert_eq!(code(at.rewrite("one\n", "three\n")), Code::EditConflict);
    assert_eq!(code(at.rewrite("two\n", &"x".repeat(11))), Code::ContentTooLarge);
    assert_eq!(fs::read_to_string(at.path.join("text")).expect("read"), "two\n");
}

#[test]
fn entries_come_and_go_with_power_failures_in_mind() {
    let at = Fixture::new();
    assert_eq!(at.at("d/new").create("x", 1, &GO).expect("made"), Placed::Done);
    assert_eq!(at.at("d/new").create("y", 1, &GO).expect("left"), Placed::Occupied);
    assert_eq!(code(at.at("d/large").create("xx", 1, &GO)), Code::ContentTooLarge);
    assert_eq!(at.at("d").rename("e/f", &GO).expect("moved"), Placed::Done);
    assert_eq!(code(at.at("e").delete(false, &GO)), Code::NotAFile);
    at.at("e").delete(true, &GO).expect("deleted");
    assert_eq!(code(at.at("e").delete(true, &GO)), Code::FileNotFound);
}

#[test]
fn what_is_protected_or_outside_has_its_code() {
    let at = Fixture::new();
    for path in [".git", ".git/hooks"] {
        assert_eq!(code(at.at(path).delete(true, &GO)), Code::PathProtected);
        assert_eq!(code(at.at(path).rename("x", &GO)), Code::PathProtected);
    }
    assert_eq!(code(at.at("../x").create("", 1, &GO)), Code::PathEscape);
    assert_eq!(code(at.at("text").rename("../x", &GO)), Code::PathEscape);
    assert_eq!(code(at.at("..").delete(true, &GO)), Code::PathInvalid);
    assert_eq!(code(at.at(".").delete(true, &GO)), Code::PathInvalid);
}

#[test]
fn a_listing_leaves_out_what_is_hidden() {
    let at = Fixture::new();
    fs::create_dir_all(at.path.join("node_modules/x")).expect("made");
    fs::create_dir_all(at.path.join("a/b/c")).expect("made");
    let input = ListInput { root: &at.root, path: ".", depth: 2, max_entries: 10 };
    let listing = input.run(&GO).expect("listed");
    let paths: Vec<_> = listing.entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, ["a", "a/b", "text"]);
}
