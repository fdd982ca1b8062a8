//! `apply_patch`: texts for the model, refusals, and paths that try to leave the root.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose, Target};
use toolwright_core::apply_patch::{
    AppliedPatch, ApplyPatchInput, FileOperation, FileOperationInput, Files, PatchKind, plan,
};
use toolwright_core::code::Code;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::file::Publish;
use toolwright_fs::DirectoryGrant;
use toolwright_policy::Variables;

const LIMIT: u64 = 200_000;

fn publish() -> Publish {
    Publish {
        fsync: false,
        allow_in_place: false,
        wait: Duration::from_secs(10),
        deny_write: None,
        notebooks: false,
    }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn failure(unfinished: Unfinished) -> Failure {
    match unfinished {
        Unfinished::Failed(failure) => failure,
        _ => panic!("cancelled"),
    }
}

struct Fixture {
    made: TempDir,
    path: PathBuf,
    root: DirectoryGrant,
}

impl Fixture {
    fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        let base = made.path().canonicalize().unwrap();
        let path = base.join("root");
        fs::create_dir_all(path.join("src")).unwrap();
        fs::create_dir_all(path.join(".git/hooks")).unwrap();
        fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join(".git/config"), "[core]\n").unwrap();
        fs::write(path.join("src/a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(path.join("b.txt"), "b\n").unwrap();
        fs::create_dir_all(base.join("outside/deep")).unwrap();
        fs::write(base.join("outside/secret"), "secret\n").unwrap();
        Self { made, root: DirectoryGrant::new("rootDir", &path), path }
    }

    fn apply(&self, patch: &str) -> Result<AppliedPatch, Unfinished> {
        let files = Files::Below(&self.root);
        ApplyPatchInput { files, patch, limit_bytes: LIMIT, publish: &publish() }.run(&never())
    }

    /// Every file and directory, with its content.
    fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        list(&self.path, &mut tree);
        tree
    }

    fn outside(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        list(&self.made.path().join("outside"), &mut tree);
        tree
    }

    /// A session over the root, with the targets that a patch names.
    fn targets(&self, patch: &str) -> Result<Vec<Arc<Target>>, Unfinished> {
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
            let purpose = if file.kind == PatchKind::Add { Purpose::Write } else { Purpose::Edit };
            targets.push(Arc::new(target::open(&policy, &file.path, purpose, &never())?));
            if let Some(to) = &file.moved_to {
                targets.push(Arc::new(target::open(&policy, to, Purpose::Write, &never())?));
            }
        }
        Ok(targets)
    }
}

fn list(directory: &Path, tree: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let content = match kind {
            _ if kind.is_dir() => None,
            _ if kind.is_symlink() => {
                Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            }
            _ => Some(fs::read(&path).unwrap()),
        };
        tree.insert(path.clone(), content);
        if kind.is_dir() {
            list(&path, tree);
        }
    }
}

const PATCH: &str = "*** Begin Patch
*** Add File: new/in/c.txt
+c
*** Update File: src/a.txt
*** Move to: lib/a.txt
@@
 one
-two
+2
*** Delete File: b.txt
*** End Patch
";

#[test]
fn all_files_of_a_patch_change_and_change_back() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let applied = fixture.apply(PATCH).unwrap();
    assert_eq!(
        applied.summary(),
        "Success. Updated the following files:\nA new/in/c.txt\nR src/a.txt -> lib/a.txt\nD b.txt"
    );
    assert_eq!(fs::read_to_string(fixture.path.join("lib/a.txt")).unwrap(), "one\n2\nthree\n");
    assert_eq!(fs::read_to_string(fixture.path.join("new/in/c.txt")).unwrap(), "c\n");
    assert!(!fixture.path.join("b.txt").exists() && !fixture.path.join("src/a.txt").exists());
    applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
    assert_eq!(fixture.tree(), before);

    // A file that was changed since keeps the others from going back.
    let applied = fixture.apply(PATCH).unwrap();
    fs::write(fixture.path.join("new/in/c.txt"), "theirs\n").unwrap();
    let after = fixture.tree();
    let refused = applied.undo.run(&fixture.root, &publish(), &never());
    assert_eq!(failure(refused.unwrap_err()).code, Code::EditConflict);
    assert_eq!(fixture.tree(), after);
}

#[test]
fn a_session_applies_the_same_patch_to_what_it_opened() {
    let fixture = Fixture::new();
    let targets = fixture.targets(PATCH).unwrap();
    let apply = |targets: &[Arc<Target>]| {
        let files = Files::Opened(targets);
        ApplyPatchInput { files, patch: PATCH, limit_bytes: LIMIT, publish: &publish() }
            .run(&never())
    };
    assert_eq!(failure(apply(&targets[1..]).unwrap_err()).code, Code::InternalError);
    apply(&targets).unwrap();
    assert!(fixture.path.join("lib/a.txt").exists());
}

#[test]
fn a_refusal_names_the_file_and_that_nothing_changed() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let add = |path: &str| format!("*** Add File: {path}\n+x\n");
    let update = |path: &str, old: &str| format!("*** Update File: {path}\n@@\n-{old}\n+x\n");
    let cases = [
        ("does not fit", update("src/a.txt", "four")),
        ("missing", update("none.txt", "one")),
        ("outside", add("../x")),
        ("protected", add(".git/hooks/pre-commit")),
        ("git config", update(".git/config", "[core]")),
        ("a directory", add("src")),
        ("below a file", add("b.txt/x")),
        ("no patch", String::new()),
    ];
    let mut texts = String::new();
    for (name, section) in cases {
        let patch =
            format!("*** Begin Patch\n*** Add File: first.txt\n+first\n{section}*** End Patch\n");
        let patch = if name == "no patch" { "nothing" } else { &patch };
        let refused = failure(fixture.apply(patch).unwrap_err());
        assert_eq!(fixture.tree(), before, "{name}");
        writeln!(texts, "{name}: {}", refused.message()).unwrap();
    }
    let diffs = [
        ("exists", "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\n"),
        (
            "moved onto a file",
            "diff --git a/src/a.txt b/b.txt\nsimilarity index 100%\nrename from src/a.txt\nrename to b.txt\n",
        ),
    ];
    for (name, diff) in diffs {
        let refused = failure(fixture.apply(diff).unwrap_err());
        assert_eq!((refused.code, fixture.tree()), (Code::FileExists, before.clone()), "{name}");
        writeln!(texts, "{name}: {}", refused.message()).unwrap();
    }
    let large = format!("*** Begin Patch\n{}", "x".repeat(200_000));
    let refused = failure(fixture.apply(&large).unwrap_err());
    writeln!(texts, "too large: {}", refused.message()).unwrap();
    insta::assert_snapshot!(texts);
}

#[test]
fn one_file_is_changed_by_a_diff_without_names() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let run = |path: &str, operation: FileOperation<'_>| {
        let (root, publish) = (&fixture.root, &publish());
        FileOperationInput { root, path, operation, limit_bytes: LIMIT, publish }.run(&never())
    };
    let created = run("x/y.txt", FileOperation::Create { diff: "+one\n+two\n+" }).unwrap();
    assert_eq!(fs::read_to_string(fixture.path.join("x/y.txt")).unwrap(), "one\ntwo\n");
    let updated = run("x/y.txt", FileOperation::Update { diff: "@@\n-two\n+2\n" }).unwrap();
    assert_eq!(fs::read_to_string(fixture.path.join("x/y.txt")).unwrap(), "one\n2\n");
    let deleted = run("x/y.txt", FileOperation::Delete).unwrap();
    assert_eq!(deleted.summary(), "Success. Updated the following files:\nD x/y.txt");
    let again = run("b.txt", FileOperation::Create { diff: "+x" }).unwrap_err();
    assert_eq!(failure(again).code, Code::FileExists);
    let stale = run("b.txt", FileOperation::Update { diff: "@@\n-none\n+x\n" }).unwrap_err();
    assert_eq!(failure(stale).code, Code::PatchFailed);
    assert_eq!(failure(run("none", FileOperation::Delete).unwrap_err()).code, Code::FileNotFound);
    for applied in [deleted, updated, created] {
        applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
    }
    assert_eq!(fixture.tree(), before);
}

/// Repeatable random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

/// Patches whose paths try everything: whatever they do, they do below the root, in full or not at
/// all, and not to what is protected.
#[test]
fn no_patch_leaves_the_root_or_changes_half_of_its_files() {
    const PARTS: [&str; 24] = [
        "..", ".", "", "a", "src", "out", "link", "loop", "here", ".git", "hooks", "config",
        "HEAD", "secret", "outside", "proc", "self", "%2e%2e", "..%2f", "A", ".GIT", "\u{1}",
        "b.txt", "hard",
    ];
    let tries = std::env::var("TOOLWRIGHT_SOAK_FACTOR")
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(5_000, |factor: usize| factor * 5_000);
    let fixture = Fixture::new();
    let base = fixture.path.parent().unwrap().to_owned();
    symlink("../outside", fixture.path.join("out")).unwrap();
    symlink(base.join("outside/secret"), fixture.path.join("link")).unwrap();
    symlink("loop", fixture.path.join("loop")).unwrap();
    symlink(&fixture.path, fixture.path.join("here")).unwrap();
    // Writing in place would reach the other name of this file.
    fs::hard_link(base.join("outside/secret"), fixture.path.join("hard")).unwrap();
    let outside = fixture.outside();
    let protected =
        [".git/config", ".git/HEAD"].map(|path| fs::read(fixture.path.join(path)).unwrap());
    let seed = std::env::var("TOOLWRIGHT_SEED").ok().and_then(|text| text.parse().ok());
    let mut random =
        Random(seed.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761) | 1);
    println!("seed {}", random.0);
    let (mut applied, mut refused) = (0, BTreeMap::<&str, usize>::new());
    let any_path = |random: &mut Random| {
        let parts: Vec<&str> =
            (0..=random.below(4)).map(|_| PARTS[random.below(PARTS.len())]).collect();
        let path = parts.join("/");
        match random.below(8) {
            0 => format!("/{path}"),
            1 => format!("{}/{path}", fixture.path.display()),
            2 => format!("{path}/"),
            3 => format!(".toolwright-1-2-3-{}.step", parts.len()),
            _ => path,
        }
    };
    let mut before = fixture.tree();
    for round in 0..tries {
        let mut sections = String::new();
        for _ in 0..=random.below(3) {
            let name = any_path(&mut random);
            let section = match random.below(4) {
                0 => format!("*** Delete File: {name}\n"),
                1 => format!("*** Update File: {name}\n@@\n-secret\n+{round}\n"),
                2 => {
                    format!("*** Update File: {name}\n*** Move to: {}\n", any_path(&mut random))
                }
                _ => format!("*** Add File: {name}\n+secret\n"),
            };
            sections.push_str(&section);
        }
        let patch = format!("*** Begin Patch\n{sections}*** End Patch\n");
        match fixture.apply(&patch) {
            Ok(done) => {
                applied += 1;
                if random.below(2) == 0 {
                    done.undo.run(&fixture.root, &publish(), &never()).unwrap();
                    assert_eq!(fixture.tree(), before, "{patch}");
                }
                before = fixture.tree();
            }
            Err(error) => {
                *refused.entry(failure(error).code.as_str()).or_default() += 1;
                if round % 10 == 0 {
                    assert_eq!(fixture.tree(), before, "{patch}");
                }
            }
        }
    }
    println!("{applied} applied; refused: {refused:?}");
    assert_eq!(fixture.outside(), outside);
    assert_eq!(
        [".git/config", ".git/HEAD"]
            .map(|path| fs::read(fixture.path.join(path)).unwrap_or_default())[0],
        protected[0]
    );
    assert!(fs::read_dir(fixture.path.join(".git/hooks")).unwrap().next().is_none());
    assert!(applied > 10 && refused.len() > 5);
}

/// The scenarios of the engine, over real files.
#[test]
fn every_scenario_of_the_engine_ends_as_it_says_and_leaves_nothing_behind() {
    let scenarios: Vec<Value> =
        serde_json::from_str(include_str!("../../patch/tests/scenarios/patches.json")).unwrap();
    assert!(scenarios.len() >= 35);
    for scenario in &scenarios {
        let name = scenario["name"].as_str().unwrap();
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        for (file, content) in scenario["before"].as_object().unwrap() {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content.as_str().unwrap()).unwrap();
        }
        let fixture = Fixture { root: DirectoryGrant::new("rootDir", &path), made, path };
        let before = fixture.tree();
        match (fixture.apply(scenario["patch"].as_str().unwrap()), scenario["error"].as_str()) {
            (Ok(applied), None) => {
                let actual = fixture.tree().into_iter().filter_map(|(file, content)| {
                    let file = file.strip_prefix(&fixture.path).unwrap().to_str().unwrap();
                    Some((file.to_owned(), String::from_utf8(content?).unwrap()))
                });
                let expected = scenario["after"].as_object().unwrap().iter();
                let expected =
                    expected.map(|(file, text)| (file.clone(), text.as_str().unwrap().to_owned()));
                let actual: BTreeMap<_, _> = actual.collect();
                assert_eq!(actual, expected.collect(), "{name}");
                applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
                assert_eq!(fixture.tree(), before, "{name}");
            }
            (Err(error), Some(code)) => {
                let failure = failure(error);
                assert_eq!(failure.code.as_str(), code, "{name}: {}", failure.message());
                if let Some(reason) = scenario["reason"].as_str() {
                    assert_eq!(failure.details["reason"], reason, "{name}");
                }
                assert_eq!(fixture.tree(), before, "{name}");
            }
            (answer, expected) => panic!("{name}: {answer:?}, not {expected:?}"),
        }
    }
}

#[test]
fn the_largest_patches_are_applied_and_larger_ones_refused() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let apply = |patch: &str, limit_bytes: u64| {
        let files = Files::Below(&fixture.root);
        ApplyPatchInput { files, patch, limit_bytes, publish: &publish() }.run(&never())
    };
    let ten_mb: u64 = 10 << 20;
    let line = format!("+{}\n", "x".repeat(99));
    let body = line.repeat(100_000);
    let large = format!(
        "*** Begin Patch\n*** Add File: large\n{body}*** Delete File: b.txt\n*** End Patch\n"
    );
    let applied = apply(&large, ten_mb).unwrap();
    assert_eq!(fs::metadata(fixture.path.join("large")).unwrap().len(), 10_000_000);
    applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
    assert_eq!(fixture.tree(), before);

    let many = |count: usize| {
        let sections = (0..count).map(|n| format!("*** Add File: many/{}/{n}\n+{n}\n", n % 50));
        format!("*** Begin Patch\n{}*** End Patch\n", sections.collect::<String>())
    };
    let refused = failure(apply(&many(10_001), ten_mb).unwrap_err());
    assert_eq!(refused.code, Code::PatchTooLarge);
    assert_eq!(
        (&refused.details["files"], &refused.details["limitFiles"]),
        (&json!(10_001), &json!(10_000))
    );
    assert_eq!(fixture.tree(), before);
    let applied = apply(&many(10_000), ten_mb).unwrap();
    assert_eq!(fixture.tree().len(), before.len() + 10_051);
    applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
    assert_eq!(fixture.tree(), before);
}

#[test]
fn names_with_odd_characters_are_files_or_refusals() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let add = |path: &str| {
        fixture.apply(&format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"))
    };
    for path in ["nul\0", "\0"] {
        assert_eq!(failure(add(path).unwrap_err()).code, Code::PathInvalid, "{path:?}");
        assert_eq!(fixture.tree(), before);
    }
    // What looks like an escape is a name like any other.
    for path in ["%2e%2e%2fx", "a\u{1b}[31m", "..\u{2215}x", "\u{202e}gpj", "~", "-rf"] {
        let applied = add(path).unwrap();
        assert!(fixture.path.join(path).is_file(), "{path:?}");
        applied.undo.run(&fixture.root, &publish(), &never()).unwrap();
        assert_eq!(fixture.tree(), before);
    }
}

/// The plan of a set lies in the root for a moment.
#[test]
#[cfg(target_os = "linux")]
fn a_root_that_cannot_be_written_to_says_so_and_what_to_do() {
    let root = DirectoryGrant::new("rootDir", "/sys");
    let patch = "*** Begin Patch\n*** Add File: toolwright-a\n+x\n*** Add File: toolwright-b\n+x\n*** End Patch\n";
    let input = ApplyPatchInput {
        files: Files::Below(&root),
        patch,
        limit_bytes: LIMIT,
        publish: &publish(),
    };
    let failure = failure(input.run(&never()).unwrap_err());
    let message = failure.message();
    assert!(message.contains("`/sys`"), "{message}");
    assert!(message.contains("No file was changed. A patch of several files needs"), "{message}");
}
