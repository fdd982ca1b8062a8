//! What one command prints, without its secrets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_mask::{Counts, Mask, Masker};

/// Masks the streams of one command or process, and counts what it masks, however that ends.
#[derive(Debug)]
pub struct OutputMask {
    mask: Arc<Mask>,
    counts: Mutex<Counts>,
}

impl OutputMask {
    /// For one command.
    #[must_use]
    pub fn new(mask: Arc<Mask>) -> Self {
        Self { mask, counts: Mutex::default() }
    }

    /// What was masked since this was last asked.
    #[must_use]
    pub fn take(&self) -> Counts {
        std::mem::take(&mut self.counts())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stream on its way to whoever keeps it.
#[derive(Debug)]
pub(crate) struct MaskedStream {
    of: Arc<OutputMask>,
    masker: Masker,
    /// The text of the last piece.
    text: Vec<u8>,
}

impl MaskedStream {
    pub(crate) fn new(of: &Arc<OutputMask>) -> Self {
        Self { of: Arc::clone(of), masker: of.mask.stream(), text: Vec::new() }
    }

    /// What can be shown of it after this piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> &[u8] {
        self.text.clear();
        self.masker.push(piece, &mut self.text);
        self.count()
    }

    /// The rest.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.text.clear();
        self.masker.finish(&mut self.text);
        self.count()
    }

    fn count(&mut self) -> &[u8] {
        let counts = self.masker.take_counts();
        if !counts.is_empty() {
            self.of.counts().join(&counts);
        }
        &self.text
    }
}
