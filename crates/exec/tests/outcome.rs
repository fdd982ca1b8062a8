//! The output of a command, and its end.

#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{LONG, in_dir, sh, text, with};
use toolwright_exec::{ExecEnv, ExecError, Exit, SpawnReason};

fn reason(result: Result<toolwright_exec::Finished, ExecError>) -> SpawnReason {
    match result {
        Err(ExecError::Spawn { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn script(path: &Path, content: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    // Written by another process: a descriptor of ours, open for writing, could be inherited for a
    // moment by a child of a parallel test, and executing the file would then be ETXTBSY.
    let output = std::process::Command::new("sh")
        .args(["-c", "printf '%s' \"$1\" > \"$0\""])
        .arg(path)
        .arg(content)
        .status();
    assert!(output.expect("sh").success());
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}

#[test]
fn arguments_are_passed_as_they_are() {
    let finished = in_dir(Path::new("/"), "printf", &["%s|", "a b", "$HOME", "*", "", "ü'\"\n"]);
    let finished = finished.expect("runs");
    assert_eq!(text(&finished), "a b|$HOME|*||ü'\"\n|");
    assert_eq!(finished.exit, Exit::Code(0));
    assert_eq!(finished.exit, Exit::Code(0));
    assert!(!finished.output.truncated);
}

#[test]
fn both_streams_come_in_arrival_order() {
    let finished = sh("echo a; echo b >&2; echo c; echo d >&2; exit 7").expect("runs");
    assert_eq!(text(&finished), "a\nb\nc\nd\n");
    assert_eq!(finished.exit, Exit::Code(7));
}

#[test]
fn stdin_is_empty() {
    assert_eq!(text(&sh("cat; echo end").expect("runs")), "end\n");
}

#[test]
fn a_signal_is_told_truthfully() {
    for (number, name) in [(11, "SIGSEGV"), (9, "SIGKILL"), (15, "SIGTERM"), (6, "SIGABRT")] {
        let finished = sh(&format!("kill -{number} $$")).expect("runs");
        assert_eq!(finished.exit, Exit::Signal { number, name: name.into() });
    }
    let finished = sh("kill -40 $$").expect("runs");
    assert_eq!(finished.exit, Exit::Signal { number: 40, name: "signal 40".into() });
    assert_eq!(sh("exit 139").expect("runs").exit, Exit::Code(139));
}

#[test]
fn sigpipe_is_not_ignored_in_the_child() {
    let finished = sh("yes | head -n1").expect("runs");
    assert_eq!(text(&finished), "y\n");
}

#[test]
fn invalid_utf8_comes_through() {
    let finished = sh("printf '\\377\\000a\\303'").expect("runs");
    assert_eq!(finished.output.bytes, b"\xff\0a\xc3");
}

#[test]
fn a_flood_keeps_both_ends() {
    let args = ["-c", "echo first; yes 0123456789 | head -c 10000000; echo last"];
    let finished = with(Path::new("/"), "sh", &args, LONG, 2000, ExecEnv::Inherit).expect("runs");
    let text = text(&finished);
    assert!(finished.output.truncated);
    assert_eq!(finished.output.total_bytes, 10_000_011);
    assert!(finished.output.bytes.len() <= 2000);
    assert!(text.starts_with("first\n0123"), "{text}");
    assert!(text.ends_with("last\n"), "{text}");
    assert!(text.contains("\n[output cut: 9998"), "{text}");
}

#[test]
fn a_relative_program_is_meant_from_the_directory_of_the_child() {
    let dir = tempfile::tempdir().expect("dir");
    fs::create_dir(dir.path().join("sub")).expect("dir");
    script(&dir.path().join("sub/here.sh"), "#!/bin/sh\necho \"here $0\"\n", 0o755);
    let handle = File::open(dir.path().join("sub")).expect("opened");
    let by_handle = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    for cwd in [dir.path().join("sub"), by_handle] {
        let finished = in_dir(&cwd, "./here.sh", &[]).expect("runs");
        assert_eq!(text(&finished), "here ./here.sh\n");
        let finished = in_dir(&cwd, "../sub/here.sh", &[]).expect("runs");
        assert_eq!(text(&finished), "here ../sub/here.sh\n");
    }
    assert_eq!(reason(in_dir(dir.path(), "./here.sh", &[])), SpawnReason::NotFound);
}

#[test]
fn a_handle_as_directory_is_used_before_it_is_closed() {
    let dir = tempfile::tempdir().expect("dir");
    let real = dir.path().canonicalize().expect("real");
    let handle = File::open(&real).expect("opened");
    let cwd = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let finished = in_dir(&cwd, "pwd", &["-P"]).expect("runs");
    assert_eq!(text(&finished).trim_end(), real.to_str().expect("utf-8"));
    // Of ours nothing but the three standard descriptors is inherited (3 is what `ls` lists with).
    let finished = in_dir(&cwd, "ls", &["/proc/self/fd"]).expect("runs");
    for number in text(&finished).lines().filter(|number| !["0", "1", "2", "3"].contains(number)) {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:\t"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags, 8).ok());
        // What this process got from its own parent without O_CLOEXEC is passed on, by contract.
        assert!(flags.is_some_and(|flags| flags & 0o2_000_000 == 0), "{number} was inherited");
    }
}

#[test]
fn the_path_of_the_child_counts() {
    let dir = tempfile::tempdir().expect("dir");
    fs::create_dir(dir.path().join("bin")).expect("dir");
    script(&dir.path().join("bin/only-here"), "#!/bin/sh\necho \"$0 $MARK\"\n", 0o755);
    let env = |path: &str| {
        ExecEnv::Exactly(vec![("PATH".into(), path.into()), ("MARK".into(), "set".into())].into())
    };
    let go = |cwd: &Path, path: &str| with(cwd, "only-here", &[], LONG, 1000, env(path));
    let absolute = format!("/nowhere:{}", dir.path().join("bin").display());
    let finished = go(Path::new("/"), &absolute).expect("runs");
    assert_eq!(text(&finished), format!("{} set\n", dir.path().join("bin/only-here").display()));
    // Relative and empty entries are meant from the directory of the child.
    assert_eq!(text(&go(dir.path(), "bin").expect("runs")), "bin/only-here set\n");
    assert_eq!(text(&go(&dir.path().join("bin"), "/x:").expect("runs")), "./only-here set\n");
    assert_eq!(reason(go(dir.path(), "/bin:/usr/bin")), SpawnReason::NotFound);
    assert_eq!(reason(in_dir(Path::new("/"), "only-here", &[])), SpawnReason::NotFound);
    // Without any PATH the system's default directories are searched.
    let none = ExecEnv::Exactly(vec![("A".into(), "1".into())].into());
    let finished = with(Path::new("/"), "env", &[], LONG, 1000, none).expect("runs");
    assert_eq!(text(&finished), "A=1\n");
}

#[test]
fn failures_to_start_are_told_apart() {
    use SpawnReason::{
        BadCwd, MissingInterpreter, NotExecutable, NotFound, PermissionDenied, TooLong,
        UnknownFormat,
    };
    let dir = tempfile::tempdir().expect("dir");
    let dir = dir.path();
    script(&dir.join("plain"), "#!/bin/sh\n", 0o644);
    script(&dir.join("orphan"), "#!/no/such -x\n", 0o755);
    script(&dir.join("crlf"), "#!/bin/sh\r\necho\r\n", 0o755);
    script(&dir.join("bare"), "echo no shebang\n", 0o755);
    fs::create_dir(dir.join("folder")).expect("dir");

    assert_eq!(reason(in_dir(dir, "no-such-program-here", &[])), NotFound);
    assert_eq!(reason(in_dir(dir, "./missing", &[])), NotFound);
    assert_eq!(reason(in_dir(dir, "./plain/x", &[])), NotFound);
    assert_eq!(reason(in_dir(dir, "/no/such/dir/x", &[])), NotFound);
    assert_eq!(reason(in_dir(dir, &"n".repeat(300), &[])), NotFound);
    assert_eq!(reason(in_dir(dir, &format!("./{}", "n".repeat(300)), &[])), NotFound);
    assert_eq!(reason(in_dir(dir, "./plain", &[])), NotExecutable);
    assert_eq!(reason(in_dir(dir, "./folder", &[])), NotExecutable);
    assert_eq!(reason(in_dir(dir, "./bare", &[])), UnknownFormat);
    let missing = |name: &str| MissingInterpreter { interpreter: Some(name.to_owned()) };
    assert_eq!(reason(in_dir(dir, "./orphan", &[])), missing("/no/such"));
    assert_eq!(reason(in_dir(dir, "./crlf", &[])), missing("/bin/sh\r"));
    assert_eq!(reason(in_dir(&dir.join("gone"), "true", &[])), BadCwd);
    assert_eq!(reason(in_dir(&dir.join("gone"), "no-such-program-here", &[])), BadCwd);
    assert_eq!(reason(in_dir(&dir.join("plain"), "true", &[])), BadCwd);
    assert_eq!(reason(in_dir(dir, "true", &[&"x".repeat(200_000)])), TooLong);
    let many = vec!["y".repeat(100_000); 100];
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(reason(in_dir(dir, "true", &many)), TooLong);
    let path = ExecEnv::Exactly(vec![("PATH".into(), dir.into())].into());
    assert_eq!(reason(with(dir, "plain", &[], LONG, 10, path)), NotExecutable);
    // On a file system mounted noexec, if there is one at the usual place.
    if Path::new("/proc/version").exists() {
        assert!(matches!(
            reason(in_dir(dir, "/proc/version", &[])),
            NotExecutable | PermissionDenied
        ));
    }

    let error = in_dir(dir, "./orphan", &[]).expect_err("fails");
    assert_eq!(
        error.to_string(),
        format!(
            "Cannot run `./orphan` in `{}`: its interpreter `/no/such` does not exist",
            dir.display()
        )
    );
}

#[test]
fn what_cannot_be_passed_is_refused() {
    let root = Path::new("/");
    let refused = |result: Result<_, ExecError>| match result {
        Err(error @ ExecError::InvalidInput { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(in_dir(root, "", &[])), "Cannot run ``: cmd is empty");
    assert_eq!(refused(in_dir(root, "a\0b", &[])), "Cannot run `a\\0b`: cmd holds a NUL byte");
    assert_eq!(
        refused(in_dir(root, "true", &["a", "b\0"])),
        "Cannot run `true`: args[1] holds a NUL byte"
    );
    assert_eq!(
        refused(in_dir(Path::new("/\0"), "true", &[])),
        "Cannot run `true`: cwd holds a NUL byte"
    );
    for name in ["", "A=B", "A\0"] {
        let env = ExecEnv::Exactly(vec![(name.into(), "x".into())].into());
        refused(with(root, "true", &[], LONG, 10, env));
    }
}

#[test]
fn an_endless_timeout_is_no_timeout() {
    let finished = with(Path::new("/"), "true", &[], Duration::MAX, usize::MAX, ExecEnv::Inherit);
    assert_eq!(finished.expect("runs").exit, Exit::Code(0));
}
