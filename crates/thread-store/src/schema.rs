//! The tables. Every row belongs to a thread, so that one file holds any number of them.

use rusqlite::Connection;
use toolwright_sqlite::{Access, Schema, Table};

/// How a table is created: its name, its columns, its keys, and the indexes created with it.
struct Definition {
    name: &'static str,
    /// As in the statement: names, each with its type.
    columns: &'static str,
    keys: &'static str,
    indexes: &'static str,
}

/// `files` and `file_chunks` are laid out as Standard Agents lays its own out.
const TABLES: [Definition; 6] = [
    Definition {
        name: "threads",
        columns: "
            id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL UNIQUE,
            flow_id TEXT NOT NULL, created_at_ms INTEGER NOT NULL",
        keys: "",
        indexes: "",
    },
    Definition {
        name: "thread_values",
        columns: "thread INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL",
        keys: ", PRIMARY KEY (thread, key)",
        indexes: "",
    },
    Definition {
        name: "thread_messages",
        columns: "
            thread INTEGER NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL,
            body TEXT NOT NULL, call_id TEXT, created_at_ms INTEGER NOT NULL",
        keys: ", PRIMARY KEY (thread, seq), UNIQUE (thread, id)",
        indexes: "",
    },
    Definition {
        name: "thread_calls",
        columns: "
            thread INTEGER NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
            arguments TEXT NOT NULL, queue TEXT NOT NULL, force_allow INTEGER NOT NULL,
            parent_call_id TEXT, info TEXT, status TEXT NOT NULL, attempts INTEGER NOT NULL,
            result TEXT, queued_at_us INTEGER NOT NULL, started_at_ms INTEGER,
            finished_at_ms INTEGER",
        keys: ", PRIMARY KEY (thread, seq), UNIQUE (thread, id)",
        indexes: "
            CREATE INDEX thread_calls_queued ON thread_calls (thread, queue, seq)
                WHERE status = 'queued';
            CREATE INDEX thread_calls_running ON thread_calls (thread, seq)
                WHERE status = 'running';",
    },
    Definition {
        name: "files",
        columns: "
            thread INTEGER NOT NULL, path TEXT NOT NULL, seq INTEGER, id TEXT NOT NULL,
            name TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL, width INTEGER,
            height INTEGER, is_chunked INTEGER NOT NULL, chunk_count INTEGER NOT NULL,
            created_at_ms INTEGER NOT NULL, staged_by TEXT, data BLOB",
        keys: ", PRIMARY KEY (thread, path)",
        indexes: "
            CREATE INDEX files_in_order ON files (thread, seq);
            CREATE INDEX files_staged ON files (staged_by) WHERE staged_by IS NOT NULL;",
    },
    Definition {
        name: "file_chunks",
        columns: "
            thread INTEGER NOT NULL, file_path TEXT NOT NULL, chunk_index INTEGER NOT NULL,
            data BLOB NOT NULL",
        keys: ", PRIMARY KEY (thread, file_path, chunk_index)",
        indexes: "",
    },
];

impl Definition {
    fn statements(&self) -> String {
        let Self { name, columns, keys, indexes } = self;
        format!("CREATE TABLE {name} ({columns}{keys});{indexes}")
    }

    fn column_names(&self) -> Vec<&'static str> {
        self.columns.split(',').filter_map(|column| column.split_whitespace().next()).collect()
    }
}

/// The tables of a store.
pub(crate) struct Tables;

impl Schema for Tables {
    type State = Vec<Table>;

    fn inspect(connection: &Connection, _: Access) -> rusqlite::Result<Vec<Table>> {
        TABLES.iter().map(|table| Table::inspect(connection, table.name)).collect()
    }

    fn check(existing: &Vec<Table>, access: Access) -> Result<(), String> {
        for (definition, table) in TABLES.iter().zip(existing) {
            let columns = definition.column_names();
            table.check(&columns, &columns, access)?;
        }
        match Self::missing(existing) {
            Some(_) if access == Access::ReadOnly => Err("it has no tables of threads".to_owned()),
            _ => Ok(()),
        }
    }

    fn missing(existing: &Vec<Table>) -> Option<String> {
        let missing = TABLES.iter().zip(existing).filter(|(_, table)| !table.exists());
        let statements: String = missing.map(|(definition, _)| definition.statements()).collect();
        (!statements.is_empty()).then_some(statements)
    }
}
