//! Puts values into the headers of a request, in the place of exact placeholders.

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use crate::basic::{basic, read_basic};
use crate::credential::{Credential, Place};
use crate::secret::Secret;

/// The placeholder of a credential in a request.
#[derive(Debug)]
pub(crate) struct Found {
    header: HeaderName,
    how: How,
}

#[derive(Debug)]
enum How {
    /// Behind a scheme of one word, and the space.
    Bearer(String),
    /// What stands in for the name, or for the password, and the other one.
    Name(String),
    Password(String),
    Anywhere(String),
}

/// What a swap has written, and what stands for that.
pub(crate) type Written = (Zeroizing<String>, String);

impl Found {
    /// Looks for the placeholder where the credential is sent.
    pub(crate) fn of(credential: &Credential, headers: &HeaderMap) -> Option<Self> {
        let placeholder = &*credential.placeholder;
        let header = match &credential.place {
            Place::Bearer | Place::Basic => AUTHORIZATION,
            Place::Header(name) => name.clone(),
        };
        let text = headers.get(&header)?.to_str().ok()?;
        let how = match &credential.place {
            Place::Header(_) => text.contains(placeholder).then(|| How::Anywhere(text.to_owned())),
            Place::Bearer => {
                let (scheme, rest) = text.split_once(' ')?;
                let is_own = !scheme.eq_ignore_ascii_case("basic") && rest.trim() == placeholder;
                is_own.then(|| How::Bearer(scheme.to_owned()))
            }
            Place::Basic => {
                let (scheme, rest) = text.split_once(' ')?;
                if !scheme.eq_ignore_ascii_case("basic") {
                    return None;
                }
                match read_basic(rest.trim())? {
                    (name, password) if password == placeholder => Some(How::Password(name)),
                    (name, password) if name == placeholder => Some(How::Name(password)),
                    _ => None,
                }
            }
        }?;
        Some(Self { header, how })
    }

    /// Writes the value. Gives what has another form than that. `None`: it has no place in a header.
    pub(crate) fn write(
        &self,
        headers: &mut HeaderMap,
        placeholder: &str,
        value: &Secret,
    ) -> Option<Vec<Written>> {
        let value = value.expose();
        let (text, written) = match &self.how {
            How::Bearer(scheme) => (Zeroizing::new(format!("{scheme} {value}")), None),
            How::Name(password) => swapped_basic((value, password), (placeholder, password)),
            How::Password(name) => swapped_basic((name, value), (name, placeholder)),
            How::Anywhere(text) => (Zeroizing::new(text.replace(placeholder, value)), None),
        };
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        headers.insert(self.header.clone(), header);
        Some(written.into_iter().collect())
    }

    /// Whether another one is in the same header.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.header == other.header
    }
}

fn swapped_basic(
    (name, password): (&str, &str),
    (other_name, other_password): (&str, &str),
) -> (Zeroizing<String>, Option<Written>) {
    let coded = basic(name, password);
    let own = basic(other_name, other_password).to_string();
    (Zeroizing::new(format!("Basic {}", *coded)), Some((coded, own)))
}
