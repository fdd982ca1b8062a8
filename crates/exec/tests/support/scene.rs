//! What scenes begin with: the options of a host for a root, and what a person does there.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolwright_exec::Exit;
use toolwright_sandbox::plan::{Files, Limits, Network};
use toolwright_sandbox::policy::{Options, ReadScope, Resolved};

/// A root that is named as it is, with nothing granted beside it.
pub(crate) fn resolved(root: &Path) -> Resolved {
    Resolved { root: root.to_owned(), named_root: root.to_owned(), ..Resolved::default() }
}

/// The options of a host that has set none.
pub(crate) fn options<'a>(resolved: &'a Resolved, deny_write: &'a [PathBuf]) -> Options<'a> {
    Options {
        root: &resolved.root,
        resolved,
        network: Network::PrivateLoopback,
        names: None,
        files: Files::Confined,
        read_scope: ReadScope::All,
        writable_roots: &[],
        readable: &[],
        deny_write,
        is_git_strict: false,
        limits: Limits::DEFAULT,
        home: None,
        other_home: None,
        variables: &[],
        sessions: None,
        state: None,
        path: None,
    }
}

/// What a script prints, errors too, and its exit code, as a person runs it. `prepare` may change the environment.
pub(crate) fn on_host(
    directory: &Path,
    script: &str,
    prepare: impl FnOnce(&mut Command) -> &mut Command,
) -> (String, Option<i32>) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; {script}")]).current_dir(directory);
    let output = prepare(&mut shell).output().expect("sh runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

/// The exit code of a command; none if a signal has ended it.
pub(crate) fn code(exit: &Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(*code),
        Exit::Signal { .. } => None,
    }
}
