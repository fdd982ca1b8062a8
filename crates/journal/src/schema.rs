//! The tables: created where they are missing, completed where they are older.
//!
//! The table of calls is that of smithers-orchestrator, so either program reads the other's database.
//! The columns alone tell versions apart: the version fields of the file belong to the program that made
//! it.

use rusqlite::Connection;
use toolwright_sqlite::{Access, Schema, Table};

use crate::columns::{COLUMNS, TABLE};

/// The writers of this journal: one row for each time it was opened and written to.
const OWNERS: &str = "_toolwright_owners";
/// smithers-orchestrator's name for its index, which it looks for by this name.
const TOKEN_INDEX: &str = "_smithers_tool_calls_call_token_uidx";

/// A claimed call is unique in its task.
const CALL_ID_INDEX: &str = "_toolwright_call_id_uidx";

/// The tables of a journal.
pub(crate) struct Tables;

/// What a database has of them.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) calls: Table,
    owners: Table,
    has_token_index: bool,
    has_call_id_index: bool,
}

impl Schema for Tables {
    type State = Existing;

    fn inspect(connection: &Connection, _: Access) -> rusqlite::Result<Existing> {
        let mut index = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?;
        Ok(Existing {
            calls: Table::inspect(connection, TABLE)?,
            owners: Table::inspect(connection, OWNERS)?,
            has_token_index: index.exists([TOKEN_INDEX])?,
            has_call_id_index: index.exists([CALL_ID_INDEX])?,
        })
    }

    /// A table that lacks one of the oldest columns is another program's.
    fn check(existing: &Existing, access: Access) -> Result<(), String> {
        let known = COLUMNS.map(|column| column.name);
        let oldest: Vec<_> = COLUMNS
            .iter()
            .filter(|column| column.definition.is_none())
            .map(|column| column.name)
            .collect();
        existing.calls.check(&oldest, &known, access)?;
        existing.owners.check(&[], &[], Access::ReadOnly)?;
        if access == Access::ReadOnly && !existing.calls.exists() {
            return Err(format!("it has no table `{TABLE}`"));
        }
        Ok(())
    }

    fn missing(existing: &Existing) -> Option<String> {
        let statements = statements(existing);
        (!statements.is_empty()).then(|| statements.join(";\n"))
    }
}

/// The statements that turn what was found into what is needed.
fn statements(existing: &Existing) -> Vec<String> {
    let mut statements = Vec::new();
    if existing.calls.exists() {
        for column in &COLUMNS {
            if let Some(definition) = column.definition
                && !existing.calls.columns.iter().any(|name| name == column.name)
            {
                statements
                    .push(format!("ALTER TABLE {TABLE} ADD COLUMN {} {definition}", column.name));
            }
        }
    } else {
        statements.push(create_calls());
    }
    if !existing.has_token_index {
        // Without the rows that have no token, which are most: an entry for each would cost every insert
        // another page. A unique index ignores them anyway.
        statements.push(format!(
            "CREATE UNIQUE INDEX {TOKEN_INDEX} ON {TABLE} (call_token) WHERE call_token IS NOT NULL"
        ));
    }
    if !existing.has_call_id_index {
        // Empty unless calls are claimed, so it costs other rows nothing.
        statements.push(format!(
            "CREATE UNIQUE INDEX {CALL_ID_INDEX} ON {TABLE} (run_id, node_id, iteration, tw_call_id)
             WHERE tw_call_id IS NOT NULL"
        ));
    }
    if !existing.owners.exists() {
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
