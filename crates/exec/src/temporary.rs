//! The temporary directory of confined commands, where no mount hides that of the host.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;
use std::{env, fs, io, process};

static MADE: OnceLock<PathBuf> = OnceLock::new();
static MAKING: Mutex<()> = Mutex::new(());

/// One for this process, that only its user can enter. It is the system's to clear up.
pub(crate) fn private() -> io::Result<&'static Path> {
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = MADE.get().filter(|made| made.is_dir()) {
        return Ok(made);
    }
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let path = env::temp_dir().join(format!("toolwright-command-{}-{now:x}", process::id()));
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    // The rules are about paths without links.
    let path = fs::canonicalize(path)?;
    Ok(MADE.get_or_init(|| path))
}
