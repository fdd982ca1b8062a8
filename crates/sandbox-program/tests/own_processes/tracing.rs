//! The processes of a command trace each other, and nobody traces their worker.

use super::place::{Place, has, users};

const EPERM: i64 = -(libc::EPERM as i64);
const EACCES: i64 = -(libc::EACCES as i64);
const EBADF: i64 = -(libc::EBADF as i64);
const EROFS: i64 = -(libc::EROFS as i64);
const ENOSYS: i64 = -(libc::ENOSYS as i64);

/// What the program has said: names and results.
fn results(output: &str) -> Vec<(String, i64)> {
    let line = |line: &str| {
        let (name, result) = line.rsplit_once(' ')?;
        Some((name.to_owned(), result.parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}

/// Runs the program as each user that there is.
fn as_each_user(what: &str, check: impl Fn(&str)) {
    for user in users() {
        let place = Place::new(user);
        let Some(program) = place.compile("trace", &[]) else { return };
        let mut sandbox = place.start(|_| {});
        if !sandbox.layers.tracing.holds() {
            eprintln!("skipped: {:?}", sandbox.layers);
            continue;
        }
        let ended = sandbox.run(&format!("{} {what} 2>&1", program.display()));
        check(&ended.output);
        let after = sandbox.run("echo there");
        assert_eq!(after.output, "there\n");
    }
}

#[test]
fn a_child_is_read_and_written() {
    as_each_user("own", |output| {
        assert!(output.contains("\nafter\n"), "{output}");
        assert!(results(output).iter().all(|(_, result)| *result == 0), "{output}");
        assert_eq!(results(output).len(), 7, "{output}");
    });
}

/// Also by its other threads, of which one has more rights than commands.
#[test]
fn nobody_looks_into_the_worker() {
    as_each_user("worker", |output| {
        let results = results(output);
        assert!(results.len() >= 13, "{output}");
        assert!(results.iter().any(|(name, _)| name == "thread-attach"), "{output}");
        let is_refused = |result: i64| matches!(result, EPERM | EACCES | EROFS | EBADF);
        assert!(results.iter().all(|(_, result)| is_refused(*result)), "{output}");
    });
}

#[test]
fn what_else_looks_into_processes_stays_refused() {
    as_each_user("refused", |output| {
        let results = results(output);
        let opened: Vec<_> =
            results.iter().filter(|(_, result)| *result == 0).map(|(name, _)| name).collect();
        assert_eq!(opened, ["seize", "interrupt"], "{output}");
        let refused = results.iter().filter(|(_, result)| *result != 0);
        assert!(refused.clone().all(|(_, result)| matches!(*result, EPERM | EACCES)), "{output}");
        assert_eq!(refused.count(), 10, "{output}");
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_tracer_brings_no_call_past_the_filter() {
    as_each_user("numbers", |output| {
        let results = results(output);
        assert_eq!(results.len(), 9, "{output}");
        for (name, result) in &results {
            let expected = match name.as_str() {
                "425" => ENOSYS,
                "i386" => libc::SIGSYS.into(),
                name if name.parse::<i64>().is_ok_and(|number| number > 1 << 30) => ENOSYS,
                _ => EPERM,
            };
            assert_eq!(*result, expected, "{name}: {output}");
        }
    });
}

/// The first process of a command, and one whose parent has ended, may have the worker for a tracer.
#[test]
fn the_worker_lets_go_what_it_traces() {
    for user in users() {
        let place = Place::new(user);
        let Some(program) = place.compile("trace", &[]) else { return };
        for hides in [true, false] {
            let mut sandbox = place.start(|plan| plan.hides_git_directories = hides);
            if !sandbox.layers.tracing.holds() {
                eprintln!("skipped: {:?}", sandbox.layers);
                continue;
            }
            let ended = sandbox.run(&format!("exec {} traced 2>&1", program.display()));
            let went_on = ended.output.matches("leader went on").count();
            assert_eq!((went_on, ended.output.contains("orphan went on")), (2, true), "{ended:?}");
            assert!(ended.output.contains("executed"), "{ended:?}");
            assert_eq!(ended.status.code(), Some(7), "{ended:?}");
            assert!(results(&ended.output).iter().all(|(_, result)| *result == 0), "{ended:?}");
        }
    }
}

#[test]
fn a_signal_is_delivered_to_what_was_let_go() {
    let place = Place::new(None);
    if !has("python3") {
        return;
    }
    let mut sandbox = place.start(|_| {});
    if !sandbox.layers.tracing.holds() {
        return;
    }
    let script = "import ctypes, os, signal; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGTERM)";
    let ended = sandbox.run(&format!("exec python3 -c '{script}'"));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(libc::SIGTERM));
}
