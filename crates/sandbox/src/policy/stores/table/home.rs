//! The credential stores below the home directory.

mod agents;
mod person;
mod services;

/// Below the home directory.
pub const STORES: [&str; 411] =
    joined(&[&services::OF_SERVICES, &agents::OF_AGENTS, &person::OF_PERSON]);

/// The lists as one. The compiler counts them.
const fn joined<const COUNT: usize>(lists: &[&[&'static str]]) -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            all[count] = lists[list][index];
            (index, count) = (index + 1, count + 1);
        }
        list += 1;
    }
    assert!(count == COUNT, "the number of the stores");
    all
}
