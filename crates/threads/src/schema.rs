//! The tables. Every row belongs to a thread, so that one file holds any number of them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use toolwright_sqlite::connection::no_table;
use toolwright_sqlite::{Patience, SqliteError};

/// A table: its name, its columns, and what else is written with it.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    definition: &'static str,
}

/// `files` and `file_chunks` are laid out as Standard Agents lays its own out.
const TABLES: [Table; 6] = [
    Table {
        name: "threads",
        columns: &["id", "thread_id", "flow_id", "created_at_ms"],
        definition: "CREATE TABLE threads (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            thread_id TEXT NOT NULL UNIQUE,
            flow_id TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL
        );",
    },
    Table {
        name: "thread_values",
        columns: &["thread", "key", "value"],
        definition: "CREATE TABLE thread_values (
            thread INTEGER NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (thread, key)
        );",
    },
    Table {
        name: "thread_messages",
        columns: &["thread", "seq", "id", "role", "body", "call_id", "created_at_ms"],
        definition: "CREATE TABLE thread_messages (
            thread INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            role TEXT NOT NULL,
            body TEXT NOT NULL,
            call_id TEXT,
            created_at_ms INTEGER NOT NULL,
            PRIMARY KEY (thread, seq),
            UNIQUE (thread, id)
        );",
    },
    Table {
        name: "thread_calls",
        columns: &[
            "thread",
            "seq",
            "id",
            "name",
            "arguments",
            "queue",
            "force_allow",
            "parent_call_id",
            "info",
            "status",
            "attempts",
            "result",
            "queued_at_us",
            "started_at_ms",
            "finished_at_ms",
        ],
        definition: "CREATE TABLE thread_calls (
            thread INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            arguments TEXT NOT NULL,
            queue TEXT NOT NULL,
            force_allow INTEGER NOT NULL,
            parent_call_id TEXT,
            info TEXT,
            status TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            result TEXT,
            queued_at_us INTEGER NOT NULL,
            started_at_ms INTEGER,
            finished_at_ms INTEGER,
            PRIMARY KEY (thread, seq),
            UNIQUE (thread, id)
        );
        CREATE INDEX thread_calls_queued ON thread_calls (thread, queue, seq)
            WHERE status = 'queued';
        CREATE INDEX thread_calls_running ON thread_calls (thread, seq) WHERE status = 'running';",
    },
    Table {
        name: "files",
        columns: &[
            "thread",
            "path",
            "seq",
            "id",
            "name",
            "mime_type",
            "size",
            "width",
            "height",
            "is_chunked",
            "chunk_count",
            "data",
            "created_at_ms",
            "staged_by",
        ],
        definition: "CREATE TABLE files (
            thread INTEGER NOT NULL,
            path TEXT NOT NULL,
            seq INTEGER,
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            mime_type TEXT NOT NULL,
            size INTEGER NOT NULL,
            width INTEGER,
            height INTEGER,
            is_chunked INTEGER NOT NULL,
            chunk_count INTEGER NOT NULL,
            created_at_ms INTEGER NOT NULL,
            staged_by TEXT,
            data BLOB,
            PRIMARY KEY (thread, path)
        );
        CREATE INDEX files_in_order ON files (thread, seq);
        CREATE INDEX files_staged ON files (staged_by) WHERE staged_by IS NOT NULL;",
    },
    Table {
        name: "file_chunks",
        columns: &["thread", "file_path", "chunk_index", "data"],
        definition: "CREATE TABLE file_chunks (
            thread INTEGER NOT NULL,
            file_path TEXT NOT NULL,
            chunk_index INTEGER NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (thread, file_path, chunk_index)
        );",
    },
];

/// Why a table is not ours; `None` for a table that is not there.
type Found = Option<Option<String>>;

/// Creates what is missing, all or nothing. Any number of processes may do so at once.
pub(crate) fn complete(
    connection: &mut Connection,
    path: &Path,
    patience: Patience,
) -> Result<(), SqliteError> {
    if check(&patience.retry(path, "reading the schema", || look(connection, true))?, path)? {
        return Ok(());
    }
    let found = patience.retry(path, "creating the tables", || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Within the transaction: another process may have been faster.
        let found = look(&transaction, true)?;
        if found.iter().any(|table| matches!(table, Some(Some(_)))) {
            return Ok(found);
        }
        for (table, _) in TABLES.iter().zip(&found).filter(|(_, found)| found.is_none()) {
            transaction.execute_batch(table.definition)?;
        }
        transaction.commit()?;
        look(connection, true)
    })?;
    check(&found, path).map(|_| ())
}

/// Looks whether a database that is only read has the tables.
pub(crate) fn existing(
    connection: &Connection,
    path: &Path,
    patience: Patience,
) -> Result<(), SqliteError> {
    let found = patience.retry(path, "reading the schema", || look(connection, false))?;
    if check(&found, path)? {
        return Ok(());
    }
    let reason = "it has no tables of threads".to_owned();
    Err(SqliteError::WrongSchema { path: path.to_owned(), reason })
}

fn look(connection: &Connection, for_writing: bool) -> rusqlite::Result<Vec<Found>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, ?2 AND \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)",
    )?;
    let mut found = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        let columns: Vec<(String, bool)> = statement
            .query_map((table.name, for_writing), |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        found.push(match no_table(connection, table.name)? {
            Some(reason) => Some(Some(reason)),
            None => (!columns.is_empty()).then(|| difference(table, &columns)),
        });
    }
    Ok(found)
}

/// Why rows of ours cannot be in a table with these columns, of which some must be given. One of a
/// newer version may have more of the others.
fn difference(table: &Table, columns: &[(String, bool)]) -> Option<String> {
    let lacks = |name: &&&str| !columns.iter().any(|(column, _)| column == **name);
    if let Some(name) = table.columns.iter().find(lacks) {
        return Some(format!("`{}` has no column `{name}`", table.name));
    }
    let is_unknown =
        |(name, demanded): &&(String, bool)| *demanded && !table.columns.contains(&name.as_str());
    let (name, _) = columns.iter().find(is_unknown)?;
    Some(format!("every row of `{}` needs a `{name}`, which is not known here", table.name))
}

/// Whether everything is there. A table that differs is another program's.
fn check(found: &[Found], path: &Path) -> Result<bool, SqliteError> {
    if let Some(reason) = found.iter().flatten().flatten().next() {
        return Err(SqliteError::WrongSchema { path: path.to_owned(), reason: reason.clone() });
    }
    Ok(found.iter().all(Option::is_some))
}
