//! Certificates in files of the host, as data: nothing else of such a file comes to a command.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// The system's own file has some 200 KB.
const MAX_BYTES: u64 = 8 << 20;
/// How long a line is.
const LINE: usize = 64;

/// Those in a file. One that is no plain file has none: a command may have put a pipe in its place.
pub(super) fn of_file(path: &Path) -> Vec<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else { return Vec::new() };
    let is_file = fstat(&file).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file());
    let mut bytes = Vec::new();
    if !is_file || File::from(file).take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    of_pem(&String::from_utf8_lossy(&bytes))
}

/// Those in a text in PEM form. One that cannot be read is left out.
pub(super) fn of_pem(text: &str) -> Vec<Vec<u8>> {
    let parts = text.split(BEGIN).skip(1);
    let inner = parts.filter_map(|part| part.split_once(END));
    let decoded = inner.filter_map(|(inner, _)| {
        let letters: String = inner.split_whitespace().collect();
        STANDARD.decode(letters).ok()
    });
    decoded.collect()
}

/// A text in PEM form.
pub(super) fn to_pem(certificates: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for certificate in certificates {
        let letters = STANDARD.encode(certificate);
        let lines = letters.as_bytes().chunks(LINE);
        for line in [BEGIN.as_bytes()].into_iter().chain(lines).chain([END.as_bytes()]) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_alone_are_taken_of_a_text() {
        let text = "token = ghp_secret\n-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n\
                    -----BEGIN CERTIFICATE-----\nAQID\nBAU=\n-----END CERTIFICATE-----\n\
                    -----BEGIN CERTIFICATE-----\na secret *\n-----END CERTIFICATE-----\n";
        let all = of_pem(text);
        assert_eq!(all, [[1, 2, 3, 4, 5]]);
        let written = to_pem(&all);
        assert_eq!(
            String::from_utf8_lossy(&written),
            "-----BEGIN CERTIFICATE-----\nAQIDBAU=\n-----END CERTIFICATE-----\n"
        );
        let long = vec![vec![7; 1000]];
        assert_eq!(of_pem(&String::from_utf8_lossy(&to_pem(&long))), long);
    }

    #[test]
    fn a_pipe_a_directory_and_nothing_have_none_and_hold_nobody() {
        let directory =
            std::env::temp_dir().join(format!("toolwright-trust-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("made");
        let pipe = directory.join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .expect("made");
        for path in [&*pipe, &*directory, Path::new("/nowhere"), Path::new("/dev/zero")] {
            assert!(of_file(path).is_empty(), "{}", path.display());
        }
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
