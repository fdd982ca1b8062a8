//! Values by key. A store keeps texts; what they mean is the caller's.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

use crate::threads::number;
use crate::{Store, ThreadError};

/// Which values.
#[derive(Debug, Clone, Default)]
pub struct Range {
    /// Only keys that begin so.
    pub prefix: Option<String>,
    /// The first key, inclusive.
    pub start: Option<String>,
    /// The first key, exclusive.
    pub start_after: Option<String>,
    /// The last key, exclusive.
    pub end: Option<String>,
    /// From the last to the first.
    pub reverse: bool,
    /// The most to give.
    pub limit: Option<u32>,
}

impl Store {
    /// The values of these keys that there are, in ascending order of the keys' bytes.
    pub fn read_values(
        &self,
        thread: &str,
        keys: &[String],
    ) -> Result<Vec<(String, String)>, ThreadError> {
        let keys: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        self.read("reading values", |connection| {
            let thread = number(connection, thread)?;
            let mut statement = connection
                .prepare_cached("SELECT value FROM thread_values WHERE thread = ?1 AND key = ?2")?;
            let mut values = Vec::new();
            for &key in &keys {
                let value = statement.query_row((thread, key), |row| row.get(0)).optional()?;
                values.extend(value.map(|value| (key.to_owned(), value)));
            }
            Ok(values)
        })
    }

    /// Sets values; of two with one key the last one counts.
    pub fn write_values(
        &self,
        thread: &str,
        entries: &[(String, String)],
    ) -> Result<(), ThreadError> {
        for (key, value) in entries {
            self.check_text("key", key)?;
            self.check_text("value", value)?;
        }
        self.write("writing values", |connection| {
            let thread = number(connection, thread)?;
            let mut statement = connection.prepare_cached(
                "INSERT INTO thread_values (thread, key, value) VALUES (?1, ?2, ?3)
                 ON CONFLICT (thread, key) DO UPDATE SET value = excluded.value",
            )?;
            for (key, value) in entries {
                statement.execute((thread, key, value))?;
            }
            Ok(())
        })
    }

    /// Removes values and returns their number.
    pub fn delete_values(&self, thread: &str, keys: &[String]) -> Result<usize, ThreadError> {
        self.write("deleting values", |connection| {
            let thread = number(connection, thread)?;
            let mut statement = connection
                .prepare_cached("DELETE FROM thread_values WHERE thread = ?1 AND key = ?2")?;
            let mut removed = 0;
            for key in keys {
                removed += statement.execute((thread, key))?;
            }
            Ok(removed)
        })
    }

    /// Removes every value of the thread.
    pub fn delete_all_values(&self, thread: &str) -> Result<(), ThreadError> {
        self.write("deleting values", |connection| {
            let thread = number(connection, thread)?;
            connection
                .prepare_cached("DELETE FROM thread_values WHERE thread = ?1")?
                .execute([thread])?;
            Ok(())
        })
    }

    /// The values of a range, in the order of the keys' bytes.
    pub fn list_values(
        &self,
        thread: &str,
        range: &Range,
    ) -> Result<Vec<(String, String)>, ThreadError> {
        let mut sql = "SELECT key, value FROM thread_values WHERE thread = ?".to_owned();
        let mut bounds: Vec<Value> = Vec::new();
        let mut bound = |condition: &str, key: Cow<'_, str>| {
            sql.push_str(condition);
            bounds.push(Value::Text(key.into_owned()));
        };
        if let Some(prefix) = range.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            bound(" AND key >= ?", prefix.into());
            if let Some(beyond) = after_prefix(prefix) {
                bound(" AND key < ?", beyond.into());
            }
        }
        if let Some(start) = &range.start {
            bound(" AND key >= ?", start.into());
        }
        if let Some(start) = &range.start_after {
            bound(" AND key > ?", start.into());
        }
        if let Some(end) = &range.end {
            bound(" AND key < ?", end.into());
        }
        sql.push_str(if range.reverse { " ORDER BY key DESC" } else { " ORDER BY key" });
        if let Some(limit) = range.limit {
            let _ = write!(sql, " LIMIT {limit}");
        }
        self.read("listing values", |connection| {
            let thread = Value::Integer(number(connection, thread)?);
            let parameters = std::iter::once(&thread).chain(&bounds);
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement
                .query_map(params_from_iter(parameters), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// The first text after all that begin with `prefix`: its last character that has a next one,
/// replaced by that. UTF-8 sorts as its characters do.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        let next = match last {
            char::MAX => continue,
            '\u{d7ff}' => '\u{e000}',
            other => char::from_u32(u32::from(other) + 1)?,
        };
        characters.push(next);
        return Some(characters.into_iter().collect());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::after_prefix;

    #[test]
    fn what_comes_after_a_prefix() {
        let after = |prefix: &str| after_prefix(prefix);
        assert_eq!(after("a"), Some("b".to_owned()));
        assert_eq!(after("a\u{10ffff}"), Some("b".to_owned()));
        assert_eq!(after("\u{d7ff}"), Some("\u{e000}".to_owned()));
        assert_eq!(after("\u{10ffff}\u{10ffff}"), None);
    }
}
