//! Links in patches: deleting and moving act on the link itself, an update on what it leads to.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose};
use toolwright_core::apply_patch::{
    AppliedPatch, ApplyPatchInput, FileOperation, FileOperationInput, Files, PatchKind, plan,
};
use toolwright_core::failure::Unfinished;
use toolwright_core::file::Publish;
use toolwright_fs::DirectoryGrant;
use toolwright_policy::Variables;

const LIMIT: u64 = 200_000;
static NEVER: AtomicBool = AtomicBool::new(false);

fn publish() -> Publish {
    Publish {
        fsync: false,
        allow_in_place: false,
        wait: Duration::from_secs(10),
        deny_write: None,
        notebooks: false,
    }
}

/// A file or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File(String, u32),
    Link(String),
}

type Tree = BTreeMap<String, Entry>;

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    root: DirectoryGrant,
}

/// By which way a patch comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Below,
    Session,
}

impl Fixture {
    fn new(tree: &Tree) -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(path.join("dir")).unwrap();
        fs::write(made.path().join("outside"), "outside\n").unwrap();
        for (name, entry) in tree {
            match entry {
                Entry::File(text, bits) => {
                    fs::write(path.join(name), text).unwrap();
                    fs::set_permissions(path.join(name), fs::Permissions::from_mode(*bits))
                        .unwrap();
                }
                Entry::Link(to) => symlink(to, path.join(name)).unwrap(),
            }
        }
        Self { _made: made, root: DirectoryGrant::new("rootDir", &path), path }
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        for entry in fs::read_dir(&self.path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let kind = path.symlink_metadata().unwrap();
            if kind.file_type().is_symlink() {
                let to = fs::read_link(&path).unwrap();
                tree.insert(name, Entry::Link(to.to_str().unwrap().to_owned()));
            } else if kind.is_file() {
                let mode = kind.permissions().mode() & 0o777;
                tree.insert(name, Entry::File(fs::read_to_string(&path).unwrap(), mode));
            }
        }
        assert_eq!(
            fs::read_to_string(self.path.join("../outside")).unwrap(),
            "outside\n",
            "what lies outside stays as it is"
        );
        tree
    }

    fn apply(&self, door: Door, patch: &str) -> Result<AppliedPatch, Unfinished> {
        let publish = &publish();
        if door == Door::Below {
            let files = Files::Below(&self.root);
            return ApplyPatchInput { files, patch, limit_bytes: LIMIT, publish }.run(&NEVER);
        }
        let all = json!({ "fs": { "read": ["{workspace}/**"], "write": ["{workspace}/**"] } });
        let request = PolicyRequest {
            variables: Variables { workspace: vec![self.path.clone()], ..Variables::default() },
            names: Some(vec![GrantedName { path: self.path.clone(), written: self.path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set: all }]],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        let mut targets = Vec::new();
        for file in plan(patch, LIMIT).unwrap() {
            let purpose = match file.kind {
                PatchKind::Add => Purpose::Write,
                PatchKind::Update => Purpose::Edit,
                PatchKind::Delete | PatchKind::Move => Purpose::Remove,
            };
            targets.push(Arc::new(target::open(&policy, &file.path, purpose, &NEVER)?));
            if let Some(to) = &file.moved_to {
                targets.push(Arc::new(target::open(&policy, to, Purpose::Place, &NEVER)?));
            }
        }
        let files = Files::Opened(&targets);
        ApplyPatchInput { files, patch, limit_bytes: LIMIT, publish }.run(&NEVER)
    }

    fn undo(&self, applied: &AppliedPatch) {
        applied.undo.run(&self.root, &publish(), &NEVER).unwrap();
    }
}

fn message(unfinished: Unfinished) -> String {
    match unfinished {
        Unfinished::Failed(failure) => failure.message(),
        _ => panic!("cancelled"),
    }
}

fn file(text: &str) -> Entry {
    Entry::File(text.to_owned(), 0o644)
}

fn link(to: &str) -> Entry {
    Entry::Link(to.to_owned())
}

fn tree<const N: usize>(entries: [(&str, Entry); N]) -> Tree {
    entries.map(|(name, entry)| (name.to_owned(), entry)).into()
}

fn envelope(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}*** End Patch\n")
}

#[test]
fn a_model_reads_that_a_link_was_meant() {
    for door in [Door::Below, Door::Session] {
        let before = tree([
            ("config.prod.json", file("{}\n")),
            ("config.json", link("config.prod.json")),
            ("dangling", link("nowhere")),
            ("out", link("../outside")),
            ("to-dir", link("dir")),
        ]);
        let fixture = Fixture::new(&before);
        let applied = fixture
            .apply(
                door,
                &envelope(
                    "*** Delete File: config.json\n*** Update File: dangling\n*** Move to: moved\n\
                     *** Delete File: out\n*** Delete File: to-dir\n",
                ),
            )
            .unwrap();
        assert_eq!(
            applied.summary(),
            "Success. Updated the following files:\n\
             D config.json (the link; what it led to stays)\n\
             R dangling -> moved (the link itself)\n\
             D out (the link; what it led to stays)\n\
             D to-dir (the link; what it led to stays)"
        );
        let after = tree([("config.prod.json", file("{}\n")), ("moved", link("nowhere"))]);
        assert_eq!(fixture.tree(), after, "{door:?}");
        fixture.undo(&applied);
        assert_eq!(fixture.tree(), before, "{door:?}");
    }
}

#[test]
fn a_link_is_deleted_together_with_what_it_leads_to() {
    let fixture = Fixture::new(&tree([("a", file("a\n")), ("l", link("a"))]));
    let patch = envelope("*** Delete File: l\n*** Delete File: a\n");
    fixture.apply(Door::Below, &patch).unwrap();
    assert_eq!(fixture.tree(), Tree::new());
}

#[test]
fn hunks_for_a_link_that_is_moved_are_refused() {
    for door in [Door::Below, Door::Session] {
        let before = tree([("a", file("one\n")), ("l", link("a"))]);
        let fixture = Fixture::new(&before);
        let patch = envelope("*** Update File: l\n*** Move to: m\n@@\n-one\n+1\n");
        let text = message(fixture.apply(door, &patch).unwrap_err());
        assert!(
            text.contains("symbolic link to \"a\"") || text.contains("symbolic link to `a`"),
            "{text}"
        );
        assert_eq!(fixture.tree(), before);
    }
}

#[test]
fn git_deletes_and_renames_links() {
    let before = tree([("a", file("one\n")), ("l", link("a")), ("k", link("a"))]);
    let fixture = Fixture::new(&before);
    let deletion = |to: &str| {
        format!(
            "diff --git a/l b/l\ndeleted file mode 120000\nindex 2e65efe..0000000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-{to}\n\\ No newline at end of file\n"
        )
    };
    fixture.apply(Door::Below, &deletion("b")).unwrap_err();
    assert_eq!(fixture.tree(), before);
    let rename =
        "diff --git a/k b/m\nsimilarity index 100%\nrename from k\nrename to m\n".to_owned();
    let applied = fixture.apply(Door::Below, &(deletion("a") + &rename)).unwrap();
    assert_eq!(fixture.tree(), tree([("a", file("one\n")), ("m", link("a"))]));
    fixture.undo(&applied);
    assert_eq!(fixture.tree(), before);
    // A diff that shows the file, as it was read through the link.
    let shown = "--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    fixture.apply(Door::Below, shown).unwrap();
    assert_eq!(fixture.tree(), tree([("a", file("one\n")), ("k", link("a"))]));
}

#[test]
fn a_file_moved_onto_another_keeps_its_mode() {
    let before = tree([
        ("run.sh", Entry::File("#!/bin/sh\n".to_owned(), 0o755)),
        ("old", Entry::File("secret\n".to_owned(), 0o600)),
    ]);
    let fixture = Fixture::new(&before);
    let patch = envelope("*** Update File: run.sh\n*** Move to: old\n");
    let applied = fixture.apply(Door::Below, &patch).unwrap();
    assert_eq!(
        applied.summary(),
        "Success. Updated the following files:\nR run.sh -> old (replaced a file of 1 line, 7 bytes)"
    );
    assert_eq!(fixture.tree(), tree([("old", Entry::File("#!/bin/sh\n".to_owned(), 0o755))]));
    fixture.undo(&applied);
    assert_eq!(fixture.tree(), before);
}

#[test]
fn a_file_that_replaces_another_says_so() {
    let before = tree([("notes.md", file("a long\nstory")), ("l", link("notes.md"))]);
    for (name, after) in [("notes.md", file("new\n")), ("l", file("new\n"))] {
        let fixture = Fixture::new(&before);
        let patch = envelope(&format!("*** Add File: {name}\n+new\n"));
        let applied = fixture.apply(Door::Below, &patch).unwrap();
        let line = format!("\nA {name} (replaced a file of 2 lines, 12 bytes)");
        assert!(applied.summary().ends_with(&line), "{}", applied.summary());
        assert_eq!(fixture.tree()["notes.md"], after);
        assert_eq!(fixture.tree()["l"], link("notes.md"));
        fixture.undo(&applied);
        assert_eq!(fixture.tree(), before);
    }
}

/// What a patch does to one name.
#[derive(Debug, Clone)]
enum Step {
    Delete(&'static str),
    Move(&'static str, &'static str),
    Update(&'static str),
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const PLACES: [&str; 7] = ["a", "b", "c", "d", "e", "new", "dir/new"];

fn entry() -> impl Strategy<Value = Option<Entry>> {
    let to = prop::sample::select(vec!["a", "b", "c", "d", "e", "dir", "nowhere", "../outside"]);
    prop_oneof![
        2 => prop::sample::select(vec![0o644, 0o600, 0o755])
            .prop_map(|mode| Some(Entry::File("one\ntwo\n".to_owned(), mode))),
        3 => to.prop_map(|to| Some(link(to))),
        1 => Just(None),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(NAMES.to_vec());
    prop_oneof![
        name().prop_map(Step::Delete),
        (name(), prop::sample::select(PLACES.to_vec())).prop_map(|(from, to)| Step::Move(from, to)),
        name().prop_map(Step::Update),
    ]
}

/// The name of the file that a name leads to below the root.
fn followed(tree: &Tree, name: &str) -> Option<String> {
    let mut name = name.to_owned();
    for _ in 0..=NAMES.len() {
        match tree.get(&name)? {
            Entry::File(..) => return Some(name),
            Entry::Link(to) => name.clone_from(to),
        }
    }
    None
}

fn patch_of(step: &Step, form: usize) -> Option<String> {
    Some(match (step, form) {
        (Step::Delete(name), 0) => envelope(&format!("*** Delete File: {name}\n")),
        (Step::Move(from, to), 0) => {
            envelope(&format!("*** Update File: {from}\n*** Move to: {to}\n"))
        }
        (Step::Update(name), 0) => envelope(&format!("*** Update File: {name}\n@@\n-two\n+2\n")),
        (Step::Delete(name), 1) => {
            format!("--- a/{name}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
        }
        (Step::Move(from, to), 1) => format!(
            "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
        ),
        (Step::Update(name), 1) => {
            format!("--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
        }
        _ => return None,
    })
}

/// What becomes of the tree, or `None` where the patch has to be refused.
fn expected(before: &Tree, step: &Step, replaces: bool) -> Option<Tree> {
    let mut after = before.clone();
    match step {
        Step::Delete(name) => drop(after.remove(*name)?),
        Step::Update(name) => {
            let file = followed(before, name)?;
            let Some(Entry::File(text, _)) = after.get_mut(&file) else { return None };
            "one\n2\n".clone_into(text);
        }
        Step::Move(from, to) => {
            let moved = after.remove(*from)?;
            if from == to || (before.contains_key(*to) && !replaces) {
                return None;
            }
            let mut place = (*to).to_owned();
            for _ in NAMES {
                if let Some(Entry::Link(next)) = before.get(&place) {
                    place.clone_from(next);
                }
            }
            if place == "dir" {
                return None;
            }
            if *to != "dir/new" {
                after.insert((*to).to_owned(), moved);
            }
        }
    }
    Some(after)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]

    /// A name is what a patch names: no door deletes or moves what a link leads to, none updates the link, and
    /// each of them can be undone.
    #[test]
    fn a_name_is_what_a_patch_names(entries in prop::collection::vec(entry(), NAMES.len()), step in step()) {
        let before: Tree = NAMES
            .iter()
            .zip(entries)
            .filter_map(|(name, entry)| Some(((*name).to_owned(), entry?)))
            .collect();
        let doors = [(Door::Below, 0), (Door::Below, 1), (Door::Session, 0), (Door::Session, 1)];
        for (door, form) in doors {
            let fixture = Fixture::new(&before);
            let patch = patch_of(&step, form).unwrap();
            let is_patch = plan(&patch, LIMIT).is_ok();
            let answer = if is_patch { fixture.apply(door, &patch).ok() } else { None };
            let wanted = expected(&before, &step, form == 0);
            prop_assert_eq!(answer.is_some(), wanted.is_some(), "{:?} {} {:?}", door, patch, before);
            prop_assert_eq!(&fixture.tree(), wanted.as_ref().unwrap_or(&before), "{:?} {}", door, patch);
            if let Some(applied) = answer {
                fixture.undo(&applied);
                prop_assert_eq!(&fixture.tree(), &before);
            }
        }
        if let Step::Delete(path) = step {
            let fixture = Fixture::new(&before);
            let publish = publish();
            let (root, operation) = (&fixture.root, FileOperation::Delete);
            let input = FileOperationInput { root, path, operation, limit_bytes: LIMIT, publish: &publish };
            let is_done = input.run(&NEVER).is_ok();
            prop_assert_eq!(is_done, before.contains_key(path));
            let after = expected(&before, &step, false);
            prop_assert_eq!(&fixture.tree(), after.as_ref().unwrap_or(&before));
        }
    }
}
