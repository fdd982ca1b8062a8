//! How often something was masked.

/// The names that stand in a text in place of secrets, each with how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(Vec<(String, u64)>);

impl Counts {
    /// Notes one more place.
    pub(crate) fn add(&mut self, name: &str) {
        self.add_all(name, 1);
    }

    fn add_all(&mut self, name: &str, count: u64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known += count,
            None => self.0.push((name.to_owned(), count)),
        }
    }

    /// Adds those of another text.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, count)| self.add_all(name, *count));
    }

    /// Whether nothing was masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many places there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Names and counts, in the order of their first places.
    #[must_use]
    pub fn list(&self) -> &[(String, u64)] {
        &self.0
    }
}
