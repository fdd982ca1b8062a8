//! Real shells, and programs that write down how they were called.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const RECORDER: &str = "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" >\"$RECORD/$$\"\n";

/// Where lines are run, with nothing but those programs within reach.
pub(crate) struct Scene {
    directory: PathBuf,
    pub(crate) shells: Vec<PathBuf>,
    runs: AtomicUsize,
}

impl Scene {
    pub(crate) fn new(name: &str, programs: &[&str]) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        for part in ["bin", "work"] {
            fs::create_dir_all(directory.join(part)).unwrap();
        }
        for program in programs {
            let path = directory.join("bin").join(program);
            fs::write(&path, RECORDER).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let shells = ["/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/ash"].map(PathBuf::from);
        let shells = shells.into_iter().filter(|shell| shell.exists()).collect();
        Self { directory, shells, runs: AtomicUsize::new(0) }
    }

    /// How programs are called by a line. What it leaves in the background may come too late to count.
    pub(crate) fn calls(&self, shell: &Path, line: &str) -> HashSet<Vec<String>> {
        let record = self.directory.join(self.runs.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&record).unwrap();
        Command::new(shell)
            .args(["-c", line])
            .current_dir(self.directory.join("work"))
            .env_clear()
            .env("PATH", self.directory.join("bin"))
            .env("RECORD", &record)
            // A function that calls itself comes to an end.
            .env("FUNCNEST", "20")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let calls = fs::read_dir(&record).unwrap().map(|entry| {
            let call = fs::read(entry.unwrap().path()).unwrap();
            let words = call.strip_suffix(b"\0").unwrap_or_default().split(|byte| *byte == 0);
            words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
        });
        // One that is being written says nothing yet.
        let calls = calls.filter(|call: &Vec<String>| call.iter().any(|word| !word.is_empty()));
        let calls = calls.collect();
        let _ = fs::remove_dir_all(record);
        calls
    }
}
