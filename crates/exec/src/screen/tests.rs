use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn shown(input: &str) -> String {
    String::from_utf8(text(input.as_bytes()).into_owned()).expect("text")
}

#[test]
fn text_that_moves_nothing_is_the_same_memory() {
    for input in ["", "a\n\n\tb", "a\r\nb\r\n", "« é 漢字 😀 »", "a\0b\u{7}\u{b}\u{c}\n"] {
        assert!(matches!(text(input.as_bytes()), Cow::Borrowed(_)), "{input:?}");
    }
}

#[test]
fn a_line_is_what_was_written_over_it_last() {
    assert_eq!(shown("10%\r50%\r100%\ndone\n"), "100%\ndone\n");
    assert_eq!(shown("loading…\r\x1b[Kdone\n"), "done\n");
    assert_eq!(shown("abcdef\rxy"), "xycdef");
    assert_eq!(shown("ab\x08\x08c\n"), "cb\n");
    assert_eq!(shown("漢字\rab\n"), "ab字\n");
    assert_eq!(shown("ab 12345678\tb\r\x1b[Kab\x1b[20Gxyz\n"), "ab                 xyz\n");
    // Never longer than what came.
    assert_eq!(shown("a\tb\rxyz\n"), "xyz b\n");
    assert_eq!(shown("50%\r"), "50%");
    assert_eq!(shown("a\r\r\nb\r\n"), "a\r\nb\r\n");
}

#[test]
fn colours_titles_and_links_leave_nothing() {
    assert_eq!(
        shown("\x1b[1;31merror\x1b[0m: \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\n"),
        "error: link\n"
    );
    assert_eq!(shown("\x1b]0;title\x07\x1bP1$r0m\x1b\\\x1b(B\x1b[?25lx\x1b[?25h"), "x");
    assert_eq!(shown("a\u{9b}31mb\u{85}"), "a31mb");
}

#[test]
fn lines_above_are_drawn_again() {
    let list = "a …\nb …\n\x1b[2A\x1b[2Ka done\n\x1b[2Kb done\n";
    assert_eq!(shown(list), "a done\nb done\n");
    assert_eq!(shown("kept\nx\ny\n\x1b[2A\x1b[J"), "kept\n");
    assert_eq!(shown("x\ny\n\x1b[1A\x1b[1A\x1b[Jz\n"), "z\n");
    let many: String = (0..100).map(|n: u8| n.to_string() + "\n").collect();
    assert_eq!(shown(&format!("{many}\x1b[100A0!\x1b[100B")), many.replacen("0\n", "0!\n", 1));
}

#[test]
fn a_cleared_screen_shows_what_came_after() {
    assert_eq!(shown("one\n\x1b[H\x1b[2J\x1b[3Jtwo\n"), "two\n");
    assert_eq!(shown("one\n\x1bctwo\n"), "two\n");
    // What has left the screen at the top is still to be seen.
    let many: String = (0..100).map(|n: u8| n.to_string() + "\n").collect();
    let seen = shown(&format!("{many}\x1b[H\x1b[2Jend\n"));
    assert!(seen.starts_with("0\n1\n") && seen.ends_with("76\nend\n"), "{seen}");
}

#[test]
fn another_screen_is_gone_when_its_program_has_ended() {
    let editor = "\x1b[?1049h\x1b[2J\x1b[1;1Htext\x1b[2;1H~     \x1b[24;1Hstatus";
    assert_eq!(shown(&format!("$ vim\n{editor}\x1b[?1049l$ \n")), "$ vim\n$ \n");
    let killed = shown(&format!("$ vim\n{editor}"));
    assert!(
        killed.starts_with("$ vim\n\ntext\n~\n") || killed.starts_with("$ vim\ntext\n~\n"),
        "{killed}"
    );
    assert!(killed.ends_with("status"), "{killed}");
}

#[test]
fn margins_lines_and_characters_are_moved() {
    // The progress bar of apt: all but the last line scrolls.
    let bar = "a\n\x1b7\x1b[0;23r\x1b8\x1b[1A\n\x1b7\x1b[24;1H[ 50%]\x1b8b\n\x1b7\x1b[0;24r\x1b[24;1H\x1b[K\x1b8\x1b[J";
    assert_eq!(shown(bar), "a\nb\n");
    assert_eq!(shown("a\nc\n\x1b[1A\x1b[Lb\r\x1b[2B"), "a\nb\nc\n");
    assert_eq!(shown("a\nb\nc\n\x1b[2A\x1b[M"), "a\nc\n");
    assert_eq!(shown("abcd\r\x1b[2Pxx\x1b[3G\x1b[1@"), "xx");
    assert_eq!(shown("bd\x1b[D\x1b[@c\x1b[1G\x1b[@a"), "abcd");
    assert_eq!(shown("abc\x1b[2D\x1b[X"), "a c");
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let (mut screen, mut text) = (Screen::default(), Vec::new());
    let pieces = [
        "\x1b[500@x\x1b[D",
        "\x1b[9999L",
        "\x1b[9999;9999Hx",
        "\x1b[9999S",
        "\x1bP",
        "\x1b]0;",
        "x\x1b[1000C",
    ];
    for piece in pieces {
        for _ in 0..3000 {
            screen.push(piece.as_bytes(), &mut text);
        }
        screen.push(b"\x1b\\", &mut text);
        assert!(screen.size() < 300 * 4200, "{piece:?}: {}", screen.size());
    }
    screen.push(&vec![b'x'; 5 << 20], &mut text);
    assert!(screen.size() < 300 * 4200);
    assert!(text.len() >= 5 << 20);
}

/// Characters, and what moves the cursor.
fn piece() -> impl Strategy<Value = String> {
    let number = || {
        prop_oneof![
            Just(String::new()),
            (0u32..30).prop_map(|n| n.to_string()),
            Just("999".to_owned())
        ]
    };
    prop_oneof![
        4 => "[a-z 漢é😀\t]{1,12}",
        2 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => prop_oneof![Just("\r"), Just("\x08"), Just("\0"), Just("\x07"), Just("\u{85}"), Just("\u{9b}")].prop_map(str::to_owned),
        4 => (number(), number(), "[A-HJ-MPSTX@a-fdhlmrsu`]").prop_map(|(a, b, end)| format!("\x1b[{a};{b}{end}")),
        1 => "[78DEMc]".prop_map(|end| format!("\x1b{end}")),
        1 => prop_oneof![Just("\x1b[?1049h"), Just("\x1b[?1049l"), Just("\x1b]0;t\x07"), Just("\x1b("), Just("\x1b[")].prop_map(str::to_owned),
    ]
}

fn cases() -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    400 * factor.unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn what_is_shown_has_no_escapes_and_is_never_longer(pieces in vec(piece(), 0..80)) {
        let input = pieces.concat();
        let seen = shown(&input);
        prop_assert!(!draws(format!("{seen}\n").as_bytes()), "{seen:?} of {input:?}");
        prop_assert!(seen.len() <= input.len(), "{} of {}: {seen:?} of {input:?}", seen.len(), input.len());
        prop_assert_eq!(shown(&seen), seen);
    }

    #[test]
    fn the_pieces_in_which_it_comes_decide_nothing(pieces in vec(piece(), 0..60), size in 1usize..9) {
        let input = pieces.concat();
        let (mut screen, mut whole) = (Screen::default(), Vec::new());
        for part in input.as_bytes().chunks(size) {
            screen.push(part, &mut whole);
        }
        screen.finish(&mut whole);
        let mut once = Vec::new();
        let mut screen = Screen::default();
        screen.push(input.as_bytes(), &mut once);
        screen.finish(&mut once);
        prop_assert_eq!(whole, once);
    }

    #[test]
    fn text_comes_through_a_screen_as_it_is(
        text in vec(prop_oneof![Just("a"), Just("é"), Just("漢"), Just("\t"), Just(" "), Just("\n"), Just("\r\n"), Just("\0")], 0..300),
        long in 0usize..1500,
    ) {
        let input = format!("{}{}", "x\t".repeat(long), text.concat());
        let (mut screen, mut seen) = (Screen::default(), Vec::new());
        screen.push(input.as_bytes(), &mut seen);
        screen.finish(&mut seen);
        prop_assert_eq!(String::from_utf8_lossy(&seen), input);
    }

    #[test]
    fn any_bytes_end(bytes in vec(any::<u8>(), 0..2000)) {
        let seen = text(&bytes).into_owned();
        prop_assert!(seen.len() <= String::from_utf8_lossy(&bytes).len());
        prop_assert!(!seen.contains(&0x1b));
    }
}
