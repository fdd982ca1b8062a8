//! What was worked out last, kept for the next search: an agent asks for the same pattern in one
//! place after the other, below the same ignore files.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many values as there is room for. The one that was used longest ago gives way.
pub(crate) struct Kept<K, V> {
    entries: Mutex<Vec<Entry<K, V>>>,
    room: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    takes: usize,
}

impl<K, V: Clone> Kept<K, V> {
    pub(crate) const fn new(room: usize) -> Self {
        Self { entries: Mutex::new(Vec::new()), room }
    }

    pub(crate) fn find(&self, is_it: impl Fn(&K) -> bool) -> Option<V> {
        let mut entries = self.entries();
        let at = entries.iter().position(|entry| is_it(&entry.key))?;
        let entry = entries.remove(at);
        let value = entry.value.clone();
        entries.push(entry);
        Some(value)
    }

    /// Keeps a value that takes so much of the room.
    pub(crate) fn keep(&self, key: K, value: V, takes: usize)
    where
        K: PartialEq,
    {
        if takes > self.room {
            return;
        }
        let mut entries = self.entries();
        // Two searches at once may both have worked it out.
        entries.retain(|entry| entry.key != key);
        let mut all = takes + entries.iter().map(|entry| entry.takes).sum::<usize>();
        while all > self.room && !entries.is_empty() {
            all -= entries.remove(0).takes;
        }
        entries.push(Entry { key, value, takes });
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry<K, V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let kept = Kept::new(4);
        kept.keep("a", 1, 2);
        kept.keep("b", 2, 1);
        kept.keep("c", 3, 1);
        assert_eq!(kept.find(|key| *key == "a"), Some(1));
        kept.keep("d", 4, 2);
        assert_eq!(kept.find(|key| *key == "b"), None);
        assert_eq!(kept.find(|key| *key == "c"), None);
        assert_eq!(kept.find(|key| *key == "a"), Some(1));
        kept.keep("a", 5, 2);
        kept.keep("e", 6, 5);
        assert_eq!(kept.find(|key| *key == "e"), None);
        assert_eq!(kept.find(|key| *key == "a"), Some(5));
        assert_eq!(kept.find(|key| *key == "d"), Some(4));
    }
}
