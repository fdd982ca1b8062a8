//! A place for a sandbox, for each user, with programs that are compiled for the test.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolwright_sandbox::plan::Plan;

use super::sandbox::Sandbox;

/// A user without any right.
const NOBODY: u32 = 65534;

/// Root, as the test is run, and somebody else.
pub(crate) fn users() -> Vec<Option<u32>> {
    if rustix::process::geteuid().is_root() {
        vec![None, Some(NOBODY)]
    } else {
        eprintln!("not root: only this user");
        vec![None]
    }
}

pub(crate) struct Place {
    _directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) user: Option<u32>,
}

impl Place {
    pub(crate) fn new(user: Option<u32>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let place = Self { root: path.join("root"), user, _directory: directory };
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(&place.root).unwrap();
        place.give(&path);
        place.give(&place.root);
        place
    }

    /// Gives a file to the user of the sandbox.
    pub(crate) fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            chown(path, Some(user), Some(user)).unwrap();
        }
    }

    pub(crate) fn start(&self, change: impl FnOnce(&mut Plan)) -> Sandbox {
        Sandbox::start_prepared(&self.root, change, |command| {
            if let Some(user) = self.user {
                command.uid(user).gid(user);
            }
        })
    }

    /// Compiles a program into the root. `None`: there is no compiler.
    pub(crate) fn compile(&self, name: &str, options: &[&str]) -> Option<PathBuf> {
        let source =
            format!("{}/tests/own_processes/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let program = self.root.join(name).with_extension("program");
        let compiled = Command::new("cc")
            .args(["-O1", "-pthread", "-w", "-o"])
            .arg(&program)
            .arg(source)
            .args(options)
            .output();
        let Ok(compiled) = compiled else {
            eprintln!("skipped: there is no C compiler");
            return None;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(program)
    }
}

/// Whether a program is there that a test needs.
pub(crate) fn has(program: &str) -> bool {
    let there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|at| Path::new(at).join(program).exists());
    if !there {
        eprintln!("skipped: there is no {program}");
    }
    there
}
