//! What is wrong with a manifest, a requirement set or a rule, and where.

/// A pattern, a requirement or a rule that cannot be compiled. Nothing of it is in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {place}: {problem}")]
pub struct CompileError {
    /// Who wrote it, as the caller named it: `manifest.requires`, `tool read`, `rule 3`.
    pub origin: String,
    /// Where in it: `fs.read[0]`, `shell[1].args[2]`, `pattern`.
    pub place: String,
    /// What is wrong, and what would be right.
    pub problem: String,
    /// The unknown variable, where there is one.
    pub variable: Option<String>,
}

/// A problem whose place is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) variable: Option<String>,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), variable: None }
    }

    pub(crate) fn at(self, origin: &str, place: impl Into<String>) -> CompileError {
        CompileError {
            origin: origin.to_owned(),
            place: place.into(),
            problem: self.message,
            variable: self.variable,
        }
    }
}

/// Untrusted text in a message: one line, shortened.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_CHARACTERS: usize = 120;
    let short: String = text.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(MAX_CHARACTERS).is_some() { "…" } else { "" };
    format!("`{short}{more}`")
}
