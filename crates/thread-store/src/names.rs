//! What names may hold. A name is data and never a path, and still ends up in texts, headers and
//! tables.

use crate::ThreadError;

/// The most bytes of an id.
const MAX_ID: usize = 512;
/// The most bytes of an attachment's name or MIME type.
const MAX_NAME: usize = 255;
/// The most bytes of an ending.
const MAX_ENDING: usize = 10;

/// The id of a thread, a flow, a call, a message or a queue.
pub(crate) fn check_id(what: &'static str, id: &str) -> Result<(), ThreadError> {
    check(what, id, MAX_ID)
}

/// The name of an attachment.
pub(crate) fn check_name(name: &str) -> Result<(), ThreadError> {
    check("attachment name", name, MAX_NAME)
}

/// `type/subtype`, perhaps with parameters.
pub(crate) fn check_mime_type(mime: &str) -> Result<(), ThreadError> {
    check("MIME type", mime, MAX_NAME)?;
    let token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    match essence(mime).split_once('/') {
        Some((kind, subtype)) if token(kind) && token(subtype) && mime.is_ascii() => Ok(()),
        _ => Err(ThreadError::Name { what: "MIME type", reason: "is not `type/subtype`" }),
    }
}

fn check(what: &'static str, text: &str, max: usize) -> Result<(), ThreadError> {
    let refused = |reason| Err(ThreadError::Name { what, reason });
    if text.is_empty() {
        return refused("is empty");
    }
    if text.len() > max {
        return refused("is too long");
    }
    if text.chars().any(is_unfit) {
        return refused("holds a control character");
    }
    Ok(())
}

/// Control characters, and what turns the direction of the text around it (`gnp.exe` read as
/// `exe.png`).
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `/attachments/NAME`, with a name as [`crate::attachment`] gives them. There is no directory
/// behind it, and so nothing that `..` could lead to. Such a path is refused.
pub(crate) fn check_path(path: &str) -> Result<&str, ThreadError> {
    let name = path.strip_prefix("/attachments/").filter(|name| {
        !name.is_empty()
            && name.len() <= MAX_NAME
            && !name.starts_with('.')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    });
    name.ok_or(ThreadError::Name {
        what: "attachment path",
        reason: "is not of the form `/attachments/NAME`",
    })
}

/// The MIME type without its parameters.
fn essence(mime: &str) -> &str {
    mime.split(';').next().unwrap_or_default().trim()
}

/// Text under other names than `text/…`.
const TEXT: [&str; 7] = [
    "application/ecmascript",
    "application/javascript",
    "application/json",
    "application/toml",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

/// Whether it is stored as text.
pub(crate) fn is_text(mime: &str) -> bool {
    let essence = essence(mime).to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || TEXT.contains(&essence.as_str())
}

/// The ending of an attachment's path: by its MIME type where that is an image of the usual kinds,
/// else what its name ends with, if that is a plain ending.
pub(crate) fn extension(mime: &str, name: &str) -> String {
    match essence(mime).to_ascii_lowercase().as_str() {
        "image/png" => return "png".to_owned(),
        "image/jpeg" | "image/jpg" => return "jpg".to_owned(),
        "image/gif" => return "gif".to_owned(),
        "image/webp" => return "webp".to_owned(),
        _ => {}
    }
    let last = name.rsplit_once('.').map(|(_, last)| last.to_ascii_lowercase());
    last.filter(|last| {
        (1..=MAX_ENDING).contains(&last.len())
            && last.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
    .unwrap_or_else(|| "bin".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_plain_whatever_the_name() {
        let of = |name| extension("application/octet-stream", name);
        assert_eq!(of("report.PDF"), "pdf");
        assert_eq!(of("a.tar.gz"), "gz");
        for hostile in ["x./../../y", "x.a/b", "x.", "x", "x.é", "x.0123456789a", "x.p\0g", ".. "]
        {
            assert_eq!(of(hostile), "bin", "{hostile:?}");
        }
        assert_eq!(extension("image/jpeg; q=1", "x.exe"), "jpg");
    }

    #[test]
    fn names_of_one_line_and_nothing_else() {
        for name in ["a", "../../etc/passwd", "C:\\x", "日本.png", &"x".repeat(255)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
        for name in ["", "a\0", "a\nb", "\u{1b}[2J", "a\u{202e}gnp.exe", &"x".repeat(256), "\u{85}"]
        {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn paths_are_flat() {
        assert_eq!(check_path("/attachments/1-aa.png").ok(), Some("1-aa.png"));
        for path in [
            "/attachments/",
            "/attachments/..",
            "/attachments/../x",
            "/attachments/a/b",
            "attachments/a",
            "/etc/passwd",
            "/attachments/a\0",
            "/attachments/a%2fb",
            "",
        ] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn mime_types() {
        for mime in ["image/png", "text/plain; charset=utf-8", "application/vnd.a+json"] {
            assert!(check_mime_type(mime).is_ok(), "{mime}");
        }
        for mime in ["", "png", "image/", "/png", "a/b/c", "image/p ng", "image/é", "a/b\n"] {
            assert!(check_mime_type(mime).is_err(), "{mime}");
        }
        assert!(is_text("TEXT/html; x=y") && is_text("image/svg+xml") && !is_text("image/png"));
    }
}
