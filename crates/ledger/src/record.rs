//! What a ledger has noted, as a journal keeps it: a JSON list of `[number, path, hash]`.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::lines::Hash;

/// The text for a row. A path that is not UTF-8 is left out: as one that was never read.
pub(crate) fn write<'a>(
    noted: impl Iterator<Item = (&'a PathBuf, u64, Option<Hash>)>,
) -> Option<String> {
    let list: Vec<Value> = noted
        .filter_map(|(path, used, hash)| {
            Some(json!([used, path.to_str()?, hash.map(Hash::to_hex)]))
        })
        .collect();
    (!list.is_empty()).then(|| Value::from(list).to_string())
}

/// What the last record of each path says. What is no record is passed over.
pub(crate) fn read<'a>(
    records: impl IntoIterator<Item = &'a str>,
) -> HashMap<PathBuf, (u64, Option<Hash>)> {
    let mut files: HashMap<PathBuf, (u64, Option<Hash>)> = HashMap::new();
    for record in records {
        let Ok(Value::Array(list)) = serde_json::from_str(record) else { continue };
        for one in &list {
            let (Some(used), Some(path)) = (one[0].as_u64(), one[1].as_str()) else { continue };
            let hash = one[2].as_str().and_then(Hash::from_hex);
            let known = files.entry(PathBuf::from(path)).or_insert((used, hash));
            if used >= known.0 {
                *known = (used, hash);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_record_of_a_path_counts() {
        let path = PathBuf::from("/a b\n");
        let text = |used: u64, hash: Option<Hash>| {
            write([(&path, used, hash)].into_iter()).unwrap_or_default()
        };
        let (old, new) = (text(1, Some(Hash::of(b"1"))), text(2, Some(Hash::of(b"2"))));
        let expected = HashMap::from([(path.clone(), (2, Some(Hash::of(b"2"))))]);
        assert_eq!(read([&*old, &*new]), expected);
        assert_eq!(read([&*new, &*old, "no JSON", "[[1]]", "{}"]), expected);
        assert_eq!(read([&*text(3, None), &*new])[&path], (3, None));
        assert_eq!(write(std::iter::empty()), None);
    }
}
