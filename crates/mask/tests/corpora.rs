//! Measures what is masked of ordinary files. `TOOLWRIGHT_CORPORA` names directories, with colons between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use toolwright_mask::{Counts, Mask, Secret};

/// Values as hosts have them: short and long, with signs and without.
const VALUES: [(&str, &str); 12] = [
    ("GITHUB_TOKEN", "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"),
    ("DB_PASSWORD", "x7Gk29Qm"),
    ("ADMIN_PASSWORD", "p7#kd!Qz2"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEZ"),
    ("SESSION_KEY", "da39a3ee5e6b4b0d3255bfef95601890afd80708"),
    ("HEROKU_API_KEY", "550e8400-e29b-41d4-a716-446655440009"),
    ("DATABASE_URL", "postgres://app:Gk29x7QmZp41@db.internal/app"),
    ("AUTH_TYPE", "kerberos"),
    ("KEY_PATH", "/etc/ssl/private/key.pem"),
    ("TOKEN_URL", "https://login.example.com/oauth2/token"),
    ("API_TOKEN", "a8Kd93jfKq02LmxZ77Tb"),
    ("COOKIE_SECRET", "Zu7-pahX4kLm"),
];

#[derive(Default)]
struct Measured {
    bytes: u64,
    lines: u64,
    files: u64,
    changed_lines: u64,
    took: Duration,
    names: BTreeMap<String, u64>,
    changed: Vec<PathBuf>,
}

fn files(directory: &Path, take: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), take),
            Ok(kind) if kind.is_file() => take(&entry.path()),
            _ => {}
        }
    }
}

fn lines(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.split(|byte| *byte == b'\n').count()).unwrap_or(u64::MAX)
}

fn measure(mask: &Mask, directory: &Path) -> Measured {
    let mut all = Measured::default();
    files(directory, &mut |path| {
        let Ok(bytes) = fs::read(path) else { return };
        let mut counts = Counts::default();
        let started = Instant::now();
        let masked = mask.masked(&bytes, &mut counts);
        all.took += started.elapsed();
        all.files += 1;
        all.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        all.lines += lines(&bytes);
        if *masked != *bytes {
            all.changed_lines += counts.total();
            all.changed.push(path.to_owned());
            counts.list().iter().for_each(|(name, count)| {
                *all.names.entry(name.clone()).or_default() += count;
            });
        }
    });
    all
}

#[test]
#[ignore = "it reads whole directories: see the decision record of masks"]
#[expect(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "it prints what it has measured, and a rate"
)]
fn ordinary_files_stay_as_they_are() {
    let directories = env::var_os("TOOLWRIGHT_CORPORA").unwrap_or_default();
    let secrets = VALUES.map(|(name, value)| Secret::found(name, value.as_bytes()));
    for formats in [false, true] {
        let secrets: &[Secret] = if formats { &[] } else { &secrets };
        let mask = Mask::new(secrets, formats).expect("there are some");
        for directory in env::split_paths(&directories) {
            let found = measure(&mask, &directory);
            let Measured { bytes, lines, files, changed_lines, took, names, changed } = &found;
            println!(
                "{} {}: {files} files, {} MB, {lines} lines, {changed_lines} places, {:.2} GB/s {names:?}",
                if formats { "tokens" } else { "known" },
                directory.display(),
                bytes / 1_000_000,
                *bytes as f64 / took.as_secs_f64() / 1e9,
            );
            changed.iter().take(30).for_each(|path| println!("  {}", path.display()));
        }
    }
}
