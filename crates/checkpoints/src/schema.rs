//! The tables of a store.
//!
//! A version is the state of a path from one checkpoint up to, but not including, another: `first` and
//! `last`. The versions without a `last` are the state after the newest checkpoint, and carry what the
//! file system said of them, so that the next walk reads only what has changed. A checkpoint of three
//! changed files is three rows, however large the tree is.

use rusqlite::Connection;
use toolwright_sqlite::{Access, Schema, Table};

pub(crate) struct Tables;

const NAMES: [&str; 7] = [
    "checkpoint_store",
    "checkpoints",
    "checkpoint_versions",
    "checkpoint_contents",
    "checkpoint_chunks",
    "checkpoint_windows",
    "checkpoint_restores",
];

const STATEMENTS: &str = "
CREATE TABLE checkpoint_store (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, origin TEXT NOT NULL,
    label TEXT, changes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE checkpoint_versions (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER,
    ours INTEGER NOT NULL, last_ours INTEGER, kind INTEGER NOT NULL, mode INTEGER NOT NULL,
    uid INTEGER NOT NULL, gid INTEGER NOT NULL, mtime INTEGER NOT NULL, content INTEGER, text BLOB,
    inode INTEGER NOT NULL, ctime INTEGER NOT NULL);
CREATE INDEX checkpoint_versions_first ON checkpoint_versions (first);
CREATE INDEX checkpoint_versions_last ON checkpoint_versions (last);
CREATE INDEX checkpoint_versions_content ON checkpoint_versions (content) WHERE content IS NOT NULL;
CREATE TABLE checkpoint_contents (
    id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
    coding INTEGER NOT NULL, data BLOB);
CREATE TABLE checkpoint_chunks (
    content INTEGER NOT NULL, seq INTEGER NOT NULL, coding INTEGER NOT NULL, size INTEGER NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (content, seq));
CREATE TABLE checkpoint_windows (
    kind TEXT NOT NULL, name TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    turn TEXT, owner TEXT, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE checkpoint_restores (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, target INTEGER NOT NULL,
    before INTEGER NOT NULL, after INTEGER, state TEXT NOT NULL);
CREATE TABLE checkpoint_steps (
    restore INTEGER NOT NULL, step INTEGER NOT NULL, path BLOB NOT NULL, stage BLOB NOT NULL,
    old BLOB, new BLOB, outcome TEXT, PRIMARY KEY (restore, step)) WITHOUT ROWID;
";

impl Schema for Tables {
    type State = Vec<Table>;

    fn inspect(connection: &Connection, _: Access) -> rusqlite::Result<Self::State> {
        NAMES.iter().map(|name| Table::inspect(connection, name)).collect()
    }

    fn check(tables: &Self::State, access: Access) -> Result<(), String> {
        let there = tables.iter().filter(|table| table.exists()).count();
        if there != 0 && there != NAMES.len() || there == 0 && access == Access::ReadOnly {
            return Err("it lacks tables of a store of checkpoints".to_owned());
        }
        tables[2].check(&["path", "first", "last", "last_ours", "ctime"], &[], Access::ReadOnly)
    }

    fn missing(tables: &Self::State) -> Option<String> {
        (!tables[0].exists()).then(|| STATEMENTS.to_owned())
    }
}
