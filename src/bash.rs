//! `bash`: an executable run with arguments.

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::cancel::CancelHandle;
use crate::command;
use crate::command::BashRequest;
use crate::command::Command;
use crate::command::CommandSettings;
use crate::job;
use crate::live;

/// Runs a command in a directory below the root.
#[napi(catch_unwind, ts_return_type = "Promise<BashOutcome>")]
pub fn bash<'env>(
    env: &'env Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let running = live::follow(env, cancel.for_command())?;
    let request = BashRequest::new(settings, command);
    job::command(env, move || command::run(request, running.cancel(), None))
}
