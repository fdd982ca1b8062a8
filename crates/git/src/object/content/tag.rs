//! Annotated tags.

use super::{Malformed, header, id, identity, optional_header, text};
use crate::object::{Id, Kind};

/// The object that is tagged, and its kind.
pub(super) fn parse(content: &[u8]) -> Result<(Id, Kind), Malformed> {
    let mut rest = text(content)?;
    let target = id(header(&mut rest, "object")?, "object")?;
    let kind = Kind::named(header(&mut rest, "type")?).ok_or(Malformed::Header("type"))?;
    header(&mut rest, "tag")?;
    // The oldest tags have no tagger.
    if let Some(value) = optional_header(&mut rest, "tagger") {
        identity(value, "tagger")?;
    }
    Ok((target, kind))
}
