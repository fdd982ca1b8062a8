//! Next moves after an attempt to read a file that is not text.

/// For every other kind.
const OTHER: &str = "Only text can be read; look at it with a command that knows its format.";

/// The kinds by the ends of their names, which tell documents in ZIP archives apart.
const BY_NAME: [(&[&str], &str); 16] = [
    (
        &[".docx"],
        "It is a Word document. `unzip -p FILE word/document.xml` prints its text as XML; pandoc converts it.",
    ),
    (
        &[".xlsx"],
        "It is an Excel workbook. `unzip -p FILE xl/sharedStrings.xml` prints its texts as XML; a library such as openpyxl reads its cells.",
    ),
    (
        &[".pptx"],
        "It is a PowerPoint presentation. `unzip -p FILE 'ppt/slides/*.xml'` prints its slides as XML.",
    ),
    (
        &[".odt", ".ods", ".odp"],
        "It is an OpenDocument file. `unzip -p FILE content.xml` prints its content as XML.",
    ),
    (
        &[".doc", ".xls", ".ppt"],
        "It is a document of an old Office format. LibreOffice converts it, or antiword and catdoc print its text.",
    ),
    (&[".pdf"], "It is a PDF document. `pdftotext -layout FILE -` prints its text."),
    (
        &[".zip", ".jar", ".whl", ".epub", ".apk", ".nupkg", ".vsix"],
        "It is a ZIP archive. `unzip -l FILE` lists what is in it, and `unzip -p FILE NAME` prints one of these files.",
    ),
    (
        &[".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst"],
        "It is an archive. `tar -tf FILE` lists what is in it, and `tar -xOf FILE NAME` prints one of these files.",
    ),
    (
        &[".gz", ".xz", ".bz2", ".zst"],
        "It is compressed. `gzip -dc FILE` prints a .gz file; xz, bzip2 and zstd take the same options.",
    ),
    (
        &[".db", ".sqlite", ".sqlite3"],
        "It may be a SQLite database. `sqlite3 FILE .schema` prints its tables.",
    ),
    (
        &[
            ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".icns", ".tif", ".tiff",
            ".avif", ".heic", ".psd", ".jxl",
        ],
        "It is an image, and only text can be read. `file FILE` prints its kind and size; tesseract reads the text in one.",
    ),
    (
        &[
            ".mp3", ".wav", ".ogg", ".flac", ".m4a", ".aac", ".opus", ".mp4", ".mov", ".mkv",
            ".webm", ".avi",
        ],
        "It is a recording of sound or pictures, and only text can be read. `ffprobe FILE` prints what it holds.",
    ),
    (
        &[".ttf", ".otf", ".woff", ".woff2", ".eot"],
        "It is a font, and only text can be read. `fc-scan FILE` prints its names.",
    ),
    (
        &[".so", ".o", ".a", ".dylib", ".dll", ".exe", ".node", ".wasm", ".bin", ".rlib"],
        "It is a compiled program or a part of one, and only text can be read: read its source. `file FILE` prints its kind, and `strings FILE` the texts in it.",
    ),
    (
        &[".class", ".pyc", ".pyo", ".elc", ".beam"],
        "It is compiled code, and only text can be read: read the source file of that name.",
    ),
    (
        &[
            ".parquet",
            ".arrow",
            ".feather",
            ".npy",
            ".npz",
            ".pkl",
            ".pickle",
            ".h5",
            ".hdf5",
            ".avro",
            ".pt",
            ".onnx",
            ".safetensors",
        ],
        "It holds data of a program, and only text can be read. A short script with the library of its format prints a part of it.",
    ),
];

/// The kinds by their first bytes, where the name says nothing.
const BY_BYTES: [(&[u8], usize); 15] = [
    (b"%PDF-", 5),
    (b"PK\x03\x04", 6),
    (b"\x1f\x8b", 8),
    (b"\xfd7zXZ\0", 8),
    (b"BZh", 8),
    (b"\x28\xb5\x2f\xfd", 8),
    (b"SQLite format 3\0", 9),
    (b"\x89PNG", 10),
    (b"\xff\xd8\xff", 10),
    (b"GIF8", 10),
    (b"OggS", 11),
    (b"ID3", 11),
    (b"\x7fELF", 13),
    (b"\0asm", 13),
    (b"\xca\xfe\xba\xbe", 14),
];

/// What a reader does with a binary file: by its name, or by its first bytes.
#[must_use]
pub fn hint(path: &str, head: &[u8]) -> &'static str {
    let name = path.to_ascii_lowercase();
    let by_name = BY_NAME.iter().find(|(ends, _)| ends.iter().any(|end| name.ends_with(end)));
    let by_bytes = || {
        let (_, kind) = BY_BYTES.iter().find(|(magic, _)| head.starts_with(magic))?;
        BY_NAME.get(*kind)
    };
    by_name.or_else(by_bytes).map_or(OTHER, |(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_documents_apart_and_the_bytes_everything_else() {
        assert!(hint("a/Report.DOCX", b"PK\x03\x04").starts_with("It is a Word document."));
        assert!(hint("a.tar.gz", b"\x1f\x8b").starts_with("It is an archive."));
        assert!(hint("logo.svgz.PNG", b"").starts_with("It is an image"));
        assert!(hint("a.gz", b"").starts_with("It is compressed."));
        for (bytes, begins) in [
            (&b"%PDF-1.7"[..], "It is a PDF document."),
            (b"PK\x03\x04", "It is a ZIP archive."),
            (b"\x1f\x8b\x08", "It is compressed."),
            (b"\xfd7zXZ\0", "It is compressed."),
            (b"BZh9", "It is compressed."),
            (b"\x28\xb5\x2f\xfd", "It is compressed."),
            (b"SQLite format 3\0", "It may be a SQLite database."),
            (b"\x89PNG", "It is an image"),
            (b"\x7fELF", "It is a compiled program"),
            (b"\x01\x02", OTHER),
            (b"", OTHER),
        ] {
            assert!(hint("data", bytes).starts_with(begins), "{bytes:?}");
        }
    }
}
