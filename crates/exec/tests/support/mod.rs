//! What the tests of running commands share.

use std::{path::Path, sync::atomic::AtomicBool, time::Duration};

use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Finished, run};

pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}

/// Runs with a generous limit and timeout.
pub(crate) fn in_dir(cwd: &Path, cmd: &str, args: &[&str]) -> Result<Finished, ExecError> {
    with(cwd, cmd, args, LONG, 1 << 20, ExecEnv::Inherit)
}

pub(crate) fn sh(script: &str) -> Result<Finished, ExecError> {
    in_dir(Path::new("/"), "sh", &["-c", script])
}

pub(crate) fn with(
    cwd: &Path,
    cmd: &str,
    args: &[&str],
    timeout: Duration,
    max_output_bytes: usize,
    env: ExecEnv,
) -> Result<Finished, ExecError> {
    run(&ExecRequest {
        cmd,
        args: &strings(args),
        cwd,
        env,
        timeout,
        max_output_bytes,
        cancel: &AtomicBool::new(false),
    })
}

pub(crate) fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.bytes).into_owned()
}
