//! What an attachment is.

use serde::Serialize;

use crate::{ThreadError, names};

/// The bytes of a chunk: more than that is stored in several.
pub const CHUNK: usize = 1_835_008;

/// An attachment to store, without its bytes.
#[derive(Debug, Clone)]
pub struct NewAttachment {
    /// What a reader calls it.
    pub name: String,
    /// For instance `image/png`.
    pub mime_type: String,
    /// In pixels, where it is known.
    pub width: Option<u32>,
    /// In pixels, where it is known.
    pub height: Option<u32>,
}

impl NewAttachment {
    pub(crate) fn check(&self) -> Result<(), ThreadError> {
        names::check_name(&self.name)?;
        names::check_mime_type(&self.mime_type)
    }
}

/// An attachment in the store. As JSON, its type is `file`, and unknown dimensions are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename = "file", tag = "type")]
pub struct AttachmentRef {
    /// A UUID.
    pub id: String,
    /// `/attachments/MILLISECONDS-FIRST8OFID.ENDING`.
    pub path: String,
    /// What a reader calls it.
    pub name: String,
    /// Its MIME type.
    pub mime_type: String,
    /// How many bytes it has.
    pub size: u64,
    /// In pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// In pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}
