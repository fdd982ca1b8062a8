//! Entries of directories below a granted root: created, deleted, renamed and listed.
#![expect(clippy::too_many_arguments, reason = "each is an argument in JavaScript")]

use napi_derive::napi;
use toolwright_core::entries::{EntryInput, ListInput, RewriteInput};
use toolwright_core::file::File;
use toolwright_fs::{Listed, Listing, Placed};

use crate::call::{self, CancelHandle, Promised};
use crate::cross::{Cross, convert, cross};
use crate::files::PublishOptions;
use crate::grants::GrantedRoot;
use crate::text::TextArgument;

convert! { Placed => bool: |placed| placed == Placed::Done; }

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
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let (content, limit_bytes) = (&content.encoded()?, limit_bytes.cross());
        let (publish, seen) = publish.split();
        let entry = EntryInput { root: &root, path: &path, publish: &publish };
        match seen {
            Some(seen) => entry.create_seen(&seen, content, limit_bytes, cancel),
            None => entry.create(content, limit_bytes, cancel),
        }
    })
}

/// Makes `content` the text of the existing file at `path` below `root`, if it holds `known` now. Gives what a model should
/// know of changes of others. `by_line`: the number of a line says where.
#[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
pub fn rewrite_file(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] known: TextArgument,
    #[napi(ts_arg_type = "string")] content: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
    by_line: Option<bool>,
) -> Promised<Option<String>> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let file = File::Below { root: &root, path: &path };
        let (known, content) = (&known.encoded()?, &content.encoded()?);
        let (limit_bytes, (publish, seen)) = (limit_bytes.cross(), publish.split());
        let input = RewriteInput { file, known, content, limit_bytes, publish: &publish };
        match seen {
            Some(seen) => input.run_seen(&seen, by_line.cross(), cancel),
            None => input.run(cancel).map(|()| None),
        }
    })
}

/// Deletes the file or link at `path` below `root`, or with `trees` a directory with all that is in it.
#[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
pub fn delete_entry(
    root: &GrantedRoot,
    path: String,
    trees: bool,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<()> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let publish = &publish.cross();
        EntryInput { root: &root, path: &path, publish }.delete(trees, cancel)
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
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let publish = &publish.cross();
        EntryInput { root: &root, path: &from, publish }.rename(&to, cancel)
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

cross! {
    Listed => ListedEntry { path, is_directory, bytes }
    Listing => EntryListing { is_directory, bytes, entries, is_cut }
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
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let (depth, max_entries) = (depth.cross(), max_entries.cross());
        ListInput { root: &root, path: &path, depth, max_entries }.run(cancel)
    })
}
