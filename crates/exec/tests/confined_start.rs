//! Commands that cannot be started fail for the same reason, confined or not.

#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use SpawnReason::{
    BadCwd, Busy, Hidden, MissingInterpreter, NotExecutable, NotFound, PermissionDenied, TooLong,
    UnknownFormat,
};
use support::place::Place;
use support::{all_as_another_user, strings, text};
use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Exit, Finished, SpawnReason, run};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

fn reason(result: Result<Finished, ExecError>) -> SpawnReason {
    match result {
        Err(ExecError::Spawn { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Written by another process: a descriptor of ours could be inherited for a moment by a child of a
/// parallel test, and executing the file would then be ETXTBSY.
fn file(path: &Path, content: &[u8], mode: u32) {
    let plain = path.with_extension("plain");
    fs::write(&plain, content).expect("written");
    let copied = std::process::Command::new("cp").args([&plain, path]).status();
    assert!(copied.is_ok_and(|status| status.success()));
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}

#[test]
fn failures_to_start_are_told_apart() {
    for place in Place::both() {
        let at = |name: &str| place.root.join(name);
        file(&at("plain.sh"), b"#!/bin/sh\n", 0o644);
        file(&at("orphan.sh"), b"#!/no/such -x\n", 0o755);
        file(&at("crlf.sh"), b"#!/bin/sh\r\necho\r\n", 0o755);
        file(&at("bare.sh"), b"echo no shebang\n", 0o755);
        fs::create_dir(at("folder")).expect("dir");
        let missing = |name: &str| MissingInterpreter { interpreter: Some(name.to_owned()) };
        let long = "n".repeat(300);
        for (program, expected) in [
            ("no-such-program-here", NotFound),
            ("./missing", NotFound),
            ("./plain.sh/x", NotFound),
            // Elsewhere than in the root, nothing is looked at that a command has not found.
            ("/no/such/dir/x", if place.is_confined { Hidden } else { NotFound }),
            (&long, NotFound),
            (&format!("./{long}"), NotFound),
            ("./plain.sh", NotExecutable),
            ("./folder", NotExecutable),
            ("./bare.sh", UnknownFormat),
            ("./orphan.sh", missing("/no/such")),
            ("./crlf.sh", missing("/bin/sh\r")),
        ] {
            assert_eq!(reason(place.run(program, &[])), expected, "{program}");
        }
        let env = ExecEnv::Exactly(vec![("PATH".into(), place.root.clone().into())].into());
        let request = ExecRequest { env, ..place.request("plain.sh", &[]) };
        assert_eq!(reason(run(&request)), NotExecutable);
        assert!(matches!(
            reason(place.run("/proc/version", &[])),
            NotExecutable | PermissionDenied
        ));
        assert_eq!(place.output("echo after"), "after");
    }
}

#[test]
fn a_binary_without_its_loader_misses_it() {
    let mut program = fs::read("/bin/true").expect("binary");
    let Some(at) = program.windows(4).take(8192).position(|bytes| bytes == b"/ld-") else {
        eprintln!("skipped: /bin/true has no loader");
        return;
    };
    program[at + 1..at + 4].copy_from_slice(b"no-");
    for place in Place::both() {
        file(&place.root.join("no-loader"), &program, 0o755);
        assert_eq!(reason(place.run("./no-loader", &[])), MissingInterpreter { interpreter: None });
    }
}

#[test]
fn directories_that_cannot_be_entered() {
    for place in Place::both() {
        fs::write(place.root.join("file"), "").expect("written");
        for program in ["true", "no-such-program-here", "/bin/true"] {
            let go = |below: &str| place.run_in(&place.root.join(below), below, program, &[]);
            assert_eq!(reason(go("gone")), BadCwd);
            assert_eq!(reason(go("file")), BadCwd);
        }
        if !rustix::process::getuid().is_root() {
            let shut = place.root.join("shut");
            fs::create_dir(&shut).expect("dir");
            file(&shut.join("program"), b"#!/bin/sh\n", 0o755);
            fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).expect("mode");
            assert_eq!(reason(place.run_in(&shut, "shut", "true", &[])), BadCwd);
            assert_eq!(reason(place.run("shut/program", &[])), PermissionDenied);
            fs::set_permissions(&shut, fs::Permissions::from_mode(0o755)).expect("mode");
        }
        assert_eq!(place.output("echo after"), "after");
    }
}

/// The host has found it and has it open; then it is removed, or a link is put into its place.
#[test]
fn a_directory_that_has_changed_meanwhile() {
    let place = Place::confined();
    let sub = place.root.join("sub");
    let opened = || {
        fs::create_dir(&sub).expect("dir");
        let handle = File::open(&sub).expect("opened");
        (PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd())), handle)
    };
    let (cwd, _handle) = opened();
    fs::remove_dir(&sub).expect("removed");
    assert_eq!(reason(place.run_in(&cwd, "sub", "true", &[])), BadCwd);
    let (cwd, _handle) = opened();
    fs::remove_dir(&sub).expect("removed");
    symlink("/etc", &sub).expect("link");
    assert_eq!(reason(place.run_in(&cwd, "sub", "pwd", &[])), BadCwd);
    fs::remove_file(&sub).expect("removed");
    let (cwd, _handle) = opened();
    assert!(place.run_in(&cwd, "sub", "true", &[]).is_ok());
}

#[test]
fn what_only_the_host_sees() {
    let mut place = Place::confined();
    let closed = place.outside.join("closed");
    fs::create_dir(&closed).expect("dir");
    file(&closed.join("program"), b"#!/bin/sh\necho it ran\n", 0o755);
    let program = closed.join("program").display().to_string();
    let script = format!("#!{program}\n");
    file(&place.root.join("by-it.sh"), script.as_bytes(), 0o755);
    place.plan.closed.push(closed);
    assert_eq!(reason(place.run(&program, &[])), Hidden);
    let interpreter = Some(program.clone());
    assert_eq!(reason(place.run("./by-it.sh", &[])), MissingInterpreter { interpreter });
    place.is_confined = false;
    assert_eq!(text(&place.run(&program, &[]).expect("runs")), "it ran\n");
}

/// A command learns of a file that it may not read neither that it exists nor what it is.
#[test]
fn what_is_closed_fails_as_what_does_not_exist() {
    let mut place = Place::confined();
    let closed = place.outside.join("closed");
    fs::create_dir(&closed).expect("dir");
    file(&closed.join("key"), b"secret\n", 0o600);
    file(&closed.join("script"), b"#!/no/such/interpreter\n", 0o755);
    file(&closed.join("program"), b"#!/bin/sh\n", 0o755);
    fs::create_dir(closed.join("directory")).expect("dir");
    let alone = place.outside.join("alone");
    file(&alone, b"secret\n", 0o600);
    place.plan.closed.extend([closed.clone(), alone.clone()]);
    let names = ["key", "script", "program", "directory", "none"];
    for name in names {
        symlink(closed.join(name), place.root.join(format!("link-{name}"))).expect("link");
        let script = format!("#!{}\n", closed.join(name).display());
        file(&place.root.join(format!("by-{name}")), script.as_bytes(), 0o755);
    }
    symlink(&alone, place.root.join("link-alone")).expect("link");
    fs::create_dir(place.root.join("bin")).expect("dir");
    symlink(closed.join("program"), place.root.join("bin/closed-program")).expect("link");
    symlink(closed.join("key"), place.root.join("bin/closed-key")).expect("link");
    for name in names {
        let path = closed.join(name).display().to_string();
        let started = std::time::Instant::now();
        assert_eq!(reason(place.run(&path, &[])), Hidden, "{name}");
        assert_eq!(reason(place.run(&format!("./link-{name}"), &[])), Hidden, "{name}");
        assert_eq!(reason(place.run(&format!("../closed/{name}"), &[])), Hidden, "{name}");
        let interpreter = Some(path);
        let by_it = reason(place.run(&format!("./by-{name}"), &[]));
        // What is no program fails otherwise, for the command too.
        assert!(
            by_it == MissingInterpreter { interpreter } || by_it == Hidden,
            "{name}: {by_it:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(reason(place.run(&alone.display().to_string(), &[])), Hidden);
    assert_eq!(reason(place.run("./link-alone", &[])), Hidden);
    assert_eq!(reason(place.run("/no/such/place", &[])), Hidden);
    let variables =
        vec![("PATH".into(), format!("{}/bin:{}", place.root.display(), closed.display()).into())];
    for name in ["closed-program", "closed-key", "program", "key", "none"] {
        let env = ExecEnv::Exactly(variables.clone().into());
        assert_eq!(
            reason(run(&ExecRequest { env, ..place.request(name, &[]) })),
            NotFound,
            "{name}"
        );
    }
}

/// What is in the place of a program is not waited for.
#[test]
fn a_pipe_in_the_place_of_a_program() {
    for place in Place::both() {
        rustix::fs::mkfifoat(rustix::fs::CWD, place.root.join("pipe"), rustix::fs::Mode::RWXU)
            .expect("made");
        symlink("pipe", place.root.join("link")).expect("link");
        file(&place.root.join("by-pipe"), b"#!./pipe\n", 0o755);
        for name in ["./pipe", "./link", "./by-pipe"] {
            let started = std::time::Instant::now();
            assert!(place.run(name, &[]).is_err(), "{name}");
            assert!(started.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
}

#[test]
fn as_much_as_the_system_takes() {
    for place in Place::both() {
        // The kernel's bound of one is 32 pages, its end included.
        let longest = "x".repeat(131_071);
        let go = |args: &[&str]| place.run("true", args);
        assert_eq!(go(&[&longest]).expect("runs").exit, Exit::Code(0));
        assert_eq!(reason(go(&[&format!("{longest}x")])), TooLong);
        let some = "y".repeat(100_000);
        assert_eq!(go(&[&*some; 10]).expect("runs").exit, Exit::Code(0));
        assert_eq!(reason(go(&vec![&*some; 100])), TooLong);
        assert_eq!(reason(go(&vec![&*some; 700])), TooLong);
        let counted = place.run("sh", &["-c", "shift 9; echo ${#1}", "sh", &some, &some]);
        assert!(counted.is_ok());
        let env = |length: usize, count: usize| {
            let mut variables = place.variables();
            let more = (0..count).map(|number| (format!("V{number}").into(), "z".repeat(length)));
            variables.extend(more.map(|(name, value)| (name, value.into())));
            let args = strings(&["-c", "echo ${#V0}"]);
            let env = ExecEnv::Exactly(variables.into());
            run(&ExecRequest { env, ..place.request("sh", &args) })
        };
        assert_eq!(text(&env(131_000, 1).expect("runs")), "131000\n");
        assert_eq!(text(&env(100_000, 10).expect("runs")), "100000\n");
        assert_eq!(reason(env(131_072, 1)), TooLong);
        assert_eq!(reason(env(100_000, 100)), TooLong);
        assert_eq!(place.output("echo after"), "after");
    }
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    for place in Place::both() {
        let path = place.root.join("late");
        file(&path, &fs::read("/bin/true").expect("binary"), 0o755);
        let open = || fs::OpenOptions::new().append(true).open(&path).expect("opened");
        // On a busy machine it may take too long for once.
        let is_waited_for = |_| {
            let writer = open();
            thread::scope(|scope| {
                let call = scope.spawn(|| place.run("./late", &[]));
                thread::sleep(Duration::from_millis(20));
                drop(writer);
                call.join().expect("no panic").is_ok_and(|finished| finished.exit == Exit::Code(0))
            })
        };
        assert!((0..5).any(is_waited_for));
        let writer = open();
        assert_eq!(reason(place.run("./late", &[])), Busy);
        drop(writer);
    }
}

#[test]
fn what_cannot_be_passed_is_refused() {
    for place in Place::both() {
        let refused =
            |result| assert!(matches!(result, Err(ExecError::InvalidInput { .. })), "{result:?}");
        refused(place.run("", &[]));
        refused(place.run("a\0b", &[]));
        refused(place.run("true", &["a", "b\0"]));
        for name in ["", "A=B", "A\0"] {
            let env = ExecEnv::Exactly(vec![(name.into(), "x".into())].into());
            refused(run(&ExecRequest { env, ..place.request("true", &[]) }));
        }
    }
}
