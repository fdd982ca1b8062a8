//! Which variables of the host commands see.

use std::collections::HashMap;

use napi_derive::napi;
use toolwright_core::command::environment::{Filter, Policy, Variables};

/// Which variables a command sees.
#[napi(object)]
#[derive(Debug)]
pub struct EnvironmentOptions {
    /// Pass all of them, whatever they hold.
    pub inherit: bool,
    /// Names that are passed although they look like a secret; `*` stands for any characters.
    pub allow: Vec<String>,
    /// Variables that are added or given another value.
    pub set: HashMap<String, String>,
    /// Leave proxies out as well.
    pub network_blocked: bool,
}

impl From<EnvironmentOptions> for Policy {
    fn from(options: EnvironmentOptions) -> Self {
        let EnvironmentOptions { inherit, allow, set, network_blocked } = options;
        if inherit {
            return Self::Inherit;
        }
        let set = set.into_iter().map(|(name, value)| (name.into(), value.into()));
        let mut set: Variables = set.collect();
        set.sort();
        Self::Filtered(Filter { allow, set, network_blocked })
    }
}
