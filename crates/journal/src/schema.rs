//! The tables: created where they are missing, completed where they are older.
//!
//! The table of calls is smithers-orchestrator's, so that either program reads the other's database.
//! Versions are told by the columns that are there and by nothing else: the version fields of the
//! file belong to whoever made it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use toolwright_sqlite::Patience;
use toolwright_sqlite::connection::no_table;

use crate::JournalError;
use crate::columns::{COLUMNS, TABLE, text_at};

/// Who writes to this journal: one row for each time it was opened and written to.
const OWNERS: &str = "_toolwright_owners";
/// smithers-orchestrator's name for its index, which it looks for by this name.
const TOKEN_INDEX: &str = "_smithers_tool_calls_call_token_uidx";

/// What is in a database.
#[derive(Debug, Default)]
struct Found {
    columns: Vec<String>,
    /// A column that every row must have, and that is not known here.
    demanded: Option<String>,
    token_index: bool,
    owners: bool,
    /// Why something with the name of one of the tables is none.
    no_table: Option<String>,
}

impl Found {
    fn is_complete(&self) -> bool {
        self.token_index
            && self.owners
            && COLUMNS.iter().all(|column| self.columns.iter().any(|name| name == column.name))
    }
}

/// Creates and completes what is needed, all or nothing. Any number of processes may do so at once.
pub(crate) fn complete(
    connection: &mut Connection,
    path: &Path,
    patience: Patience,
) -> Result<Vec<String>, JournalError> {
    let found = patience.retry(path, "reading the schema", || look(connection))?;
    check_writable(&found, path)?;
    if found.is_complete() {
        return Ok(found.columns);
    }
    // The second look is within the transaction: another process may have been faster.
    patience.retry(path, "completing the schema", || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = look(&transaction)?;
        transaction.execute_batch(&missing(&found))?;
        transaction.commit()
    })?;
    let found = patience.retry(path, "reading the schema", || look(connection))?;
    check_writable(&found, path)?;
    Ok(found.columns)
}

/// The columns of a database that is only read.
pub(crate) fn existing(
    connection: &Connection,
    path: &Path,
    patience: Patience,
) -> Result<Vec<String>, JournalError> {
    let found = patience.retry(path, "reading the schema", || look(connection))?;
    if found.columns.is_empty() && found.no_table.is_none() {
        let reason = format!("it has no table `{TABLE}`");
        return Err(JournalError::WrongSchema { path: path.to_owned(), reason });
    }
    check(&found, path)?;
    Ok(found.columns)
}

fn look(connection: &Connection) -> rusqlite::Result<Found> {
    let mut found = Found::default();
    let mut columns = connection
        .prepare("SELECT name, \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)")?;
    for column in columns.query_map([TABLE], |row| Ok((text_at(row, 0)?, row.get(1)?)))? {
        let (name, demanded) = column?;
        if demanded && !COLUMNS.iter().any(|column| name.as_deref() == Some(column.name)) {
            found.demanded.clone_from(&name);
        }
        found.columns.extend(name);
    }
    let mut others = connection.prepare("SELECT name FROM sqlite_schema WHERE name IN (?1, ?2)")?;
    for name in others.query_map([TOKEN_INDEX, OWNERS], |row| text_at(row, 0))? {
        let name = name?.unwrap_or_default();
        found.token_index |= name == TOKEN_INDEX;
        found.owners |= name == OWNERS;
    }
    for table in [TABLE, OWNERS] {
        found.no_table = found.no_table.take().or(no_table(connection, table)?);
    }
    Ok(found)
}

/// A table that lacks one of the oldest columns is another program's.
fn check(found: &Found, path: &Path) -> Result<(), JournalError> {
    if let Some(reason) = &found.no_table {
        let (path, reason) = (path.to_owned(), reason.clone());
        return Err(JournalError::WrongSchema { path, reason });
    }
    if found.columns.is_empty() {
        return Ok(());
    }
    let lacks = |column: &&crate::columns::Column| {
        column.definition.is_none() && !found.columns.iter().any(|name| name == column.name)
    };
    match COLUMNS.iter().find(lacks) {
        None => Ok(()),
        Some(column) => Err(JournalError::WrongSchema {
            path: path.to_owned(),
            reason: format!("`{TABLE}` has no column `{}`", column.name),
        }),
    }
}

/// A newer table may well have more columns, as long as a row can be written without them.
fn check_writable(found: &Found, path: &Path) -> Result<(), JournalError> {
    check(found, path)?;
    match &found.demanded {
        None => Ok(()),
        Some(column) => Err(JournalError::WrongSchema {
            path: path.to_owned(),
            reason: format!("every row of `{TABLE}` needs a `{column}`, which is not known here"),
        }),
    }
}

/// The statements that turn what was found into what is needed.
fn missing(found: &Found) -> String {
    let mut statements = Vec::new();
    if found.columns.is_empty() {
        statements.push(create_calls());
    } else {
        for column in &COLUMNS {
            if let Some(definition) = column.definition
                && !found.columns.iter().any(|name| name == column.name)
            {
                statements
                    .push(format!("ALTER TABLE {TABLE} ADD COLUMN {} {definition}", column.name));
            }
        }
    }
    if !found.token_index {
        // Without the rows that have no token, which are most of ours: an entry for each would cost
        // every insert another page. A unique index treats them no differently.
        statements.push(format!(
            "CREATE UNIQUE INDEX {TOKEN_INDEX} ON {TABLE} (call_token) WHERE call_token IS NOT NULL"
        ));
    }
    if !found.owners {
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
    statements.join(";\n")
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
