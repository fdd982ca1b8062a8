//! Files of a sandbox, as its commands see them.
//!
//! A path below the root is opened here, like those of the file tools, unless commands may not read it.
//! For any other path there is no answer: what it names is known to commands alone, whose `/tmp` is their
//! own and some of whose paths are closed. The caller asks a command then.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{
    Content, Deletable, FileKind, FileLocation, FsError, FsErrorKind, Named, Root, WriteOptions,
};
use toolwright_sandbox::plan::Plan;

use crate::command::environment::Variables;
use crate::command::program::ProgramSettings;
use crate::failure::Unfinished;
use crate::file::Publish;

/// The files of the commands that have these settings.
#[derive(Debug, Clone, Copy)]
pub struct SandboxFiles<'a> {
    /// Under what conditions the commands run.
    pub settings: &'a ProgramSettings,
    /// The variables of the host, which say where credentials are.
    pub host: &'a Arc<Variables>,
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    path: String,
    /// How many bytes it had when it was opened.
    pub bytes: u64,
}

impl OpenedFile {
    /// Reads at most `max_bytes` bytes from `offset` on. Fewer only at the end of the file.
    pub fn read(
        &self,
        offset: u64,
        max_bytes: usize,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>, Unfinished> {
        Ok(toolwright_fs::read_part(&self.file, &self.path, offset, max_bytes, cancel)?)
    }
}

/// What a file is to hold.
#[derive(Debug)]
pub enum NewContent<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Those of a file of the host.
    Staged(&'a Path),
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// A directory, or else a regular file.
    pub is_directory: bool,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The answer for a path; nothing where only a command can tell.
pub type Answer<T> = Result<Option<T>, Unfinished>;

impl SandboxFiles<'_> {
    /// Opens a regular file.
    pub fn open(&self, path: &str) -> Answer<OpenedFile> {
        let Some(location) = self.find(path)? else { return Ok(None) };
        if location.is_directory {
            return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(path).into());
        }
        let bytes = location.bytes(path)?;
        let file = File::from(location.descriptor);
        Ok(Some(OpenedFile { file, path: path.to_owned(), bytes }))
    }

    /// Opens a regular file and reads its first `max_bytes` bytes.
    pub fn begin(
        &self,
        path: &str,
        max_bytes: usize,
        cancel: &AtomicBool,
    ) -> Answer<(OpenedFile, Vec<u8>)> {
        let Some(file) = self.open(path)? else { return Ok(None) };
        let first = file.read(0, max_bytes, cancel)?;
        Ok(Some((file, first)))
    }

    /// Looks at a file or a directory. Links are followed.
    pub fn status(&self, path: &str) -> Answer<Status> {
        let Some(location) = self.find(path)? else { return Ok(None) };
        let bytes = location.bytes(path)?;
        Ok(Some(Status { is_directory: location.is_directory, bytes }))
    }

    /// Lists the names in a directory.
    pub fn list(&self, path: &str, cancel: &AtomicBool) -> Answer<Vec<Named>> {
        let Some(location) = self.find(path)? else { return Ok(None) };
        if !location.is_directory {
            return Err(FsErrorKind::NotADirectory.at(path).into());
        }
        Ok(Some(toolwright_fs::names(path, &location, cancel)?))
    }

    /// Makes `content` that of a file, which is made with its directories if it is missing.
    pub fn write(
        &self,
        path: &str,
        content: &NewContent<'_>,
        publish: &Publish,
        cancel: &AtomicBool,
    ) -> Answer<()> {
        let staged;
        let content = match content {
            NewContent::Bytes(bytes) => Content::Bytes(bytes),
            NewContent::Staged(place) => {
                let failed =
                    |source| FsErrorKind::Io { operation: "reading its content", source }.at(path);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the host has staged it in a directory of its own"
                )]
                let opened = File::open(place).map_err(failed)?;
                staged = opened;
                let bytes = staged.metadata().map_err(failed)?.len();
                Content::Staged { file: &staged, bytes }
            }
        };
        self.change(publish, |root, options| {
            toolwright_fs::write_content(root, path, content, options, cancel)
        })
    }

    /// Deletes a file, or a link itself. Never a directory.
    pub fn delete(&self, path: &str, publish: &Publish, cancel: &AtomicBool) -> Answer<()> {
        self.change(publish, |root, options| {
            toolwright_fs::delete(root, path, Deletable::Files, options, cancel)
        })
    }

    /// What a path below the root names; nothing for what is elsewhere, closed to commands, or neither
    /// file nor directory.
    fn find(&self, path: &str) -> Answer<FileLocation> {
        let root = self.settings.root.open()?;
        let location = match root.locate(path) {
            Ok(location) => location,
            Err(error) if is_elsewhere(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (plan, real_path) =
            (self.plan(&location.root)?, location.root.join(&location.relative));
        let is_closed = closed_below(&plan).any(|closed| real_path.starts_with(closed));
        Ok((!is_closed).then_some(location))
    }

    /// Makes a change below the root that commands could make too.
    fn change(
        &self,
        publish: &Publish,
        make: impl FnOnce(&Root, &WriteOptions) -> Result<(), FsError>,
    ) -> Answer<()> {
        let root = self.settings.root.open()?;
        let plan = self.plan(root.canonical().unwrap_or_else(|| root.path()))?;
        let mut options = publish.options_below(root.canonical().unwrap_or_else(|| root.path()));
        options.protected.extend(plan.protected.iter().cloned());
        options.protected.extend(closed_below(&plan).map(Path::to_owned));
        match make(&root, &options) {
            Ok(()) => Ok(Some(())),
            Err(error) if is_elsewhere(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn plan(&self, root: &Path) -> Result<Plan, Unfinished> {
        let ProgramSettings { sandbox, grants, .. } = self.settings;
        Ok(sandbox.plan(root, &grants.resolve()?, self.host))
    }
}

/// What is closed inside the root. What holds the root is open there, because commands work in it.
fn closed_below(plan: &Plan) -> impl Iterator<Item = &Path> {
    plan.closed.iter().map(|path| &**path).filter(|path| path.starts_with(&plan.root))
}

/// Whether an error says that a path leads out of the root, or to a device, a socket or a pipe.
fn is_elsewhere(error: &FsError) -> bool {
    match error.kind {
        FsErrorKind::Escape { .. } => true,
        FsErrorKind::NotAFile { kind } => kind != FileKind::Directory,
        _ => false,
    }
}
