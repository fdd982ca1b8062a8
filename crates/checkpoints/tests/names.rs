//! Names in texts: nothing that a terminal obeys comes out.

mod support;

use support::{Project, odd};

#[test]
fn a_difference_prints_no_name_that_a_terminal_obeys() {
    let project = Project::new();
    let first = project.take();
    let names: [&[u8]; 4] =
        [b"a\x1b]52;c;eA==\x07", "b\u{202e}txt".as_bytes(), b"c\xc2\x9b2J", b"d\xff\n+forged"];
    for name in names {
        std::fs::write(project.root.path().join(odd(name)), "text\n").expect("written");
    }
    let last = project.take();
    for (from, to) in [(first.id, last.id), (last.id, first.id)] {
        let text = project.checkpoints.diff(from, to, Some(10_000)).expect("compared").text;
        let is_obeyed = |one: char| one != '\n' && toolwright_names::is_unseen(one);
        assert!(!text.chars().any(is_obeyed), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("+forged")), "{text:?}");
        for printed in
            [r#""b/a\033]52;c;eA==\a""#, r#""b/b\342\200\256txt""#, r#""b/d\377\n+forged""#]
        {
            assert!(text.contains(printed), "{text}");
        }
    }
}
