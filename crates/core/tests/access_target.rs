//! Opening a target: what is found, whether it is allowed, and what a refusal says of it.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{Purpose, Target, open, try_open_cached};
use toolwright_core::code::Code;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_fs::TargetKind;
use toolwright_policy::Variables;
use toolwright_process::ShortId;

struct Session {
    _directory: TempDir,
    workspace: PathBuf,
    other: PathBuf,
    policy: Arc<Policy>,
}

/// A workspace with `read/a`, `both/a`, `both/.git/config`, and a directory beside it.
fn session(set: Value) -> Session {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let (workspace, other) = (top.join("workspace"), top.join("other"));
    for path in ["read/below", "both", ".git", "closed"] {
        fs::create_dir_all(workspace.join(path)).unwrap();
    }
    fs::create_dir(&other).unwrap();
    for path in ["read/a", "both/a", ".git/config", "closed/a", "none"] {
        fs::write(workspace.join(path), "text").unwrap();
    }
    fs::write(other.join("a"), "text").unwrap();
    let request = PolicyRequest {
        variables: Variables { workspace: vec![workspace.clone()], ..Variables::default() },
        names: Some(vec![GrantedName { path: workspace.clone(), written: workspace.clone() }]),
        conjunction: vec![vec![Requirements { source: "manifest.requires".to_owned(), set }]],
        implicit_read: vec![other.clone()],
        closed: vec![workspace.join("closed")],
        ..PolicyRequest::default()
    };
    let policy = Arc::new(Policy::compile(&request, None).unwrap());
    Session { _directory: directory, workspace, other, policy }
}

fn usual() -> Session {
    session(json!({ "fs": {
        "read": ["{workspace}/read/**", "{workspace}/both/**", "{workspace}/closed/**"],
        "write": ["{workspace}/both/**", "{workspace}/.git/**"],
    } }))
}

impl Session {
    fn open(&self, path: &str, purpose: Purpose) -> Result<Target, Failure> {
        match open(&self.policy, path, purpose, &AtomicBool::new(false)) {
            Ok(target) => Ok(target),
            Err(Unfinished::Failed(failure)) => Err(failure),
            Err(stopped @ (Unfinished::Cancelled | Unfinished::Stopped { .. })) => {
                panic!("{stopped:?}")
            }
        }
    }

    fn refused(&self, path: &str, purpose: Purpose) -> Failure {
        self.open(path, purpose).unwrap_err()
    }
}

#[test]
fn what_is_allowed_is_opened() {
    let session = usual();
    for (path, purpose) in [
        ("read/a", Purpose::Read),
        ("both/a", Purpose::Write),
        ("both/new/file", Purpose::Write),
        ("both/a", Purpose::Edit),
        ("read/a", Purpose::Search),
        ("read", Purpose::Search),
        (".", Purpose::Search),
        (".", Purpose::Workdir),
        ("read/below", Purpose::Workdir),
    ] {
        let target = session.open(path, purpose).unwrap();
        assert!(target.file.real_path().starts_with(&session.workspace), "{path}");
        assert!(!target.is_implicit, "{path}");
    }
    let absolute = session.workspace.join("read/a");
    assert!(session.open(absolute.to_str().unwrap(), Purpose::Read).is_ok());
}

#[test]
fn a_refusal_names_the_path_as_it_was_requested_and_tells_nothing_of_what_is_there() {
    let session = usual();
    for (path, purpose, capability) in [
        ("none", Purpose::Read, "fs.read"),
        ("missing", Purpose::Read, "fs.read"),
        ("read/a", Purpose::Write, "fs.write"),
        ("read/a", Purpose::Edit, "fs.read and fs.write"),
        ("none", Purpose::Search, "fs.read"),
        (".git", Purpose::Workdir, "fs.read"),
        ("closed/a", Purpose::Read, "fs.read"),
        ("/etc/passwd", Purpose::Read, "fs.read"),
        ("/nowhere/at/all", Purpose::Write, "fs.write"),
    ] {
        let refused = session.refused(path, purpose);
        assert_eq!(refused.code, Code::CapabilityDenied, "{path}: {refused:?}");
        assert_eq!(refused.details["capability"], capability, "{path}");
        assert_eq!(refused.details["path"], path);
        assert!(!refused.details.contains_key("realPath"), "{path}");
    }
}

#[test]
fn a_relative_path_that_leaves_the_workspace_is_an_escape() {
    let session = usual();
    assert_eq!(session.refused("../other/a", Purpose::Read).code, Code::PathEscape);
    symlink(&session.other, session.workspace.join("read/link")).unwrap();
    let via_link = session.workspace.join("read/link/a");
    let via_link = session.refused(via_link.to_str().unwrap(), Purpose::Read);
    assert_eq!(via_link.code, Code::PathEscape);
    // Without a workspace no relative path lies anywhere.
    let request = PolicyRequest { names: Some(Vec::new()), ..PolicyRequest::default() };
    let policy = Arc::new(Policy::compile(&request, None).unwrap());
    let refused = open(&policy, "a", Purpose::Read, &AtomicBool::new(false));
    let Err(Unfinished::Failed(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.code, Code::CapabilityDenied);
}

#[test]
fn what_is_allowed_and_of_no_use_says_where_it_is() {
    let session = usual();
    for (path, purpose, code) in [
        ("read/missing", Purpose::Read, Code::FileNotFound),
        ("read/below", Purpose::Read, Code::NotAFile),
        ("both", Purpose::Write, Code::NotAFile),
        ("both/missing", Purpose::Edit, Code::FileNotFound),
        ("read/missing", Purpose::Search, Code::FileNotFound),
        ("read/a", Purpose::Workdir, Code::NotADirectory),
        ("read/missing", Purpose::Workdir, Code::FileNotFound),
        (".git/config", Purpose::Write, Code::PathProtected),
    ] {
        let refused = session.refused(path, purpose);
        assert_eq!(refused.code, code, "{path}: {refused:?}");
        let real_path = session.workspace.join(path).to_string_lossy().into_owned();
        assert_eq!(refused.details["realPath"], real_path, "{path}");
    }
    let workdir = session.refused("read/missing", Purpose::Workdir);
    assert!(workdir.message().starts_with("Directory not found: `read/missing`"), "{workdir:?}");
    assert!(workdir.hint.contains("Check `workdir`"));
    assert!(session.refused("read/a", Purpose::Workdir).hint.contains("Check `workdir`"));
    assert!(!session.refused("read/missing", Purpose::Read).hint.contains("workdir"));
}

#[test]
fn protected_paths_are_closed_to_edits_too() {
    let session = session(json!({ "fs": { "read": ["/**"], "write": ["/**"] } }));
    assert_eq!(session.refused(".git/config", Purpose::Edit).code, Code::PathProtected);
    assert!(session.open(".git/config", Purpose::Read).is_ok());
}

#[test]
fn what_a_process_that_is_gone_has_left_is_removed_before_a_change_only() {
    let session = usual();
    // No process has this number: it is above the highest.
    let gone = ShortId { pid: 1 << 30, ..ShortId::current() };
    let left = session.workspace.join(format!(".toolwright-{gone}-1.part"));
    fs::write(&left, "text").unwrap();
    assert!(session.open("both/a", Purpose::Read).is_ok());
    assert!(left.exists());
    assert!(session.open("both/a", Purpose::Edit).is_ok());
    assert!(!left.exists());
}

#[test]
fn an_edit_needs_a_file_that_can_be_read() {
    let session = usual();
    let path = session.workspace.join("both/a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o200)).unwrap();
    let is_refused = fs::read(&path).is_err(); // not for root
    assert_eq!(session.open("both/a", Purpose::Edit).is_err(), is_refused);
    assert!(session.open("both/a", Purpose::Write).is_ok());
}

#[test]
fn own_files_are_marked_for_what_is_done_to_them() {
    let session = usual();
    let own = session.other.join("a");
    let own = own.to_str().unwrap();
    let target = session.open(own, Purpose::Read).unwrap();
    assert!(target.is_implicit);
    assert_eq!(target.file.kind(), TargetKind::File { bytes: 4 });
    assert!(session.open(session.other.to_str().unwrap(), Purpose::Search).unwrap().is_implicit);
    assert_eq!(session.refused(own, Purpose::Write).code, Code::CapabilityDenied);
}

#[test]
fn a_cancelled_call_opens_nothing() {
    let session = usual();
    let opened = open(&session.policy, "read/a", Purpose::Read, &AtomicBool::new(true));
    assert!(matches!(opened, Err(Unfinished::Cancelled)));
}

#[test]
fn a_directory_that_was_replaced_is_refused() {
    let session = usual();
    assert_eq!(session.policy.check_directories().unwrap().len(), 2);
    fs::rename(&session.workspace, session.workspace.with_extension("old")).unwrap();
    fs::create_dir_all(session.workspace.join("read")).unwrap();
    fs::write(session.workspace.join("read/a"), "other").unwrap();
    assert_eq!(session.refused("read/a", Purpose::Read).code, Code::RootChanged);
    assert!(session.policy.check_directories().is_err());
    // Others are of no concern where the path is not meant to lie in them.
    let session = usual();
    fs::rename(&session.other, session.other.with_extension("old")).unwrap();
    fs::create_dir(&session.other).unwrap();
    assert!(session.open("read/a", Purpose::Read).is_ok());
    let absolute = session.workspace.join("read/a");
    assert!(session.open(absolute.to_str().unwrap(), Purpose::Read).is_ok());
    let own = session.other.join("a");
    assert_eq!(session.refused(own.to_str().unwrap(), Purpose::Read).code, Code::RootChanged);
}

#[test]
fn opening_without_waiting_allows_no_more_than_opening() {
    let session = usual();
    for path in ["read/a", "both/a", "none", "closed/a", "read/missing", ".git/config"] {
        let opened = session.open(path, Purpose::Read);
        if let Some(target) = try_open_cached(&session.policy, path) {
            let opened = opened.unwrap();
            assert_eq!(target.file.real_path(), opened.file.real_path(), "{path}");
            assert_eq!(target.is_implicit, opened.is_implicit);
        }
    }
    assert!(try_open_cached(&session.policy, "none").is_none());
    assert!(try_open_cached(&session.policy, "closed/a").is_none());
}

#[test]
fn a_purpose_has_one_word() {
    for (word, purpose) in [
        ("read", Purpose::Read),
        ("write", Purpose::Write),
        ("edit", Purpose::Edit),
        ("search", Purpose::Search),
        ("workdir", Purpose::Workdir),
    ] {
        assert_eq!(word.parse(), Ok(purpose));
    }
    assert_eq!("readd".parse::<Purpose>().unwrap_err().code, Code::InvalidInput);
}

fn request(session: &Session) -> PolicyRequest {
    let workspace = vec![session.workspace.clone()];
    PolicyRequest {
        variables: Variables { workspace, ..Variables::default() },
        names: Some(Vec::new()),
        ..PolicyRequest::default()
    }
}

fn failure(compiled: Result<Policy, Unfinished>) -> Failure {
    let Err(Unfinished::Failed(failure)) = compiled else { panic!("{compiled:?}") };
    failure
}

#[test]
fn a_child_shares_the_directories_that_its_parent_was_granted() {
    let session = usual();
    assert!(Policy::compile(&request(&session), Some(&session.policy)).is_ok());
    fs::rename(&session.workspace, session.workspace.with_extension("old")).unwrap();
    fs::create_dir(&session.workspace).unwrap();
    let child = Policy::compile(&request(&session), Some(&session.policy));
    assert_eq!(failure(child).code, Code::RootChanged);
    assert!(Policy::compile(&request(&session), None).is_ok());
}

#[test]
fn no_grant_leads_out_of_another_one_by_a_link() {
    let session = usual();
    let link = session.workspace.join("link");
    symlink(&session.other, &link).unwrap();
    let mut request = request(&session);
    request.variables.ad_hoc = vec![session.other.clone()];
    assert!(Policy::compile(&request, None).is_ok());
    request.names = Some(vec![GrantedName { path: session.other.clone(), written: link }]);
    let refused = failure(Policy::compile(&request, None));
    assert_eq!((refused.code, &refused.details["option"]), (Code::InvalidInput, &json!("adHoc")));
}
