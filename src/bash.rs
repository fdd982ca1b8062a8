//! `bash`: an executable run with arguments.

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::cancel::CancelHandle;
use crate::command;
use crate::command::BashRequest;
use crate::job;
use crate::live;

/// Runs a command in a directory below `root` (absolute).
#[napi(catch_unwind, ts_return_type = "Promise<BashOutcome>")]
pub fn bash<'env>(
    env: &'env Env,
    root: String,
    request: BashRequest,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let running = live::follow(env, cancel.for_command())?;
    let given = request.environment.of_host();
    job::long(env, move || command::run(&root, &request, given, running.cancel(), None))
}
