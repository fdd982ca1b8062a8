//! The name of an object, from its kind and content.

use sha1::{Digest, Sha1};

use super::{Id, Kind};

/// Computes the name of an object while its content passes by.
#[derive(Debug, Clone)]
pub struct ObjectHash(Sha1);

impl ObjectHash {
    /// Begins with the header of an object that has `size` bytes.
    #[must_use]
    pub fn new(kind: Kind, size: u64) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {size}\0", kind.name()));
        Self(hash)
    }

    /// Adds a part of the content.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The name. It is right if as many bytes were added as the header says.
    #[must_use]
    pub fn finish(self) -> Id {
        Id::new(self.0.finalize().into())
    }
}

impl Id {
    /// The name of the object with this kind and content.
    #[must_use]
    pub fn of(kind: Kind, content: &[u8]) -> Self {
        let mut hash = ObjectHash::new(kind, content.len() as u64);
        hash.update(content);
        hash.finish()
    }
}
