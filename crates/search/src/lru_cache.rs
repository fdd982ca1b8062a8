//! A small cache between searches: an agent searches for the same pattern in one directory after
//! the other, below the same ignore files.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A cache that evicts the least recently used values.
///
/// The `lru` crate counts entries. This one weighs them, because ignore files differ in size a
/// thousandfold. With at most some dozens of entries a linear search is fast enough.
pub(crate) struct LruCache<K, V> {
    /// The most recently used one is the last.
    entries: Mutex<Vec<Entry<K, V>>>,
    capacity: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    weight: usize,
}

impl<K, V: Clone> LruCache<K, V> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { entries: Mutex::new(Vec::new()), capacity }
    }

    pub(crate) fn get(&self, is_key: impl Fn(&K) -> bool) -> Option<V> {
        let mut entries = self.entries();
        let at = entries.iter().position(|entry| is_key(&entry.key))?;
        let entry = entries.remove(at);
        let value = entry.value.clone();
        entries.push(entry);
        Some(value)
    }

    /// A value that weighs more than the whole capacity is not stored.
    pub(crate) fn insert(&self, key: K, value: V, weight: usize)
    where
        K: PartialEq,
    {
        if weight > self.capacity {
            return;
        }
        let mut entries = self.entries();
        // Two searches at the same time may both have made the value.
        entries.retain(|entry| entry.key != key);
        let mut total = weight + entries.iter().map(|entry| entry.weight).sum::<usize>();
        while total > self.capacity && !entries.is_empty() {
            total -= entries.remove(0).weight;
        }
        entries.push(Entry { key, value, weight });
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry<K, V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_evicted() {
        let cache = LruCache::new(4);
        cache.insert("a", 1, 2);
        cache.insert("b", 2, 1);
        cache.insert("c", 3, 1);
        assert_eq!(cache.get(|key| *key == "a"), Some(1));
        cache.insert("d", 4, 2);
        assert_eq!(cache.get(|key| *key == "b"), None);
        assert_eq!(cache.get(|key| *key == "c"), None);
        assert_eq!(cache.get(|key| *key == "a"), Some(1));
        cache.insert("a", 5, 2);
        cache.insert("e", 6, 5);
        assert_eq!(cache.get(|key| *key == "e"), None);
        assert_eq!(cache.get(|key| *key == "a"), Some(5));
        assert_eq!(cache.get(|key| *key == "d"), Some(4));
    }
}
