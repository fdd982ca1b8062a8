//! Which stores and variables of this machine are closed to commands.

use std::collections::HashMap;

use napi_derive::napi;
use toolwright_core::closed_secrets;
use toolwright_core::command::environment;

use crate::cross::cross;

/// A store or a variable that commands do not get.
#[napi(object, object_from_js = false)]
pub struct ClosedSecret {
    /// The path, or the name.
    pub subject: String,
    /// By which rule.
    pub rule: String,
    /// Whether its value is masked in outputs.
    pub is_masked: bool,
}

cross! { closed_secrets::ClosedSecret => ClosedSecret { subject, rule, is_masked } }

/// What commands with the default options do not get; never a value.
#[napi(object, object_from_js = false)]
pub struct ClosedSecrets {
    /// Files and directories that are there.
    pub stores: Vec<ClosedSecret>,
    /// Variables that are set.
    pub variables: Vec<ClosedSecret>,
}

cross! { closed_secrets::ClosedSecrets => ClosedSecrets { stores, variables } }

/// Looks at the stores of this machine and at the variables of the host.
#[napi(catch_unwind)]
pub fn closed_secrets(
    has_network: bool,
    host_env: Option<HashMap<String, String>>,
) -> ClosedSecrets {
    let host = environment::of_host(host_env, None);
    crate::cross::Cross::cross(closed_secrets::closed_secrets(&host, has_network))
}
