//! `bash`: an executable run with arguments.

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;

use crate::cancel::CancelHandle;
use crate::command::{BashRequest, Command, CommandSettings};
use crate::{job, running_commands};

/// Runs a command in a directory below the root.
#[napi(catch_unwind, ts_return_type = "Promise<BashOutcome>")]
pub fn bash<'env>(
    env: &'env Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let request = BashRequest::new(settings, command);
    job::command(env, move || request.run(running.cancel(), None))
}
