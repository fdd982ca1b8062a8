//! What to run, and the checks that need no system call.

use std::{
    ffi::OsString, os::unix::ffi::OsStrExt, path::Path, sync::atomic::AtomicBool, time::Duration,
};

use crate::error::ExecError;

const NUL: &str = "holds a NUL byte";

/// One command to run.
#[derive(Debug)]
pub struct ExecRequest<'a> {
    /// The program: a path if it holds a slash (relative to `cwd`), otherwise a name looked up in
    /// the `PATH` the program itself will see.
    pub cmd: &'a str,
    /// Its arguments, passed on as they are.
    pub args: &'a [String],
    /// The directory to run in; may be `/proc/self/fd/N`.
    pub cwd: &'a Path,
    /// Its environment.
    pub env: ExecEnv,
    /// After this time the process group is killed.
    pub timeout: Duration,
    /// The captured output is never longer than this.
    pub max_output_bytes: usize,
    /// Set from another thread to kill the process group.
    pub cancel: &'a AtomicBool,
}

/// Where the environment of the program comes from.
#[derive(Debug, Clone, Default)]
pub enum ExecEnv {
    /// That of the host process.
    #[default]
    Inherit,
    /// These variables and no others; of two with the same name the last one counts.
    Exactly(Vec<(OsString, OsString)>),
}

impl ExecRequest<'_> {
    /// Refuses what no system call could express.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        let refuse = |what: String, problem: &'static str| {
            Err(ExecError::InvalidInput { program: self.cmd.to_owned(), what, problem })
        };
        if self.cmd.is_empty() {
            return refuse("cmd".to_owned(), "is empty");
        }
        if self.cmd.contains('\0') {
            return refuse("cmd".to_owned(), NUL);
        }
        if let Some(index) = self.args.iter().position(|arg| arg.contains('\0')) {
            return refuse(format!("args[{index}]"), NUL);
        }
        if self.cwd.as_os_str().as_bytes().contains(&0) {
            return refuse("cwd".to_owned(), NUL);
        }
        if let ExecEnv::Exactly(variables) = &self.env {
            for (name, value) in variables {
                let (bytes, what) = (name.as_bytes(), || format!("env {}", name.display()));
                if bytes.is_empty() || bytes.contains(&b'=') {
                    return refuse(what(), "has no valid name");
                }
                if bytes.contains(&0) || value.as_bytes().contains(&0) {
                    return refuse(what(), NUL);
                }
            }
        }
        Ok(())
    }
}
