//! The directories that a host grants to a session: by which names they are reached, and what becomes of
//! one that was replaced.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{Purpose, open};
use toolwright_core::code::Code;
use toolwright_core::failure::Unfinished;
use toolwright_policy::Variables;

/// `workspace`, `adhoc`, `more` and `pattern`, with a file `a` in each.
fn directories() -> (TempDir, PathBuf) {
    let made = tempfile::tempdir().unwrap();
    let top = made.path().canonicalize().unwrap();
    for name in ["workspace", "adhoc", "more", "pattern"] {
        directory(&top.join(name));
    }
    (made, top)
}

fn directory(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("a"), "text").unwrap();
}

/// Puts another directory in its place.
fn replace(path: &Path) {
    fs::rename(path, path.with_extension("moved")).unwrap();
    directory(path);
}

/// What may be read is `{workspace}`, `{ad-hoc}` and `pattern`.
fn request(top: &Path, names: Vec<GrantedName>) -> PolicyRequest {
    let pattern = format!("{}/**", top.join("pattern").display());
    let set = json!({ "fs": { "read": ["{workspace}/**", "{ad-hoc}/**", pattern] } });
    PolicyRequest {
        variables: Variables {
            workspace: vec![top.join("workspace")],
            ad_hoc: vec![top.join("adhoc")],
            ..Variables::default()
        },
        names: Some(names),
        conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
        ..PolicyRequest::default()
    }
}

fn policy(top: &Path) -> Policy {
    Policy::compile(&request(top, Vec::new()), None).unwrap()
}

/// The code of the refusal, if there is one.
fn refusal(policy: &Policy, path: &Path) -> Option<Code> {
    let policy = Arc::new(policy.clone());
    match open(&policy, path.to_str().unwrap(), Purpose::Read, &AtomicBool::new(false)) {
        Ok(_) => None,
        Err(Unfinished::Failed(failure)) => Some(failure.code),
        Err(stopped @ (Unfinished::Cancelled | Unfinished::Stopped { .. })) => {
            panic!("{stopped:?}")
        }
    }
}

#[test]
fn absolute_paths_lead_into_every_granted_directory_and_relative_ones_into_the_workspace() {
    let (_made, top) = directories();
    let policy = policy(&top);
    for path in ["workspace/a", "adhoc/a", "pattern/a"] {
        assert_eq!(refusal(&policy, &top.join(path)), None, "{path}");
    }
    assert_eq!(refusal(&policy, Path::new("a")), None);
    assert_eq!(refusal(&policy, Path::new("../adhoc/a")), Some(Code::PathEscape));
    assert_eq!(refusal(&policy, &top.join("more/a")), Some(Code::CapabilityDenied));
}

#[test]
fn a_directory_is_reached_by_the_name_that_the_host_has_for_it() {
    let (_made, top) = directories();
    let written = top.join("name");
    symlink(top.join("workspace"), &written).unwrap();
    let name = GrantedName { path: top.join("workspace"), written: written.clone() };
    let named = Policy::compile(&request(&top, vec![name]), None).unwrap();
    assert_eq!(refusal(&named, &written.join("a")), None);
    assert_eq!(refusal(&named, &top.join("workspace/a")), None);
    assert_eq!(refusal(&named, &top.join("adhoc/a")), None, "the name is no other directory's");
    assert_eq!(refusal(&policy(&top), &written.join("a")), Some(Code::CapabilityDenied));
}

#[test]
fn a_directory_that_was_replaced_is_refused_where_a_path_is_meant_to_lie_in_it() {
    let (_made, top) = directories();
    let policy = policy(&top);
    replace(&top.join("adhoc"));
    assert_eq!(refusal(&policy, &top.join("adhoc/a")), Some(Code::RootChanged));
    assert_eq!(refusal(&policy, &top.join("pattern/a")), None, "it is not about the others");
    assert!(policy.check_directories().is_err());
    replace(&top.join("workspace"));
    assert_eq!(refusal(&policy, &top.join("pattern/a")), Some(Code::RootChanged));
}

#[test]
fn a_replaced_directory_stays_refused_when_it_is_granted_again() {
    let (_made, top) = directories();
    let parent = policy(&top);
    let ad_hoc = [top.join("adhoc")];
    assert_eq!(refusal(&parent.with_ad_hoc(&ad_hoc, None).unwrap(), &ad_hoc[0].join("a")), None);
    let nothing = PolicyRequest {
        variables: Variables { workspace: vec![top.join("workspace")], ..Variables::default() },
        ..request(&top, Vec::new())
    };
    let child = Policy::compile(&nothing, Some(&parent)).unwrap();
    replace(&ad_hoc[0]);
    let again = parent.with_ad_hoc(&ad_hoc, None).unwrap();
    assert_eq!(refusal(&again, &ad_hoc[0].join("a")), Some(Code::RootChanged));
    // What the parent was granted is what its child shares.
    let child = child.with_ad_hoc(&ad_hoc, Some(&parent)).unwrap();
    assert_eq!(refusal(&child, &ad_hoc[0].join("a")), Some(Code::RootChanged));
    assert!(Policy::compile(&request(&top, Vec::new()), Some(&parent)).is_err());
}

#[test]
fn other_ad_hoc_directories_take_the_place_of_those_before() {
    let (_made, top) = directories();
    let more = [top.join("more")];
    let policy = policy(&top).with_ad_hoc(&more, None).unwrap();
    assert_eq!(refusal(&policy, &top.join("more/a")), None);
    assert_eq!(refusal(&policy, &top.join("adhoc/a")), Some(Code::CapabilityDenied));
    // A directory that is no longer granted may be replaced.
    replace(&top.join("adhoc"));
    assert!(policy.check_directories().is_ok());
    replace(&top.join("more"));
    assert!(policy.check_directories().is_err());
}

/// Between the look at a granted directory and the search for the path, another one may take its place
/// and come and go. Only what was granted is searched, and there the path leads out.
#[test]
fn a_directory_that_is_being_replaced_is_never_taken_for_the_granted_one() {
    let (_made, top) = directories();
    let (granted, moved, other) = (top.join("adhoc"), top.join("kept"), top.join("other"));
    fs::remove_file(granted.join("a")).unwrap();
    symlink("/etc/passwd", granted.join("a")).unwrap();
    directory(&other);
    let policy = policy(&top);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&granted, &moved).unwrap();
                fs::rename(&other, &granted).unwrap();
                // So long that a search that begins now can end.
                std::thread::sleep(Duration::from_micros(200));
                fs::rename(&granted, &other).unwrap();
                fs::rename(&moved, &granted).unwrap();
                std::thread::yield_now();
            }
        });
        let end = Instant::now() + Duration::from_secs(4);
        let mut is_opened = false;
        while !is_opened && Instant::now() < end {
            is_opened = refusal(&policy, &granted.join("a")).is_none();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(!is_opened, "a file of the other directory was opened");
    });
}
