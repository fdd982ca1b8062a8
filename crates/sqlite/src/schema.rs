//! Tables: created where they are missing, completed where they are older.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, TransactionBehavior};

use crate::{Access, BusyTimeout, SqliteError, SqliteErrorKind};

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
        checked.map_err(|reason| SqliteErrorKind::WrongSchema.because(path, reason))?;
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

/// A table as it is in a file.
#[derive(Debug)]
pub struct Table {
    name: &'static str,
    /// Its columns; none where there is no such table.
    pub columns: Vec<String>,
    /// The columns that every row must give a value for.
    required: Vec<String>,
    /// Why the object with its name is no table of rows.
    problem: Option<String>,
}

impl Table {
    /// Looks at the table with this name.
    pub fn inspect(connection: &Connection, name: &'static str) -> rusqlite::Result<Self> {
        let mut table = Self { name, columns: Vec::new(), required: Vec::new(), problem: None };
        let mut statement = connection.prepare_cached(
            "SELECT name, \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)",
        )?;
        for column in statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (column, is_required): (String, bool) = column?;
            if is_required {
                table.required.push(column.clone());
            }
            table.columns.push(column);
        }
        table.problem = not_a_table(connection, name)?;
        Ok(table)
    }

    /// Whether it is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Fails with the reason why its rows are not usable with this access: it is no table, it lacks a
    /// `needed` column, or every row needs one that is not `known`. A newer version may have added
    /// optional columns. A missing table is usable.
    pub fn check(&self, needed: &[&str], known: &[&str], access: Access) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let name = self.name;
        let is_missing = |column: &&&str| !self.columns.iter().any(|own| own == **column);
        if let Some(column) = needed.iter().find(is_missing).filter(|_| self.exists()) {
            return Err(format!("`{name}` has no column `{column}`"));
        }
        match self.required.iter().find(|column| !known.contains(&column.as_str())) {
            Some(column) if access == Access::ReadWrite => {
                Err(format!("every row of `{name}` needs a `{column}`, which is not known here"))
            }
            _ => Ok(()),
        }
    }
}

/// Why the object with this name is not a table of rows; `None` if it is one, or does not exist.
fn not_a_table(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
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
