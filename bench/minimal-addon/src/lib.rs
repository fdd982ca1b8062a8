//! The least a native addon does to run a program and give what it prints: on a thread of the
//! runtime's pool, with the standard library, which uses `posix_spawn`. Without confinement,
//! timeout, abort, limits, or an environment of its own.
//!
//! What it takes is the program and the ways there and back; a process that is made beforehand could save
//! a little of it. The benchmark measures it beside the others, so that a ratio which is out of reach on a
//! machine is told apart from one that is missed.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Task};
use napi_derive::napi;

/// A program to run.
pub struct Run {
    program: String,
    cwd: String,
}

impl Task for Run {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        let output = Command::new(&self.program)
            .current_dir(&self.cwd)
            .process_group(0)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::from_reason(error.to_string()))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn resolve(&mut self, _: Env, output: String) -> Result<String> {
        Ok(output)
    }
}

/// Runs `program` in `cwd` and gives what it prints to stdout.
#[napi]
#[must_use]
pub fn run(program: String, cwd: String) -> AsyncTask<Run> {
    AsyncTask::new(Run { program, cwd })
}
