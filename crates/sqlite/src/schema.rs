//! Tables: created where they are missing, completed where they are older.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, TransactionBehavior};

use crate::{Access, BusyTimeout, SqliteError};

/// The tables that a database needs.
pub trait Schema {
    /// What a file has of them.
    type State;

    /// Looks which tables are there. One that is missing is no error.
    fn inspect(connection: &Connection, access: Access) -> rusqlite::Result<Self::State>;

    /// Fails with the reason why the tables are not usable with this access, such as being those of
    /// another program.
    fn check(state: &Self::State, access: Access) -> Result<(), String>;

    /// The statements that complete the tables; `None` where nothing is missing.
    fn missing(state: &Self::State) -> Option<String>;
}

/// Makes sure that a file has what `S` needs, all or nothing. Any number of processes may do so at once.
pub(crate) fn complete<S: Schema>(
    connection: &mut Connection,
    path: &Path,
    access: Access,
    busy: BusyTimeout,
) -> Result<S::State, SqliteError> {
    let inspect = |connection: &Connection| -> Result<S::State, SqliteError> {
        let state = busy.retry(path, "reading the schema", || S::inspect(connection, access))?;
        let checked = S::check(&state, access);
        checked.map_err(|reason| SqliteError::WrongSchema { path: path.to_owned(), reason })?;
        Ok(state)
    };
    let state = inspect(connection)?;
    if access == Access::ReadOnly || S::missing(&state).is_none() {
        return Ok(state);
    }
    busy.retry(path, "completing the schema", || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Again within the transaction: another process may have been faster.
        let state = S::inspect(&transaction, access)?;
        if S::check(&state, access).is_ok()
            && let Some(statements) = S::missing(&state)
        {
            transaction.execute_batch(&statements)?;
        }
        transaction.commit()
    })?;
    inspect(connection)
}

/// Why the object with this name is no table of rows; `None` where it is one, or where there is none.
pub fn not_a_table(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection
        .prepare("SELECT type, rootpage > 0 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE")?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        let kind = match row.get_ref(0)? {
            ValueRef::Text(kind) => String::from_utf8_lossy(kind).into_owned(),
            _ => "nothing".to_owned(),
        };
        if kind != "table" {
            return Ok(Some(format!("`{name}` is no table (`{kind}`)")));
        }
        if row.get_ref(1)? != ValueRef::Integer(1) {
            return Ok(Some(format!("`{name}` is a virtual table")));
        }
    }
    Ok(None)
}
