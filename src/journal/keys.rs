//! What identifies a call: the hash of its arguments, its number among equal calls, its key.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]
#![expect(clippy::unused_self, reason = "it is part of the keys for JavaScript")]

use napi_derive::napi;
use toolwright_journal::{Fitted, Ordinals, TaskId, keys, redact_secrets};

use super::JournalTask;
use crate::cross::{Cross, convert};

/// What identifies one call among all calls of its task.
#[napi(object)]
pub struct CallIdentity {
    /// The hash of the arguments: equal for JSON texts that mean the same.
    pub args_hash: String,
    /// Its number among the attempt's calls with the same tool and arguments, from 1.
    pub ordinal: i64,
    /// A key for interfaces that do the same thing once, however often they are asked.
    pub key: String,
}

/// Gives the calls of one attempt their identities.
#[napi]
pub struct CallKeys {
    task: TaskId,
    ordinals: Ordinals,
}

#[napi]
impl CallKeys {
    /// For an attempt that has made no calls yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(task: JournalTask) -> Self {
        Self { task: task.cross(), ordinals: Ordinals::new() }
    }

    /// The identity of a call that begins, with these arguments as JSON.
    #[napi(catch_unwind)]
    pub fn take(&self, tool: String, input_json: String) -> CallIdentity {
        let args_hash = keys::args_hash(&input_json);
        let ordinal = self.ordinals.take(&tool, &args_hash);
        let key = keys::call_idempotency_key(&self.task, &tool, &args_hash, ordinal);
        CallIdentity { args_hash, ordinal, key }
    }

    /// Arguments with `[redacted]` in place of the values of keys that look like secrets.
    #[napi(catch_unwind)]
    pub fn without_secrets(&self, input_json: String) -> String {
        redact_secrets(&input_json)
    }

    /// Frees the number of a call that was refused before it acted.
    #[napi(catch_unwind)]
    pub fn give_back(&self, tool: String, args_hash: String, ordinal: i64) {
        self.ordinals.give_back(&tool, &args_hash, ordinal);
    }

    /// Marks the number of a call that this attempt made in another process as taken.
    #[napi(catch_unwind)]
    pub fn occupy(&self, tool: String, args_hash: String, ordinal: i64) {
        self.ordinals.occupy(&tool, &args_hash, ordinal);
    }
}

/// The key of a call that is claimed by an id from outside.
#[napi(catch_unwind)]
pub fn claimed_call_key(task: JournalTask, tool: String, call_id: String) -> String {
    keys::claimed_call_key(&task.cross(), &tool, &call_id)
}

/// An output or an error cut to a limit: still JSON.
#[napi(object, object_from_js = false)]
pub struct FittedJson {
    /// At most as many bytes as the limit.
    pub json: String,
    /// The length of the whole text in bytes.
    pub bytes: u32,
}

convert! {
    Fitted => FittedJson: |fitted| FittedJson { json: fitted.json, bytes: fitted.bytes.cross() };
}

/// Cuts a JSON text as a row keeps it.
#[napi(catch_unwind)]
pub fn fit_json(json: String, limit_bytes: f64) -> FittedJson {
    toolwright_journal::fit_json(json, limit_bytes.cross()).cross()
}

/// The error of a call whose process ended before it recorded the outcome, as JSON.
#[napi(catch_unwind)]
pub fn process_died_json() -> String {
    toolwright_core::failure::stores::process_died_json()
}

/// The hash of arguments given as JSON.
#[napi(catch_unwind)]
pub fn args_hash(json: String) -> String {
    keys::args_hash(&json)
}
