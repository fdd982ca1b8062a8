//! What is looked for: texts that are known, and formats.

use crate::formats::Formats;
use crate::literals::Literals;

/// The searches of one mask.
pub(crate) struct Searches {
    pub(crate) known: Option<Literals>,
    /// The names of the owners of known texts.
    pub(crate) names: Vec<String>,
    pub(crate) formats: Option<&'static Formats>,
}

impl std::fmt::Debug for Searches {
    /// Without values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searches").field("names", &self.names).finish_non_exhaustive()
    }
}
