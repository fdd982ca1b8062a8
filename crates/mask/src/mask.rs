//! What is masked: the values of secrets, and formats of tokens.

use std::borrow::Cow;
use std::sync::Arc;

use crate::counts::Counts;
use crate::formats::{Cursor, Formats};
use crate::literals::Literals;
use crate::masker::Masker;
use crate::searches::Searches;
use crate::secret::Secret;

/// What is looked for in outputs.
#[derive(Debug)]
pub struct Mask(Arc<Searches>);

impl Mask {
    /// Looks for these values, and with `formats` for tokens. `None`: there is nothing to look for. Of two secrets with the
    /// same value the first names it.
    #[must_use]
    pub fn new(secrets: &[Secret], formats: bool) -> Option<Self> {
        let names: Vec<String> = secrets.iter().map(|secret| secret.name().to_owned()).collect();
        let texts = secrets.iter().enumerate().flat_map(|(owner, secret)| {
            secret.literals().iter().map(move |text| (text.clone(), owner))
        });
        let known = Literals::new(texts.collect());
        let formats = if formats { Formats::get() } else { None };
        let is_something = known.is_some() || formats.is_some();
        is_something.then(|| Self(Arc::new(Searches { known, names, formats })))
    }

    /// A whole text without its secrets. One that has none comes back as it is.
    #[must_use]
    pub fn masked<'t>(&self, text: &'t [u8], counts: &mut Counts) -> Cow<'t, [u8]> {
        let has_known = self.0.known.as_ref().is_some_and(|known| known.find(text, 0).is_some());
        let has_token = || {
            self.0.formats.is_some_and(|formats| {
                formats.find(text, 0, None, &mut Cursor::default()).is_some()
            })
        };
        if !has_known && !has_token() {
            return Cow::Borrowed(text);
        }
        let mut masker = self.stream();
        let mut out = Vec::with_capacity(text.len());
        masker.push(text, &mut out);
        masker.finish(&mut out);
        counts.join(masker.counts());
        Cow::Owned(out)
    }

    /// The same for text.
    #[must_use]
    pub fn masked_text(&self, text: String, counts: &mut Counts) -> String {
        match self.masked(text.as_bytes(), counts) {
            Cow::Borrowed(_) => text,
            // Names are letters, and so are the borders of values in a text.
            Cow::Owned(masked) => String::from_utf8_lossy(&masked).into_owned(),
        }
    }

    /// For a stream.
    #[must_use]
    pub fn stream(&self) -> Masker {
        Masker::of(Arc::clone(&self.0))
    }
}
