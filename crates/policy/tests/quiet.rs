//! The shell parser panics at some lines. That is an answer like any other, and nobody sees it.

use std::panic::catch_unwind;
use std::panic::set_hook;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use toolwright_policy::shell::parse;

static PRINTED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_line_that_the_parser_gives_up_on_is_refused_without_a_word() {
    set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::Relaxed);
    }));
    let parsed = parse("$(&(<<E)\nE");
    assert_eq!(parsed.unparseable.as_deref(), Some("the parser gave up on it"));
    assert!(parsed.commands.iter().all(|command| command.restricted.is_some()));
    assert_eq!(PRINTED.load(Ordering::Relaxed), 0);
    // The panics of others are theirs to show.
    assert!(catch_unwind(|| panic!("another one")).is_err());
    assert_eq!(PRINTED.load(Ordering::Relaxed), 1);
}
