//! Finds a program by name, before anything is started: `posix_spawn` with a changed `PATH` is not
//! something the standard library does, it forks instead.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustix::fs::{Access, access};
use toolwright_sandbox::plan::Plan;

use crate::request::ExecEnv;

/// Where `exec` looks when there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

pub(crate) enum Lookup {
    /// What to execute; always holds a slash. A relative one is meant from the child's directory.
    Program(PathBuf),
    /// No directory has a file of this name.
    Nowhere,
    /// There are files of this name, but none may be executed.
    NotExecutable,
}

/// Looks up `cmd` as `execvp` in the child would: in the child's `PATH`, from the child's directory. What the
/// plan closes is not there for the child.
pub(crate) fn lookup(cmd: &str, env: &ExecEnv, cwd: &Path, plan: Option<&Plan>) -> Lookup {
    if cmd.contains('/') {
        return Lookup::Program(PathBuf::from(cmd));
    }
    let mut outcome = Lookup::Nowhere;
    for dir in env::split_paths(&search_path(env)) {
        let program =
            if dir.as_os_str().is_empty() { Path::new(".").join(cmd) } else { dir.join(cmd) };
        let seen = cwd.join(&program);
        match seen.metadata() {
            Ok(metadata) if metadata.is_file() && !is_closed(&seen, plan) => {
                if access(&seen, Access::EXEC_OK).is_ok() {
                    return Lookup::Program(program);
                }
                outcome = Lookup::NotExecutable;
            }
            _ => {}
        }
    }
    outcome
}

fn is_closed(file: &Path, plan: Option<&Plan>) -> bool {
    // Behind a link, the place of the file itself counts.
    plan.is_some_and(|plan| fs::canonicalize(file).is_ok_and(|real| plan.closes(&real)))
}

fn search_path(env: &ExecEnv) -> OsString {
    match env {
        ExecEnv::Inherit => env::var_os("PATH"),
        ExecEnv::Exactly(variables) => {
            let is_path = |(name, _): &&(OsString, OsString)| name == OsStr::new("PATH");
            variables.iter().rev().find(is_path).map(|(_, value)| value.clone())
        }
    }
    .unwrap_or_else(|| DEFAULT_PATH.into())
}
