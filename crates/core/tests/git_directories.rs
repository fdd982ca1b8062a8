//! What git takes for its own directory is closed to every tool that changes files, at every door, unless the
//! host's list leaves it out.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose};
use toolwright_core::apply_patch::{ApplyPatchInput, Files};
use toolwright_core::code::Code;
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::entries::EntryInput;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::file::{File, Publish};
use toolwright_core::write::WriteInput;
use toolwright_fs::DirectoryGrant;
use toolwright_policy::Variables;

const LIMIT: u64 = 10_000;
static GO: AtomicBool = AtomicBool::new(false);

/// A root with a repository of git under another name, and most of one more.
fn root() -> (TempDir, PathBuf) {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().canonicalize().unwrap();
    for file in
        ["src/a", ".git/info/exclude", "store/objects/x", "store/refs/x", "z/objects/x", "z/refs/x"]
    {
        fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
        fs::write(path.join(file), "text\n").unwrap();
    }
    fs::write(path.join("store/HEAD"), "text\n").unwrap();
    (made, path)
}

/// Files that are there, and files that are not.
const THERE: [&str; 3] = [".git/info/exclude", "store/HEAD", "store/refs/x"];
const NEW: [&str; 7] = [
    ".git/x",
    "sub/.GIT/hooks/x",
    "git~1/x",
    ".git./x",
    "store/hooks/pre-commit",
    "z/HEAD",
    "z/HEAD/x",
];

fn publish(deny_write: Option<&[&str]>) -> Publish {
    let deny_write = deny_write.map(|list| list.iter().map(PathBuf::from).collect());
    Publish {
        fsync: false,
        allow_in_place: false,
        wait: Duration::from_secs(10),
        deny_write,
        notebooks: false,
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(what: &str, path: &str, answer: Result<T, Unfinished>) {
    let Err(Unfinished::Failed(Failure { code, place, details, hint, .. })) = answer else {
        panic!("{what} {path}: {answer:?}");
    };
    assert_eq!(code, Code::PathProtected, "{what} {path}: {place}");
    assert!(details.contains_key("protected"), "{what} {path}: {place}");
    assert!(hint.contains("sandbox.denyWrite"), "{what} {path}: {hint}");
}

fn patch_of(operation: &str, path: &str) -> String {
    let lines = match operation {
        "Add" => "+x\n",
        "Update" => "@@\n-text\n+x\n",
        _ => "",
    };
    format!("*** Begin Patch\n*** {operation} File: {path}\n{lines}*** End Patch\n")
}

fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push((path.clone(), Vec::new()));
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn every_tool_refuses_it_below_a_root() {
    for publish in [publish(None), publish(Some(&["@git"])), publish(Some(&["x/@git"]))] {
        let (_made, path) = root();
        let before = contents(&path);
        let root = DirectoryGrant::new("rootDir", &path);
        let apply = |text: String| {
            let files = Files::Below(&root);
            ApplyPatchInput { files, patch: &text, limit_bytes: LIMIT, publish: &publish }.run(&GO)
        };
        for path in NEW.into_iter().chain(THERE) {
            let file = File::Below { root: &root, path };
            let entry = EntryInput { root: &root, path, publish: &publish };
            let write = WriteInput { file, content: "x", limit_bytes: LIMIT, publish: &publish };
            refused("write", path, write.run(&GO));
            refused("create", path, entry.create("x", LIMIT, &GO));
            let source = EntryInput { path: "src/a", ..entry };
            refused("rename to", path, source.rename(path, &GO));
            refused("add", path, apply(patch_of("Add", path)));
        }
        for path in THERE {
            let (file, entry) = (
                File::Below { root: &root, path },
                EntryInput { root: &root, path, publish: &publish },
            );
            let change = Change::Replacement { old: "text", new: "x", all: false };
            let edit = EditInput { file, change, limit_bytes: LIMIT, publish: &publish };
            refused("edit", path, edit.run(&GO));
            refused("delete", path, entry.delete(true, &GO));
            refused("rename", path, entry.rename("elsewhere", &GO));
            refused("update", path, apply(patch_of("Update", path)));
            refused("delete a file", path, apply(patch_of("Delete", path)));
        }
        let bare = "*** Begin Patch\n*** Add File: n/HEAD\n+x\n*** Add File: n/objects\n+x\n*** Add File: n/refs/x\n+x\n*** End Patch\n";
        refused("add", "n", apply(bare.to_owned()));
        assert_eq!(contents(&path), before);
    }
}

#[test]
fn a_list_without_it_opens_it() {
    for list in [&[][..], &["src/b"], &[".git/hooks"]] {
        let (_made, path) = root();
        let (root, publish) = (DirectoryGrant::new("rootDir", &path), publish(Some(list)));
        for path in [".git/info/exclude", "store/refs/x", "z/HEAD", ".git/new"] {
            let file = File::Below { root: &root, path };
            let write = WriteInput { file, content: "x", limit_bytes: LIMIT, publish: &publish };
            write.run(&GO).unwrap();
        }
    }
}

#[test]
fn a_session_refuses_it_in_its_workspace_and_in_other_directories() {
    let (_made, path) = root();
    let (_other, other) = root();
    let before = contents(&path);
    let pattern = other.join("**");
    let set = json!({ "fs": { "read": ["{workspace}/**", pattern], "write": ["{workspace}/**", pattern] } });
    let request = PolicyRequest {
        variables: Variables { workspace: vec![path.clone()], ..Variables::default() },
        names: Some(vec![GrantedName { path: path.clone(), written: path.clone() }]),
        conjunction: vec![vec![Requirements { source: "manifest.requires".to_owned(), set }]],
        ..PolicyRequest::default()
    };
    let policy = Arc::new(Policy::compile(&request, None).unwrap());
    let open = |path: &str, purpose| target::open(&policy, path, purpose, &GO);
    for (below, purpose) in NEW
        .map(|path| (path, Purpose::Write))
        .into_iter()
        .chain(THERE.into_iter().flat_map(|path| [(path, Purpose::Write), (path, Purpose::Edit)]))
    {
        let absolute = other.join(below);
        for path in [below, path.join(below).to_str().unwrap(), absolute.to_str().unwrap()] {
            refused("open", path, open(path, purpose).map(drop));
        }
        if THERE.contains(&below) {
            open(below, Purpose::Read).unwrap();
        }
    }
    // Opened before it would be one.
    let (head, objects) =
        (open("n/HEAD", Purpose::Write).unwrap(), open("n/commondir", Purpose::Write).unwrap());
    let publish = publish(None);
    let write = |target| {
        let file = File::Opened(target);
        WriteInput { file, content: "x", limit_bytes: LIMIT, publish: &publish }.run(&GO)
    };
    write(&head).unwrap();
    refused("write", "n/commondir", write(&objects));
    fs::remove_dir_all(path.join("n")).unwrap();
    assert_eq!(contents(&path), before);
}
