//! What an attachment is.

use imagesize::ImageType;
use serde::Serialize;

use crate::{ThreadError, names};

/// The bytes of a chunk: more than that is stored in several.
pub const CHUNK: usize = 1_835_008;

/// An attachment to store, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewAttachment {
    /// What a reader calls it.
    pub name: String,
    /// For instance `image/png`.
    pub mime_type: String,
    /// In pixels, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// In pixels, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// As it was stored.
    #[serde(flatten)]
    pub new: NewAttachment,
    /// How many bytes it has.
    pub size: u64,
}

/// Width and height of a PNG, JPEG, GIF or WebP by its first bytes; `None` for everything else, and for
/// what breaks off too early.
pub(crate) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    match imagesize::image_type(bytes).ok()? {
        ImageType::Png | ImageType::Jpeg | ImageType::Gif | ImageType::Webp => {}
        _ => return None,
    }
    let size = imagesize::blob_size(bytes).ok()?;
    let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
    (width > 0 && height > 0).then_some((width, height))
}
