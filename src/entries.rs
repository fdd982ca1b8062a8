//! Entries of directories below a granted root: created, deleted, renamed and listed.

use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::entries::{EntryInput, ListInput, RewriteInput};
use toolwright_core::file::{File, Publish};
use toolwright_fs::{Listed, Listing, Placed};

use crate::cancel::CancelHandle;
use crate::grants::GrantedRoot;
use crate::job::{self, Promised};
use crate::options::{self, PublishOptions, number};
use crate::outcome::Outcome;
use crate::text::TextArgument;

/// Creates the file at `path` below `root`. False when something is there already.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn create_file(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        Outcome::from(content.encoded().map_err(Into::into).and_then(|content| {
            let publish = &Publish::from(publish);
            let input = EntryInput { root: &root, path: &path, publish };
            let placed = input.create(&content, options::bytes(limit_bytes), &cancel);
            placed.map(|placed| placed == Placed::Done)
        }))
    })
}

/// Makes `content` the text of the existing file at `path` below `root`, if it holds `known` now.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn rewrite_file(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] known: TextArgument,
    #[napi(ts_arg_type = "string")] content: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let texts = known.encoded().and_then(|known| Ok((known, content.encoded()?)));
        Outcome::from(texts.map_err(Into::into).and_then(|(known, content)| {
            let file = File::Below { root: &root, path: &path };
            let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
            let input =
                RewriteInput { file, known: &known, content: &content, limit_bytes, publish };
            input.run(&cancel).map(|()| true)
        }))
    })
}

/// Deletes the file or link at `path` below `root`, or with `trees` a directory with all that is in it.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn delete_entry(
    root: &GrantedRoot,
    path: String,
    trees: bool,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let publish = &Publish::from(publish);
        let input = EntryInput { root: &root, path: &path, publish };
        Outcome::from(input.delete(trees, &cancel).map(|()| true))
    })
}

/// Renames the entry at `from` below `root`. False when something is at `to` already.
#[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
pub fn rename_entry(
    root: &GrantedRoot,
    from: String,
    to: String,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<bool> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let publish = &Publish::from(publish);
        let input = EntryInput { root: &root, path: &from, publish };
        Outcome::from(input.rename(&to, &cancel).map(|placed| placed == Placed::Done))
    })
}

/// An entry of a listing.
#[napi(object, object_from_js = false)]
pub struct ListedEntry {
    /// Its path from the listed directory.
    pub path: String,
    /// A directory, or else a regular file.
    pub is_directory: bool,
    /// Its size.
    pub bytes: f64,
}

impl From<Listed> for ListedEntry {
    fn from(Listed { path, is_directory, bytes }: Listed) -> Self {
        Self { path, is_directory, bytes: number(bytes) }
    }
}

/// A directory with its entries, or a file.
#[napi(object, object_from_js = false)]
pub struct EntryListing {
    /// A directory, or else a regular file.
    pub is_directory: bool,
    /// Its size.
    pub bytes: f64,
    /// What is in it, in order.
    pub entries: Vec<ListedEntry>,
    /// There are more entries.
    pub is_cut: bool,
}

impl From<Listing> for EntryListing {
    fn from(listing: Listing) -> Self {
        let Listing { is_directory, bytes, entries, is_cut } = listing;
        let entries = entries.into_iter().map(ListedEntry::from).collect();
        Self { is_directory, bytes: number(bytes), entries, is_cut }
    }
}

/// Lists the directory at `path` below `root`, some levels deep, without hidden entries and `node_modules`.
#[napi(catch_unwind, ts_return_type = "Promise<EntryListing | Unfinished>")]
pub fn list_entries(
    root: &GrantedRoot,
    path: String,
    depth: u32,
    max_entries: u32,
    cancel: &CancelHandle,
) -> Promised<EntryListing> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let (depth, max_entries) = (depth as usize, max_entries as usize);
        let input = ListInput { root: &root, path: &path, depth, max_entries };
        Outcome::from(input.run(&cancel).map(EntryListing::from))
    })
}
