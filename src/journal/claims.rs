//! Claiming a call by an id from outside.

use napi_derive::napi;
use toolwright_core::failure::stores::process_died_json;
use toolwright_core::rows;
use toolwright_journal::{CallClaim, ClaimHow, Intent};

use super::NativeJournal;
use super::writes::NewCall;
use crate::call::Promised;
use crate::cross::Cross;

/// The answer to a claim: one of the four.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct ClaimAnswer {
    /// The caller alone may make the call: number of the row, attempt, number of the call, start.
    pub claimed: Option<Vec<i64>>,
    /// It was made, and this is its row.
    pub recorded: Option<String>,
    /// It began, and nobody knows how it ended.
    pub unknown: Option<String>,
    /// It is being made.
    pub running: Option<String>,
}

#[napi]
impl NativeJournal {
    /// Claims a call by an id. Its number is assigned here, whatever the call says.
    #[napi(catch_unwind, ts_return_type = "Promise<ClaimAnswer | Unfinished>")]
    pub fn claim_call(
        &self,
        call: NewCall,
        call_id: String,
        repeat: bool,
    ) -> Promised<ClaimAnswer> {
        let intent: Intent = call.cross();
        self.ask(move |journal| {
            let error_json = process_died_json();
            let how = ClaimHow { call_id: &call_id, repeat, error_json: &error_json };
            journal.claim_call(intent, how)
        })
    }
}

impl Cross<ClaimAnswer> for CallClaim {
    fn cross(self) -> ClaimAnswer {
        let answer = ClaimAnswer::default();
        match self {
            Self::Claimed(call) => ClaimAnswer {
                claimed: Some(vec![call.row, call.attempt, call.seq, call.started_at_ms]),
                ..answer
            },
            Self::Recorded(call) => ClaimAnswer { recorded: Some(rows::text(&*call)), ..answer },
            Self::Unknown(call) => ClaimAnswer { unknown: Some(rows::text(&*call)), ..answer },
            Self::Running(call) => ClaimAnswer { running: Some(rows::text(&*call)), ..answer },
        }
    }
}
