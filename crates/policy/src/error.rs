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
    /// The unknown variable, where that is the trouble.
    pub variable: Option<String>,
}

/// A problem that does not know its place yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) said: String,
    pub(crate) variable: Option<String>,
}

impl Problem {
    pub(crate) fn new(said: impl Into<String>) -> Self {
        Self { said: said.into(), variable: None }
    }

    pub(crate) fn at(self, origin: &str, place: impl Into<String>) -> CompileError {
        CompileError {
            origin: origin.to_owned(),
            place: place.into(),
            problem: self.said,
            variable: self.variable,
        }
    }
}

/// Text of a stranger in a message: one line of it, and not all.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 120;
    let short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("`{short}{more}`")
}
