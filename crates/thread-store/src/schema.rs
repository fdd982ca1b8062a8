//! The tables. Every row belongs to a thread, so that one file holds any number of them.

use rusqlite::Connection;
use toolwright_sqlite::{Access, Schema, not_a_table};

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

/// The tables of a store.
pub(crate) struct Tables;

/// What has the name of a table.
pub(crate) enum Found {
    Nothing,
    Usable,
    /// The table of another program, and how it differs.
    Foreign(String),
}

impl Schema for Tables {
    type State = Vec<Found>;

    fn inspect(connection: &Connection, access: Access) -> rusqlite::Result<Vec<Found>> {
        let mut statement = connection.prepare_cached(
            "SELECT name, ?2 AND \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)",
        )?;
        let mut found = Vec::with_capacity(TABLES.len());
        for table in &TABLES {
            let columns: Vec<(String, bool)> = statement
                .query_map((table.name, access == Access::ReadWrite), |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?
                .collect::<rusqlite::Result<_>>()?;
            found.push(match not_a_table(connection, table.name)? {
                Some(reason) => Found::Foreign(reason),
                None if columns.is_empty() => Found::Nothing,
                None => difference(table, &columns).map_or(Found::Usable, Found::Foreign),
            });
        }
        Ok(found)
    }

    fn check(found: &Vec<Found>, access: Access) -> Result<(), String> {
        let foreign = found.iter().find_map(|found| match found {
            Found::Foreign(reason) => Some(reason.clone()),
            Found::Nothing | Found::Usable => None,
        });
        match foreign {
            Some(reason) => Err(reason),
            None if access == Access::ReadOnly && Self::missing(found).is_some() => {
                Err("it has no tables of threads".to_owned())
            }
            None => Ok(()),
        }
    }

    fn missing(found: &Vec<Found>) -> Option<String> {
        let missing = TABLES.iter().zip(found).filter(|(_, found)| matches!(found, Found::Nothing));
        let statements: String = missing.map(|(table, _)| table.definition).collect();
        (!statements.is_empty()).then_some(statements)
    }
}

/// Why the rows of a store cannot be in a table with these columns, of which some require a value. A
/// newer version may have added optional columns.
fn difference(table: &Table, columns: &[(String, bool)]) -> Option<String> {
    let is_missing = |name: &&&str| !columns.iter().any(|(column, _)| column == **name);
    if let Some(name) = table.columns.iter().find(is_missing) {
        return Some(format!("`{}` has no column `{name}`", table.name));
    }
    let is_unknown =
        |(name, required): &&(String, bool)| *required && !table.columns.contains(&name.as_str());
    let (name, _) = columns.iter().find(is_unknown)?;
    Some(format!("every row of `{}` needs a `{name}`, which is not known here", table.name))
}
