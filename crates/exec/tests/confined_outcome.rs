//! The output of a command and its end are the same, confined or not.

#![cfg(target_os = "linux")]

mod support;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::place::Place;
use support::{all_as_another_user, strings, text};
use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Exit, Streams, run};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

#[test]
fn arguments_are_passed_as_they_are() {
    for place in Place::both() {
        let finished = place.run("printf", &["%s|", "a b", "$HOME", "*", "", "ü'\"\n"]);
        let finished = finished.expect("runs");
        assert_eq!(text(&finished), "a b|$HOME|*||ü'\"\n|");
        assert_eq!((finished.exit, finished.output.truncated), (Exit::Code(0), false));
        let many: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
        let finished = run(&place.request("echo", &many)).expect("runs");
        assert_eq!(text(&finished), format!("{}\n", many.join(" ")));
    }
}

#[test]
fn both_streams_come_in_arrival_order_or_apart() {
    for place in Place::both() {
        let script = "echo a; echo b >&2; echo c; echo d >&2; exit 7";
        let finished = place.sh(script).expect("runs");
        assert_eq!((text(&finished).as_str(), finished.exit), ("a\nb\nc\nd\n", Exit::Code(7)));
        assert_eq!(finished.stderr, None);
        let args = strings(&["-c", script]);
        let apart = ExecRequest { streams: Streams::Apart, ..place.request("sh", &args) };
        let finished = run(&apart).expect("runs");
        assert_eq!((text(&finished).as_str(), finished.exit), ("a\nc\n", Exit::Code(7)));
        assert_eq!(finished.stderr.expect("apart").bytes, b"b\nd\n");
    }
}

#[test]
fn there_is_nothing_to_read() {
    for place in Place::both() {
        assert_eq!(place.output("cat; readlink /proc/self/fd/0"), "/dev/null");
    }
}

#[test]
fn codes_are_told_truthfully() {
    for place in Place::both() {
        for code in [0, 1, 2, 3, 126, 127, 128, 129, 137, 139, 143, 200, 254, 255] {
            let finished = place.sh(&format!("exit {code}")).expect("runs");
            assert_eq!(finished.exit, Exit::Code(code));
        }
    }
}

#[test]
fn signals_are_told_truthfully() {
    for place in Place::both() {
        for (number, name) in [
            (1, "SIGHUP"),
            (2, "SIGINT"),
            (3, "SIGQUIT"),
            (4, "SIGILL"),
            (5, "SIGTRAP"),
            (6, "SIGABRT"),
            (7, "SIGBUS"),
            (8, "SIGFPE"),
            (9, "SIGKILL"),
            (10, "SIGUSR1"),
            (11, "SIGSEGV"),
            (13, "SIGPIPE"),
            (14, "SIGALRM"),
            (15, "SIGTERM"),
            (24, "SIGXCPU"),
            (25, "SIGXFSZ"),
            (31, "SIGSYS"),
            (40, "signal 40"),
            (64, "signal 64"),
        ] {
            // Where it may, it leaves a core.
            let finished = place.sh(&format!("ulimit -c unlimited; kill -{number} $$"));
            let exit = Exit::Signal { number, name: name.into() };
            assert_eq!(finished.expect("runs").exit, exit);
        }
        let left = fs::read_dir(&place.root).expect("dir").count();
        assert!(!place.is_confined || left == 0, "what it had in memory is not for the disk");
    }
}

#[test]
fn sigpipe_is_not_ignored() {
    for place in Place::both() {
        assert_eq!(place.output("yes | head -n1"), "y");
    }
}

#[test]
fn bytes_that_are_not_text_come_through() {
    for place in Place::both() {
        let finished = place.sh("printf '\\377\\000a\\303'").expect("runs");
        assert_eq!(finished.output.bytes, b"\xff\0a\xc3");
        let mut variables = place.variables();
        variables.push(("BYTES".into(), OsString::from_vec(b"\xff\xfe=\n".to_vec())));
        let args = strings(&["BYTES"]);
        let env = ExecEnv::Exactly(variables.into());
        let finished = run(&ExecRequest { env, ..place.request("printenv", &args) });
        assert_eq!(finished.expect("runs").output.bytes, b"\xff\xfe=\n\n");
    }
}

#[test]
fn a_flood_keeps_both_ends() {
    for place in Place::both() {
        let args = strings(&["-c", "echo first; yes 0123456789 | head -c 10000000; echo last"]);
        let request = ExecRequest { max_output_bytes: 2000, ..place.request("sh", &args) };
        let finished = run(&request).expect("runs");
        assert!(finished.output.truncated && finished.output.bytes.len() <= 2000);
        assert_eq!(finished.output.total_bytes, 10_000_011);
        let text = text(&finished);
        assert!(text.starts_with("first\n0123") && text.ends_with("last\n"), "{text}");
        for limit in [0, 1, 999] {
            let request = ExecRequest { max_output_bytes: limit, ..place.request("sh", &args) };
            assert!(run(&request).is_ok_and(|finished| finished.output.bytes.len() <= limit));
        }
    }
}

#[test]
fn the_environment_is_what_was_given() {
    for place in Place::both() {
        let env = |variables: &[(&str, &str)]| {
            let variables: Vec<_> =
                variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let request = ExecRequest {
                env: ExecEnv::Exactly(variables.into()),
                ..place.request("env", &[])
            };
            let output = text(&run(&request).expect("runs"));
            // Where `/tmp` is shared, commands get another one.
            output.lines().filter(|line| !line.starts_with("TMPDIR=")).collect::<String>()
        };
        // Without any PATH the system's default directories are searched.
        assert_eq!(env(&[]), "");
        assert_eq!(env(&[("A", "")]), "A=");
        // Of two with the same name the last one counts.
        assert_eq!(env(&[("A", "1"), ("B", "2"), ("A", "3")]), "A=3B=2");
        assert_eq!(env(&[("A", "=x=")]), "A==x=");
        let request = ExecRequest { env: ExecEnv::Inherit, ..place.request("env", &[]) };
        assert!(text(&run(&request).expect("runs")).contains("PATH="));
    }
}

#[test]
fn a_temporary_directory_that_is_named_is_one() {
    let place = Place::confined();
    let own = place.root.join("own");
    fs::create_dir(&own).expect("dir");
    // The shared directory of the host. Commands that cannot reach it are not pointed to it.
    let hosts = tempfile::tempdir_in("/tmp").expect("dir");
    for (named, passes) in
        [(own.as_path(), Some(true)), (hosts.path(), Some(false)), (Path::new("/tmp"), None)]
    {
        let mut variables = place.variables();
        variables.extend(["TMPDIR", "TMP"].map(|name| (name.into(), named.into())));
        let args = strings(&["-c", "echo \"$TMP\"; echo x > \"$(mktemp)\""]);
        let env = ExecEnv::Exactly(variables.into());
        let finished = run(&ExecRequest { env, ..place.request("sh", &args) }).expect("runs");
        assert_eq!(finished.exit, Exit::Code(0), "{}: {}", named.display(), text(&finished));
        if let Some(passes) = passes {
            assert_eq!(text(&finished).trim() == named.to_string_lossy(), passes);
        }
    }
}

#[test]
fn a_relative_program_is_meant_from_the_directory_of_the_command() {
    for place in Place::both() {
        fs::create_dir(place.root.join("sub")).expect("dir");
        place.output("printf '#!/bin/sh\\necho here $0\\n' > sub/here.sh; chmod 755 sub/here.sh");
        let sub = place.root.join("sub");
        let handle = File::open(&sub).expect("opened");
        let by_handle = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        for cwd in [sub, by_handle] {
            for program in ["./here.sh", "../sub/here.sh"] {
                let finished = place.run_in(&cwd, "sub", program, &[]).expect("runs");
                assert_eq!(text(&finished), format!("here {program}\n"));
            }
            let finished = place.run_in(&cwd, "sub", "pwd", &["-P"]).expect("runs");
            let real = place.root.join("sub");
            assert_eq!(text(&finished).trim_end(), real.to_str().expect("utf-8"));
        }
    }
}

#[test]
fn the_path_of_the_command_counts() {
    for place in Place::both() {
        let bin = place.root.join("bin");
        fs::create_dir(&bin).expect("dir");
        place.output("printf '#!/bin/sh\\necho $0 $MARK\\n' > bin/only-here; chmod 755 bin/*");
        let go = |cwd: &Path, below: &str, path: &str| {
            let env = vec![("PATH".into(), path.into()), ("MARK".into(), "set".into())];
            let request = ExecRequest {
                cwd,
                env: ExecEnv::Exactly(env.into()),
                sandbox: place.sandbox(Path::new(below)),
                ..place.request("only-here", &[])
            };
            run(&request).map(|finished| text(&finished))
        };
        let absolute = bin.join("only-here").display().to_string();
        let path = format!("/nowhere:{}", bin.display());
        assert_eq!(go(&place.root, "", &path).expect("runs"), format!("{absolute} set\n"));
        // Relative and empty entries are meant from the directory of the command.
        assert_eq!(go(&place.root, "", "bin").expect("runs"), "bin/only-here set\n");
        assert_eq!(go(&bin, "bin", "/x:").expect("runs"), "./only-here set\n");
        assert!(matches!(go(&place.root, "", "/bin:/usr/bin"), Err(ExecError::Spawn { .. })));
    }
}

#[test]
fn an_endless_timeout_is_no_timeout() {
    for place in Place::both() {
        let args = strings(&["-c", "sleep 0.05; exit 2"]);
        let request = ExecRequest {
            timeout: Duration::MAX,
            max_output_bytes: usize::MAX,
            ..place.request("sh", &args)
        };
        assert_eq!(run(&request).expect("runs").exit, Exit::Code(2));
    }
}
