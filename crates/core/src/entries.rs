//! Entries of directories below a root: files created where nothing is, and entries deleted, renamed and
//! listed.

use std::ffi::OsStr;
use std::sync::atomic::AtomicBool;

use toolwright_encoding::utf16;
use toolwright_fs::{Deletable, DirectoryGrant, ListOptions, Listing, Placed};

use crate::failure::{Unfinished, changes};
use crate::file::{File, Publish};
use crate::notebook;
use crate::seen::{Context, EditWitness, SeenFiles};

/// An entry and the root that it is below.
#[derive(Debug, Clone, Copy)]
pub struct EntryInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// How a change is published.
    pub publish: &'a Publish,
}

impl EntryInput<'_> {
    /// Creates a file. Nothing may be there yet.
    pub fn create(
        &self,
        content: &str,
        limit_bytes: u64,
        cancel: &AtomicBool,
    ) -> Result<Placed, Unfinished> {
        if content.len() as u64 > limit_bytes {
            return Err(changes::content_too_large("Content", content, limit_bytes).into());
        }
        notebook::check_whole(self.publish, self.path, content.as_bytes())?;
        let options = self.publish.options(self.file());
        let root = self.root.open()?;
        Ok(toolwright_fs::create(&root, self.path, content.as_bytes(), &options, cancel)?)
    }

    /// As [`Self::create`], by a model, which knows the content then.
    pub fn create_seen(
        &self,
        seen: &SeenFiles,
        content: &str,
        limit_bytes: u64,
        cancel: &AtomicBool,
    ) -> Result<Placed, Unfinished> {
        let placed = self.create(content, limit_bytes, cancel)?;
        if placed == Placed::Done
            && let Ok(found) = self.root.open()?.locate(self.path)
        {
            seen.ledger().written(&found.root.join(&found.relative), content.as_bytes());
        }
        Ok(placed)
    }

    /// Deletes a file or a link, or with `trees` a directory with everything in it.
    pub fn delete(&self, trees: bool, cancel: &AtomicBool) -> Result<(), Unfinished> {
        let deletable = if trees { Deletable::Trees } else { Deletable::Files };
        let options = self.publish.options(self.file());
        Ok(toolwright_fs::delete(&self.root.open()?, self.path, deletable, &options, cancel)?)
    }

    /// Renames the entry. Nothing may be at `to` yet.
    pub fn rename(&self, to: &str, cancel: &AtomicBool) -> Result<Placed, Unfinished> {
        let options = self.publish.options(self.file());
        Ok(toolwright_fs::rename(&self.root.open()?, self.path, to, &options, cancel)?)
    }

    fn file(&self) -> File<'_> {
        File::Below { root: self.root, path: self.path }
    }
}

/// A directory to list, or a file whose size is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ListInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// How many levels.
    pub depth: usize,
    /// The most entries.
    pub max_entries: usize,
}

impl ListInput<'_> {
    /// Lists the directory, without hidden entries and `node_modules`.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Listing, Unfinished> {
        let options = ListOptions {
            depth: self.depth,
            max_entries: self.max_entries,
            leaves_out: is_left_out,
        };
        Ok(toolwright_fs::list(&self.root.open()?, self.path, options, cancel)?)
    }
}

fn is_left_out(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "node_modules"
}

/// A file whose content is known, and what it is to be replaced by.
#[derive(Debug, Clone, Copy)]
pub struct RewriteInput<'a> {
    /// The file.
    pub file: File<'a>,
    /// What it has to hold now: of a notebook, the cells.
    pub known: &'a str,
    /// What it is to hold.
    pub content: &'a str,
    /// The longest content.
    pub limit_bytes: u64,
    /// How the file is published.
    pub publish: &'a Publish,
}

impl RewriteInput<'_> {
    /// Replaces the content. Fails if the file no longer holds what is known, as an edit does when
    /// another program has changed it.
    pub fn run(&self, cancel: &AtomicBool) -> Result<(), Unfinished> {
        let Self { file, publish, .. } = *self;
        let limit_bytes = self.check_size()?;
        file.update(limit_bytes, publish, cancel, |now| self.unless_changed(now))
    }

    /// As [`Self::run`], by a model that has seen something of the file: it is told of changes of others near its own,
    /// and refused directly beside them, and below them where the number of a line says where. Returns what it should know.
    pub fn run_seen(
        &self,
        seen: &SeenFiles,
        by_line: bool,
        cancel: &AtomicBool,
    ) -> Result<Option<String>, Unfinished> {
        let Self { file, publish, .. } = *self;
        let limit_bytes = self.check_size()?;
        let change = |now: &[u8]| self.unless_changed(now);
        let context = if by_line { Context::Line } else { Context::Text };
        let mut witness = EditWitness::new(seen, file.display_path(), context, change);
        file.update_witnessed(limit_bytes, publish, cancel, &mut witness)?;
        Ok(witness.note)
    }

    /// The limit of the file: it was within it when it was read, and may have grown.
    fn check_size(&self) -> Result<u64, Unfinished> {
        let Self { file, known, content, limit_bytes, publish } = *self;
        if content.len() as u64 > limit_bytes {
            let failure = changes::content_too_large("Content", content, limit_bytes);
            return Err(file.unfinished(failure));
        }
        // In UTF-16 it is up to twice as long.
        let twice = limit_bytes.max(known.len() as u64).saturating_mul(2);
        Ok(notebook::file_limit(publish, file.display_path(), twice))
    }

    fn unless_changed(&self, now: &[u8]) -> Result<Vec<u8>, Unfinished> {
        let Self { file, known, content, publish, .. } = *self;
        let path = file.display_path();
        let (bytes, ()) = notebook::changed(publish, path, now, |now| match utf16::decode(now) {
            Some((order, text)) if text == known.as_bytes() => {
                Ok((utf16::encode(content.as_bytes(), order), ()))
            }
            None if now == known.as_bytes() => Ok((content.as_bytes().to_vec(), ())),
            _ => Err(changes::changed_meanwhile(path)),
        })?;
        Ok(bytes)
    }
}
