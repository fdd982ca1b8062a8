use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use toolwright_sandbox::plan::{FileIdentity, Limits, Network};

use super::super::plan::tests::resolved;
use super::*;
use crate::access::policy::PolicyRequest;

/// A directory with `a` and `b` in it, without links in its path.
fn directories() -> (TempDir, PathBuf, PathBuf) {
    let made = tempfile::tempdir().expect("made");
    let root = made.path().canonicalize().expect("there");
    let [a, b] = ["a", "b"].map(|name| root.join(name));
    fs::create_dir(&a).expect("made");
    fs::create_dir(&b).expect("made");
    (made, a, b)
}

fn open(readable: &[&Path], writable: &[&Path]) -> OpenDirectories {
    let paths = |paths: &[&Path]| paths.iter().map(|&path| path.to_owned()).collect();
    OpenDirectories { readable: paths(readable), writable: paths(writable), absent: Vec::new() }
}

/// What a session may do that works in no fork.
fn no_fork() -> Policy {
    Policy::compile(&PolicyRequest::default(), None).expect("allowed")
}

fn options(reads_all: bool) -> SessionOptions {
    let grants = Grants { reads_all, ..Grants::default() };
    SessionOptions { grants, ..SessionOptions::default() }
}

#[test]
fn a_granted_directory_is_open_while_it_is_a_directory() {
    let (made, a, b) = directories();
    let root = made.path().canonicalize().expect("there");
    let [link, gone, file] = ["link", "gone", "file"].map(|name| root.join(name));
    symlink(&a, &link).expect("made");
    fs::write(&file, "").expect("written");
    let grants = Grants {
        readable: vec![a.clone(), link.clone(), gone.clone()],
        writable: vec![b.clone(), gone.clone(), file.clone()],
        ..Grants::default()
    };
    let directories = OpenDirectories::find(&grants, &no_fork());
    assert_eq!(directories.readable, [a]);
    assert_eq!(directories.writable, [b]);
    assert_eq!(directories.absent, [file.clone(), gone, link]);
    let missing = directories.missing().expect("three");
    assert!(missing.contains(&format!("`{}` (and 2 more)", file.display())), "{missing}");
    let one = OpenDirectories { absent: vec![file.clone()], ..OpenDirectories::default() };
    let missing = one.missing().expect("one");
    assert!(missing.contains(&format!("`{}` to commands", file.display())), "{missing}");
    assert_eq!(OpenDirectories::default().missing(), None);
}

#[test]
fn a_command_runs_where_it_may_look_or_in_the_root_of_the_system() {
    let workspace = [PathBuf::from("/srv/other"), PathBuf::from("/srv/work")];
    let place = |options: &SessionOptions, cwd: &str, open: &OpenDirectories| {
        let Place { cwd, root, below } = options.place(Path::new(cwd), &workspace, open);
        [cwd, root, below].map(|path| path.to_string_lossy().into_owned())
    };
    let narrow = options(false);
    let inside = ["/srv/work/sub", "/srv/work", "sub"];
    let closed = ["/", "/", ""];
    for (readable, writable, expected) in [
        (Some("/srv/work/sub"), None, inside),
        (None, Some("/srv/work/sub"), inside),
        (Some("/srv/work"), None, inside),
        (None, Some("/srv/work/sub/deeper"), inside),
        (Some("/srv/work/sub/deeper"), None, inside),
        (Some("/srv/work/other"), None, closed),
        (None, Some("/srv/work/other"), closed),
        (None, None, closed),
    ] {
        let paths = |path: Option<&str>| path.into_iter().map(PathBuf::from).collect();
        let open = OpenDirectories {
            readable: paths(readable),
            writable: paths(writable),
            absent: Vec::new(),
        };
        assert_eq!(place(&narrow, "/srv/work/sub", &open), expected, "{open:?}");
    }
    let none = OpenDirectories::default();
    assert_eq!(place(&options(true), "/srv/work/sub", &none), inside);
    assert_eq!(place(&options(true), "/srv/work", &none), ["/srv/work", "/srv/work", ""]);
    assert_eq!(place(&options(true), "/elsewhere", &none), ["/elsewhere", "/elsewhere", ""]);
}

#[test]
fn a_plan_writes_what_is_open_for_writing_and_not_the_root() {
    let (made, a, b) = directories();
    let root = made.path().canonicalize().expect("there");
    let whole = options(false).sandbox().plan(&root, &resolved(&root), &[]);
    assert_eq!(whole.writable, [root]);
    let open = open(&[&a], &[&b, &a, &b]);
    let plan = options(false).narrow(whole, &open, [].iter(), Vec::new());
    assert_eq!(plan.writable, [a, b]);
}

#[test]
fn directories_of_the_session_that_are_not_open_are_closed() {
    let (made, a, b) = directories();
    let root = made.path().canonicalize().expect("there");
    let gone = root.join("gone");
    let sub = a.join("sub");
    fs::create_dir(&sub).expect("made");
    let all = [b.clone(), gone, a.clone(), sub, b.clone()];
    let whole = options(false).sandbox().plan(&root, &resolved(&root), &[]);
    let closed = |options: &SessionOptions, open: &OpenDirectories| {
        let before = whole.closed.clone();
        let plan = options.narrow(whole.clone(), open, all.iter(), Vec::new());
        assert!(plan.closed.is_sorted_by(|one, other| one < other), "sorted, and once each");
        plan.closed.into_iter().filter(|path| !before.contains(path)).collect::<Vec<_>>()
    };
    assert_eq!(closed(&options(false), &open(&[&a], &[])), std::slice::from_ref(&b));
    assert_eq!(closed(&options(false), &open(&[], &[&b])), [a.clone(), a.join("sub")]);
    assert_eq!(closed(&options(true), &open(&[], &[])), [] as [PathBuf; 0]);
}

#[test]
fn only_directories_that_a_command_reaches_are_held_for_it() {
    let (made, a, b) = directories();
    let root = made.path().canonicalize().expect("there");
    let identity = |path: &Path| {
        let identity = FileIdentity::of(fs::File::open(path).expect("opened")).expect("known");
        Granted { path: path.to_owned(), identity }
    };
    let whole = options(false).sandbox().plan(&root, &resolved(&root), &[]);
    let granted = vec![identity(&a), identity(&b), identity(&root)];
    let plan = options(false).narrow(whole, &open(&[&a], &[]), [].iter(), granted);
    assert_eq!(plan.granted.into_iter().map(|one| one.path).collect::<Vec<_>>(), [a]);
}

#[test]
fn the_sandbox_gets_what_the_capabilities_say() {
    let (made, a, _) = directories();
    let root = made.path().canonicalize().expect("there");
    let grants = Grants { readable: vec![a.clone()], network: true, ..Grants::default() };
    let options = SessionOptions {
        grants,
        deny_write: Some(vec!["x".into()]),
        required: true,
        ..SessionOptions::default()
    };
    let sandbox = options.sandbox();
    assert!(sandbox.network && sandbox.system_only && sandbox.required);
    assert_eq!(sandbox.readable, [a]);
    let plan = sandbox.plan(&root, &resolved(&root), &[]);
    assert_eq!(plan.network, Network::Open);
    assert_eq!(plan.limits, Limits::DEFAULT);
    assert!(plan.protected.contains(&root.join("x")));
    let all = SessionOptions { grants: Grants { reads_all: true, ..Grants::default() }, ..options };
    assert!(!all.sandbox().system_only);
    let loopback = SessionOptions { loopback: Loopback::Host, ..SessionOptions::default() };
    assert_eq!(loopback.sandbox().loopback, Loopback::Host);
}

#[test]
fn a_session_without_capabilities_reaches_no_network() {
    let sandbox = SessionOptions::default().sandbox();
    assert!(!sandbox.network);
    assert_eq!(sandbox.loopback, Loopback::Private);
}

#[test]
fn a_plan_knows_what_is_open_and_what_was_closed_by_name() {
    let resolved = open(&[Path::new("/a")], &[]).resolve(Path::new("/"), vec!["/b".into()], &[]);
    assert_eq!(resolved.readable, [PathBuf::from("/a")]);
    assert_eq!(resolved.closed, [PathBuf::from("/b")]);
}

#[test]
fn a_session_asks_for_the_same_wherever_its_commands_run() {
    let (_made, a, b) = directories();
    let scratch = PathBuf::from("/scratch/one");
    let options = |writable: &[&PathBuf], deny_read: &[&str]| SessionOptions {
        grants: Grants {
            writable: writable.iter().map(|&path| path.clone()).collect(),
            ..Grants::default()
        },
        deny_read: deny_read.iter().map(PathBuf::from).collect(),
        ..SessionOptions::default()
    };
    let origin = |options: &SessionOptions, root: &Path, later: &[PathBuf]| {
        let plan = options.sandbox().plan(root, &resolved(root), &[]);
        options.origin(plan.origin.as_deref(), later)
    };
    let first = origin(&options(&[&a, &scratch], &[]), &a, &[]);
    assert_eq!(first, origin(&options(&[&a, &scratch], &[]), Path::new("/"), &[]));
    // The user opens a directory.
    let opened = options(&[&a, &b.join("sub"), &scratch], &[]);
    assert_eq!(first, origin(&opened, &b, std::slice::from_ref(&b)));
    // Another session, or one that asks for something else.
    assert_ne!(first, origin(&options(&[&a, &"/scratch/two".into()], &[]), &a, &[]));
    assert_ne!(first, origin(&options(&[&a, &b, &scratch], &[]), &a, &[]));
    assert_ne!(first, origin(&options(&[&a, &scratch], &["x"]), &a, &[]));
    let open = SessionOptions { loopback: Loopback::Nothing, ..options(&[&a, &scratch], &[]) };
    assert_ne!(first, origin(&open, &a, &[]));
}
