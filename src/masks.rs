//! Secrets that are masked in outputs, for programs.

use std::collections::HashMap;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::masks::MaskOptions;
use toolwright_core::command::output::Noted;

use crate::cross::{Cross, float};

/// What is masked besides the values of variables that commands do not get.
#[napi(object)]
pub struct MaskRequest {
    /// Formats of tokens.
    pub tokens: bool,
    /// Secrets of the host, by their names.
    pub values: HashMap<String, String>,
}

impl Cross<Arc<MaskOptions>> for MaskRequest {
    fn cross(self) -> Arc<MaskOptions> {
        let mut values: Vec<_> = self.values.into_iter().collect();
        // A map has another order each time.
        values.sort_unstable();
        Arc::new(MaskOptions { tokens: self.tokens, values })
    }
}

/// A secret that was masked in an output.
#[napi(object, object_from_js = false)]
pub struct MaskedSecret {
    /// What stands in its place, without brackets.
    pub name: String,
    /// In how many places.
    pub count: f64,
}

impl Cross<MaskedSecret> for (String, u64) {
    fn cross(self) -> MaskedSecret {
        MaskedSecret { name: self.0, count: float(self.1) }
    }
}

/// What was masked since the last look.
#[napi(object, object_from_js = false)]
pub struct MaskedOutput {
    /// A sentence for a model; none if nothing was masked.
    pub note: Option<String>,
    /// The secrets.
    pub masked: Vec<MaskedSecret>,
}

impl Cross<MaskedOutput> for Noted {
    fn cross(self) -> MaskedOutput {
        let Self { mut notes, masked, .. } = self;
        MaskedOutput { note: notes.pop(), masked: masked.cross() }
    }
}
