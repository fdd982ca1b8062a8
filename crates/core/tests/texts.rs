//! Every text of a failure that a model can see, as it sees it. A change of a text shows in a snapshot.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use toolwright_core::failure::{Unfinished, files};
use toolwright_core::voice::{self, Door, commands, patches, searches};
use toolwright_exec::{ExecError, Missing, Output, Requirement, SpawnReason};
use toolwright_fs::{
    FileKind, FsErrorKind, GitRule, NAME_DESCRIPTOR, Refusal, RootChange, SYNC_DIRECTORY,
    WRITE_IN_PLACE,
};
use toolwright_sandbox::report::{Advice, Choice, Gap, Mechanism};
use toolwright_search::GrepError;

fn source(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

#[test]
fn file_operations() {
    let path = || "a.txt".to_owned();
    let io = |operation, errno| FsErrorKind::Io { operation, source: source(errno) }.at(path());
    let too_large = |result| FsErrorKind::TooLarge { bytes: 20, limit: 10, result }.at(path());
    let errors = [
        FsErrorKind::PathInvalid { reason: "Path is too long" }.at(path()),
        FsErrorKind::Escape { via_link: false }.at(path()),
        FsErrorKind::Escape { via_link: true }.at(path()),
        FsErrorKind::Protected { protected: ".git/hooks".to_owned() }.at(path()),
        FsErrorKind::Git { rule: GitRule::Completes }.at(path()),
        FsErrorKind::Reserved.at(path()),
        FsErrorKind::NotFound.at(path()),
        FsErrorKind::NotAFile { kind: FileKind::Directory }.at(path()),
        FsErrorKind::NotAFile { kind: FileKind::Fifo }.at(path()),
        FsErrorKind::NotADirectory.at(path()),
        FsErrorKind::Permission { operation: "opening", source: source(libc::EACCES) }.at(path()),
        too_large(false),
        too_large(true),
        FsErrorKind::Conflict.at(path()),
        FsErrorKind::Busy { waited: Duration::from_millis(5) }.at(path()),
        FsErrorKind::NotReplaceable { refusal: Refusal::MountPoint, source: source(libc::EBUSY) }
            .at(path()),
        FsErrorKind::Root { source: source(libc::ENOENT) }.at(path()),
        FsErrorKind::RootChanged { grant: "rootDir".to_owned(), now: RootChange::Directory }
            .at(path()),
        io("writing", libc::ENOSPC),
        io("opening", libc::EMFILE),
        io("writing", libc::EFBIG),
        io("reading", libc::EAGAIN),
        io("reading", libc::EIO),
        io(WRITE_IN_PLACE, libc::EIO),
        io(SYNC_DIRECTORY, libc::EIO),
        io(NAME_DESCRIPTOR, libc::ENOENT),
    ];
    let mut texts = String::new();
    for error in &errors {
        let Unfinished::Failed(failure) = error.into() else { panic!("{error:?}") };
        let session = failure.clone().for_session();
        writeln!(texts, "{}\n  {:?}", failure.message(), failure.details).unwrap();
        if session.hint != failure.hint {
            writeln!(texts, "  session: {}", session.hint).unwrap();
        }
    }
    writeln!(texts, "{}", files::binary_file("a.png", 12, &[]).message()).unwrap();
    insta::assert_snapshot!(texts);
}

#[test]
fn patches_that_do_not_fit() {
    const FILE: &[u8] = b"one\ntwo\nthree\n";
    let cases: &[(&[u8], &str)] = &[
        (FILE, ""),
        (FILE, "replace one by two"),
        (FILE, "--- a/f\n+++ b/f\n"),
        (FILE, "@@ -1,x +1 @@\n-one\n+1\n"),
        (FILE, "@@ -1 +1 @@\n"),
        (FILE, "@@ -1,2 +1,2 @@\n-one\nxtwo\n+1\n"),
        (FILE, "@@ -1,1 +1,1 @@\n one\n-two\n"),
        (FILE, "@@ -1,3 +1,3 @@\n one\n-tw"),
        (b"a\0b\n", "@@ -1 +1 @@\n-a\n+b\n"),
        (b"x\ny\nx\n", "@@ @@\n-x\n+z\n"),
        (FILE, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"),
        (FILE, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"),
        (FILE, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"),
        (FILE, "diff --git a/f b/g\nrename from f\nrename to g\n"),
        (FILE, "diff --git a/f b/f\nGIT binary patch\n"),
        (FILE, "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"),
        (FILE, "@@ -1 +1 @@\n-one\n+\u{fffd}\n"),
        (FILE, "@@ -1 +1 @@\n one\n"),
        (FILE, "@@ -1,2 +1,2 @@\n one\n-2\n+two\n"),
        (b"\tone\n", "@@ -1 +1 @@\n-  one\n+1\n"),
        (b"1\ntwo\n", "@@ -1,2 +1,2 @@\n-one\n+1\n two\n"),
        (FILE, "@@ -99,0 +100 @@\n+x\n"),
        (FILE, "@@ -3 +3 @@\n-three\n\\ No newline at end of file\n+3\n"),
    ];
    let mut texts = String::new();
    for (file, patch) in cases {
        let error = toolwright_patch::apply(file, patch).unwrap_err();
        let hint = patches::hint(&error);
        assert!(!hint.is_empty() && hint.len() <= 500, "{hint}");
        writeln!(texts, "{error}\n  {hint}").unwrap();
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn patches_of_several_files_that_do_not_fit() {
    const FILE: &[u8] = b"class A:\n    one\n    two\nclass B:\n    one\n";
    let update = |hunks: &str| format!("*** Update File: a.py\n{hunks}");
    let mut cases = vec![
        "replace one by two".to_owned(),
        "*** Begin Patch\n*** Delete File: a.py\n".to_owned(),
        format!("cd src && apply_patch <<'EOF'\n*** Begin Patch\n{}*** End Patch\n", update("")),
        "--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        "diff --git a/a.py b/b.py\ncopy from a.py\ncopy to b.py\n".to_owned(),
        "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n".to_owned(),
        "--- /dev/null\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        "--- a/a.py\n+++ /dev/null\n@@ -2 +0,0 @@\n-    two\n".to_owned(),
        "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
    ];
    let bodies = [
        String::new(),
        update(""),
        "*** Create File: a.py\n+a\n".to_owned(),
        "*** Add File: a.py\na\n".to_owned(),
        "*** Add File: a\n+a\n*** Add File: a/b\n+a\n".to_owned(),
        "*** Add File: a.py\n+a\n*** Delete File: a.py\n".to_owned(),
        format!("{}*** End Patch\n*** Begin Patch\n", update("@@\n-    two\n")),
        update("@@ class C:\n@@ def f():\n-    one\n+    1\n"),
        update("@@ class A:\n@@ class AB:\n-    one\n+    1\n"),
        update("@@\n-    one\n+    1\n"),
        update("@@\n+    1\n@@\n-    two\n"),
        update("@@ class B:\n-    two\n+    2\n"),
        update("@@ class B:\n-    one\n+    1\n@@\n class A:\n+    0\n     one\n"),
        update("@@ class B:\n-    three\n+    3\n"),
    ];
    cases.extend(bodies.map(|body| format!("*** Begin Patch\n{body}*** End Patch\n")));
    let mut texts = String::new();
    for patch in &cases {
        let applied = toolwright_patch::parse_patch(patch)
            .and_then(|files| files.iter().try_for_each(|file| file.apply(FILE).map(drop)));
        let error = applied.unwrap_err();
        let hint = patches::hint(&error);
        assert!(!hint.is_empty() && hint.len() <= 500, "{hint}");
        writeln!(texts, "{error}\n  {hint}").unwrap();
    }
    let diff = toolwright_patch::DiffMode::Update;
    let error = toolwright_patch::apply_diff(FILE, "*** Update File: a.py\n", diff).unwrap_err();
    writeln!(texts, "{error}\n  {}", patches::hint(&error)).unwrap();
    insta::assert_snapshot!(texts);
}

#[test]
fn replacements_that_do_not_fit() {
    let cases = [
        ("abc", "", "x", false),
        ("abc", "b", "b", false),
        ("abc", "x", "y", false),
        ("a a", "a", "b", false),
        ("aaa", "aa", "b", true),
    ];
    let mut texts = String::new();
    for (file, old, new, all) in cases {
        let error = toolwright_patch::replace(file.as_bytes(), old, new, all, 10).unwrap_err();
        writeln!(texts, "{error}\n  {}", patches::replacement_hint(&error)).unwrap();
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn failed_searches() {
    let path = || PathBuf::from("src");
    let pattern =
        |message: &str| GrepError::Pattern { pattern: "(".to_owned(), message: message.to_owned() };
    let errors = [
        pattern("regex parse error"),
        pattern("the literal \"\\n\" is not allowed in a regex"),
        pattern("backreferences are not supported"),
        pattern("Compiled regex exceeds size limit"),
        GrepError::Glob { pattern: "[".to_owned(), message: "unclosed".to_owned() },
        GrepError::Missing { path: path() },
        GrepError::Missing { path: "*.rs".into() },
        GrepError::Unreadable { path: path(), source: source(libc::EACCES) },
        GrepError::NotSearchable { path: path() },
        GrepError::TimedOut { path: path(), partial: Vec::new(), matches: 2 },
        GrepError::Cancelled { path: path() },
    ];
    let mut texts = String::new();
    for error in &errors {
        writeln!(texts, "{error}\n  {}", searches::hint(error)).unwrap();
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn commands_that_did_not_run_to_their_end() {
    let program = |name: &str| name.to_owned();
    let spawn = |name: &str, reason| ExecError::Spawn {
        reason,
        program: name.to_owned(),
        cwd: "/srv".into(),
        source: source(libc::ENOENT),
    };
    let missing = |requirement| ExecError::Unconfined {
        program: "make".to_owned(),
        missing: Missing { layer: "Landlock", requirement, reason: "no such call".to_owned() },
    };
    let interpreter = Some("/bin/none".to_owned());
    let errors = [
        ExecError::InvalidInput {
            program: program("make"),
            what: "args[0]".to_owned(),
            problem: "contains a NUL byte",
        },
        spawn("absent", SpawnReason::NotFound),
        spawn("apply_patch", SpawnReason::NotFound),
        spawn("cd", SpawnReason::NotFound),
        spawn("ls -l", SpawnReason::NotFound),
        spawn("./x", SpawnReason::NotFound),
        spawn("x", SpawnReason::NotExecutable),
        spawn("x", SpawnReason::UnknownFormat),
        spawn("x", SpawnReason::MissingInterpreter { interpreter }),
        spawn("x", SpawnReason::MissingInterpreter { interpreter: None }),
        spawn("x", SpawnReason::BadCwd),
        spawn("x", SpawnReason::TooLong),
        spawn("x", SpawnReason::PermissionDenied),
        spawn("x", SpawnReason::Resources),
        spawn("x", SpawnReason::Hidden),
        spawn("x", SpawnReason::Busy),
        spawn("x", SpawnReason::Other),
        missing(Requirement::BlockedNetwork),
        missing(Requirement::NamedHosts),
        missing(Requirement::StrictGit),
        missing(Requirement::ProtectedPaths),
        missing(Requirement::ClosedPaths),
        missing(Requirement::Promise("confining files")),
        missing(Requirement::Program),
        missing(Requirement::Start),
        ExecError::GrantChanged { program: program("make"), what: "another one".to_owned() },
        ExecError::TimedOut {
            program: program("make"),
            output: Output::default(),
            stderr: None,
            timeout: Duration::from_secs(1),
        },
        ExecError::Cancelled { program: program("make"), output: Output::default(), stderr: None },
        ExecError::Lost {
            program: program("make"),
            output: Output::default(),
            stderr: None,
            source: source(libc::ECHILD),
        },
    ];
    let mut texts = String::new();
    for error in &errors {
        if let ExecError::Unconfined { missing, .. } = error {
            writeln!(texts, "{}", voice::commands::missing(missing)).unwrap();
        } else {
            writeln!(texts, "{error}").unwrap();
        }
        let (tools, session) =
            (commands::hint(error, Door::Tools), commands::hint(error, Door::Session));
        writeln!(texts, "  {tools}").unwrap();
        if tools != session {
            writeln!(texts, "  session: {session}").unwrap();
        }
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn the_report_of_the_sandbox() {
    let choices = [
        Choice::Files,
        Choice::Network,
        Choice::NetworkAndFiles,
        Choice::Loopback,
        Choice::Limits,
        Choice::Environment,
    ];
    let mut texts = String::new();
    for choice in choices {
        let opened = voice::report::mechanism(&Mechanism::Opened(choice));
        let advice = voice::report::advice(Some(Advice::Choice(choice)));
        writeln!(texts, "{opened}\n  {advice}").unwrap();
    }
    let gaps = vec![Gap::ClosedPaths, Gap::OpenStores, Gap::ProtectedPaths, Gap::Truncation];
    let gaps = Mechanism::Gaps("Landlock (ABI 2)".to_owned(), gaps);
    writeln!(texts, "{}", voice::report::mechanism(&gaps)).unwrap();
    for advice in [
        Advice::Namespaces,
        Advice::Mounts,
        Advice::Processes,
        Advice::Landlock,
        Advice::Broker,
        Advice::Seccomp,
        Advice::ControlGroups,
        Advice::Program,
    ] {
        writeln!(texts, "  {}", voice::report::advice(Some(advice))).unwrap();
    }
    insta::assert_snapshot!(texts);
}
