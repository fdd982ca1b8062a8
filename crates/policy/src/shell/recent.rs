//! The lines that were parsed last: one call asks several times what its line would run, for its
//! capabilities, its rules, its watchdog and its prompt.

use std::cell::RefCell;
use std::rc::Rc;

use super::CommandLine;
use super::parse;

/// So many are kept, for each thread: calls run beside one another.
const MOST: usize = 4;

thread_local! {
    static RECENT: RefCell<Vec<(String, Rc<CommandLine>)>> = const { RefCell::new(Vec::new()) };
}

/// Takes a command line apart, or finds it among the last ones. See [`parse`].
#[must_use]
pub fn parse_once(line: &str) -> Rc<CommandLine> {
    RECENT.with_borrow_mut(|recent| {
        if let Some(at) = recent.iter().position(|(known, _)| known == line) {
            return Rc::clone(&recent[at].1);
        }
        let parsed = Rc::new(parse(line));
        if recent.len() >= MOST {
            recent.remove(0);
        }
        recent.push((line.to_owned(), Rc::clone(&parsed)));
        parsed
    })
}
