//! The names of encodings in files.

use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};

/// Names that Python, Emacs and Vim know besides those of the web.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("latin-1", "iso-8859-1"),
    ("iso8859-1", "iso-8859-1"),
    ("cp932", "shift_jis"),
    ("japanese-shift-jis", "shift_jis"),
    ("euc_jp", "euc-jp"),
    ("eucjp", "euc-jp"),
    ("cp936", "gbk"),
    ("cp949", "euc-kr"),
    ("euc_kr", "euc-kr"),
    ("cp950", "big5"),
];

/// An encoding, and whether its name leaves out the letters that Windows added to it.
pub(crate) type Named = (&'static Encoding, bool);

/// The encoding of a name. `None` for names that are not known, and for encodings that say nothing about single letters.
pub(crate) fn encoding_of(name: &[u8]) -> Option<Named> {
    let name = str::from_utf8(name).ok()?.to_ascii_lowercase();
    let mut name = name.as_str();
    for ending in ["-unix", "-dos", "-mac"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    let name = known.map_or(name, |(_, known)| known);
    // The web takes it for an encoding of Windows, and a file that names it means to have no other letters.
    if name.contains("ascii") || name.contains("x3.4") {
        return None;
    }
    let encoding = Encoding::for_label(name.as_bytes())?;
    let is_of_windows = name.contains("windows") || name.contains("cp1");
    Some((encoding, encoding.is_single_byte() && !is_of_windows))
}

/// Whether letters of an encoding can be written one by one.
pub(crate) fn is_other(encoding: &'static Encoding) -> bool {
    let left_out = [UTF_8, UTF_16LE, UTF_16BE, REPLACEMENT, X_USER_DEFINED, ISO_2022_JP];
    !left_out.contains(&encoding)
}
