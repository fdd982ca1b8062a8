//! Width and height of an image, from its first bytes.

use imagesize::ImageType;

/// Of PNG, JPEG, GIF and WebP, as the bytes say; `None` for everything else, and for what breaks off
/// before they are told.
pub(crate) fn of(bytes: &[u8]) -> Option<(u32, u32)> {
    match imagesize::image_type(bytes).ok()? {
        ImageType::Png | ImageType::Jpeg | ImageType::Gif | ImageType::Webp => {}
        _ => return None,
    }
    let size = imagesize::blob_size(bytes).ok()?;
    let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
    (width > 0 && height > 0).then_some((width, height))
}
