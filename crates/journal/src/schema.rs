//! The tables: created where they are missing, completed where they are older.
//!
//! The table of calls is that of smithers-orchestrator, so either program reads the other's database.
//! The columns alone tell versions apart: the version fields of the file belong to the program that made
//! it.

use rusqlite::Connection;
use toolwright_sqlite::{Access, Schema, not_a_table};

use crate::columns::{COLUMNS, Column, TABLE, text_at};

/// The writers of this journal: one row for each time it was opened and written to.
const OWNERS: &str = "_toolwright_owners";
/// smithers-orchestrator's name for its index, which it looks for by this name.
const TOKEN_INDEX: &str = "_smithers_tool_calls_call_token_uidx";

/// The tables of a journal.
pub(crate) struct Tables;

/// What a database has of them.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The columns of the table of calls.
    pub(crate) columns: Vec<String>,
    /// An unknown column that every row must have.
    required: Option<String>,
    has_token_index: bool,
    has_owners: bool,
    /// Why an object with the name of one of the tables is none.
    not_a_table: Option<String>,
}

impl Schema for Tables {
    type State = Found;

    fn inspect(connection: &Connection, _: Access) -> rusqlite::Result<Found> {
        let mut found = Found::default();
        let mut columns = connection.prepare(
            "SELECT name, \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)",
        )?;
        for column in columns.query_map([TABLE], |row| Ok((text_at(row, 0)?, row.get(1)?)))? {
            let (name, is_required) = column?;
            if is_required && !COLUMNS.iter().any(|column| name.as_deref() == Some(column.name)) {
                found.required.clone_from(&name);
            }
            found.columns.extend(name);
        }
        let mut others =
            connection.prepare("SELECT name FROM sqlite_schema WHERE name IN (?1, ?2)")?;
        for name in others.query_map([TOKEN_INDEX, OWNERS], |row| text_at(row, 0))? {
            let name = name?.unwrap_or_default();
            found.has_token_index |= name == TOKEN_INDEX;
            found.has_owners |= name == OWNERS;
        }
        for table in [TABLE, OWNERS] {
            found.not_a_table = found.not_a_table.take().or(not_a_table(connection, table)?);
        }
        Ok(found)
    }

    /// A table that lacks one of the oldest columns is another program's. A newer one may have more
    /// columns; to be written, it must not require them.
    fn check(found: &Found, access: Access) -> Result<(), String> {
        if let Some(reason) = &found.not_a_table {
            return Err(reason.clone());
        }
        if found.columns.is_empty() {
            return match access {
                Access::ReadOnly => Err(format!("it has no table `{TABLE}`")),
                Access::ReadWrite => Ok(()),
            };
        }
        let is_missing = |column: &&Column| column.definition.is_none() && !found.has(column);
        if let Some(column) = COLUMNS.iter().find(is_missing) {
            return Err(format!("`{TABLE}` has no column `{}`", column.name));
        }
        match &found.required {
            Some(column) if access == Access::ReadWrite => {
                Err(format!("every row of `{TABLE}` needs a `{column}`, which is not known here"))
            }
            _ => Ok(()),
        }
    }

    fn missing(found: &Found) -> Option<String> {
        let statements = statements(found);
        (!statements.is_empty()).then(|| statements.join(";\n"))
    }
}

impl Found {
    fn has(&self, column: &Column) -> bool {
        self.columns.iter().any(|name| name == column.name)
    }
}

/// The statements that turn what was found into what is needed.
fn statements(found: &Found) -> Vec<String> {
    let mut statements = Vec::new();
    if found.columns.is_empty() {
        statements.push(create_calls());
    } else {
        for column in &COLUMNS {
            if let Some(definition) = column.definition
                && !found.has(column)
            {
                statements
                    .push(format!("ALTER TABLE {TABLE} ADD COLUMN {} {definition}", column.name));
            }
        }
    }
    if !found.has_token_index {
        // Without the rows that have no token, which are most: an entry for each would cost every insert
        // another page. A unique index ignores them anyway.
        statements.push(format!(
            "CREATE UNIQUE INDEX {TOKEN_INDEX} ON {TABLE} (call_token) WHERE call_token IS NOT NULL"
        ));
    }
    if !found.has_owners {
        statements.push(format!(
            "CREATE TABLE {OWNERS} (
                id INTEGER PRIMARY KEY,
                machine TEXT, boot TEXT, pid_namespace TEXT,
                pid INTEGER, process_start INTEGER,
                lock_name TEXT, lock_device INTEGER, lock_inode INTEGER,
                rows_after INTEGER NOT NULL, opened_at_ms INTEGER NOT NULL, ended_at_ms INTEGER
            )"
        ));
    }
    statements
}

/// The order of the columns is smithers-orchestrator's, with ours at the end.
fn create_calls() -> String {
    let added = |from: &str| {
        let columns = COLUMNS.iter().skip_while(move |column| column.name != from);
        columns
            .filter_map(|column| Some(format!("{} {}", column.name, column.definition?)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!(
        "CREATE TABLE {TABLE} (
            run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0,
            attempt INTEGER NOT NULL, seq INTEGER NOT NULL, call_token TEXT,
            tool_name TEXT NOT NULL, input_json TEXT, output_json TEXT,
            started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER,
            status TEXT NOT NULL, error_json TEXT, {},
            PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
        )",
        added("kind")
    )
}
