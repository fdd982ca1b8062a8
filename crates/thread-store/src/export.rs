//! Attachments as files.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use toolwright_fs::{Root, WriteOptions};

use crate::names::check_path;
use crate::{Store, ThreadError};

impl Store {
    /// Writes an attachment into `directory`, under the last part of its path. The directory is
    /// opened once, and what is written stays below it.
    pub fn export_attachment(
        &self,
        thread: &str,
        path: &str,
        directory: &Path,
    ) -> Result<PathBuf, ThreadError> {
        let name = check_path(path)?;
        let bytes = self.read_attachment(thread, path, 0, None)?;
        let root = Root::open(directory)?;
        let never = AtomicBool::new(false);
        toolwright_fs::write(&root, name, &bytes, &WriteOptions::default(), &never)?;
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Ok(directory.join(name))
    }
}
