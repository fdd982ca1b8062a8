//! Values by key, against a map in memory.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a failed unwrap is a failed test"
)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use toolwright_thread_store::{Options, Range, Store};

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<(String, String)>),
    Delete(Vec<String>),
    Read(Vec<String>),
    List(Range),
    Clear,
}

/// Few keys that share beginnings, with what sorts in surprising places.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,3}",
        "[a\u{7f}\u{80}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{1,2}",
        Just("a\0b".to_owned()),
        Just("a%_*".to_owned()),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    let bound = || prop::option::of(key());
    (bound(), bound(), bound(), bound(), any::<bool>(), prop::option::of(1u32..4)).prop_map(
        |(prefix, start, start_after, end, reverse, limit)| Range {
            prefix,
            start,
            start_after,
            end,
            reverse,
            limit,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(key(), 0..4);
    prop_oneof![
        6 => prop::collection::vec((key(), "[a-z\0é]{0,3}"), 0..4).prop_map(Step::Put),
        2 => keys().prop_map(Step::Delete),
        2 => keys().prop_map(Step::Read),
        6 => range().prop_map(Step::List),
        1 => Just(Step::Clear),
    ]
}

fn listed(model: &BTreeMap<String, String>, range: &Range) -> Vec<(String, String)> {
    let mut values: Vec<_> = model
        .iter()
        .filter(|(key, _)| range.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix)))
        .filter(|(key, _)| range.start.as_ref().is_none_or(|start| *key >= start))
        .filter(|(key, _)| range.start_after.as_ref().is_none_or(|start| *key > start))
        .filter(|(key, _)| range.end.as_ref().is_none_or(|end| *key < end))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if range.reverse {
        values.reverse();
    }
    values.truncate(range.limit.map_or(usize::MAX, |limit| limit as usize));
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn as_a_map_does(steps in prop::collection::vec(step(), 1..30)) {
        let store = Store::open(&"memory:".parse().unwrap(), Options::default()).unwrap();
        store.open_thread("t", "f").unwrap();
        store.open_thread("other", "f").unwrap();
        let foreign = vec![("a".to_owned(), "foreign".to_owned())];
        store.write_values("other", &foreign).unwrap();
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(entries) => {
                    store.write_values("t", &entries).unwrap();
                    model.extend(entries);
                }
                Step::Delete(keys) => {
                    let expected = keys.iter().filter(|key| model.remove(*key).is_some()).count();
                    prop_assert_eq!(store.delete_values("t", &keys).unwrap(), expected);
                }
                Step::Read(keys) => {
                    let expected: BTreeMap<_, _> = keys
                        .iter()
                        .filter_map(|key| model.get_key_value(key))
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect();
                    let values = store.read_values("t", &keys).unwrap();
                    prop_assert_eq!(values, expected.into_iter().collect::<Vec<_>>());
                }
                Step::List(range) => {
                    prop_assert_eq!(store.list_values("t", &range).unwrap(), listed(&model, &range));
                }
                Step::Clear => {
                    store.delete_all_values("t").unwrap();
                    model.clear();
                }
            }
        }
        prop_assert_eq!(store.list_values("other", &Range::default()).unwrap(), foreign);
    }
}
