//! What models write around a patch.

use super::*;

const BODY: &str = "*** Update File: a.txt\n@@\n-one\n+1\n";

#[test]
fn decorations_with_one_reading_are_accepted() {
    for patch in [
        format!("*** Begin Patch\n{BODY}*** End Patch"),
        format!("*** Begin Patch ***\n{BODY}*** End Patch ***\n"),
        format!("***Begin Patch***\n{BODY}***End Patch***\n"),
        format!("*** begin patch\n{}*** END PATCH\n", BODY.replace("Update File", "update file")),
        format!("```diff\n*** Begin Patch\n{BODY}*** End Patch\n```\n"),
        format!(
            "Here is the patch:\n\n```\n*** Begin Patch\n{BODY}*** End Patch\n```\nIt replaces one.\n"
        ),
        format!("apply_patch <<'EOF'\n*** Begin Patch\n{BODY}*** End Patch\nEOF\n"),
        format!("$ apply_patch << \"PATCH\"\n*** Begin Patch\n{BODY}*** End Patch\nPATCH"),
        format!("<<'EOF'\n*** Begin Patch\n{BODY}*** End Patch\nEOF"),
        format!("\u{feff}*** Begin Patch\n{BODY}*** End Patch\n"),
        format!("\n\n  *** Begin Patch\n{BODY}*** End Patch\n\n"),
        format!("*** Begin Patch\n\n{BODY}\n*** End Patch\n"),
        format!("*** Begin Patch\n{BODY}*** End Patch\n").replace('\n', "\r\n"),
        // What is around the patch says that it is complete.
        format!("```\n*** Begin Patch\n{BODY}```\n"),
        format!("apply_patch <<'EOF'\n*** Begin Patch\n{BODY}EOF\n"),
        // It does not say that it has an end.
        BODY.to_owned(),
        format!("{BODY}*** End Patch\n"),
        BODY.replace("a.txt", "a.txt ***"),
    ] {
        assert_eq!(changes(&patch), [updated("a.txt")], "{patch}");
        assert_eq!(applied("one\ntwo\n", &patch), "1\ntwo\n", "{patch}");
    }
}

#[test]
fn a_patch_that_may_be_cut_off_is_refused() {
    for body in
        ["", BODY, "*** Delete File: b\n", "*** Add File: b\n+text\n", "*** Add File: b\n+te"]
    {
        assert_eq!(unread(&format!("*** Begin Patch\n{body}")), "unfinished", "{body}");
    }
}

#[test]
fn a_command_that_does_more_is_refused() {
    for command in [
        "cd src && apply_patch <<'EOF'",
        "cd src",
        "cat <<'EOF' > change.patch",
        "FOO=1 apply_patch <<'EOF'",
        "apply_patch <<'EOF' && rm b",
    ] {
        let patch = format!("{command}\n*** Begin Patch\n{BODY}*** End Patch\nEOF\n");
        assert_eq!(unread(&patch), "command", "{command}");
    }
}

#[test]
fn a_second_patch_is_refused() {
    let one = begun(BODY);
    let other = one.replace("a.txt", "b.txt");
    assert_eq!(unread(&format!("{one}{other}")), "second_patch");
    assert_eq!(unread(&format!("{one}Or:\n{other}")), "second_patch");
    assert_eq!(unread(&format!("{one}*** Delete File: b.txt\n")), "second_patch");
}

#[test]
fn lines_of_a_patch_with_crlf_do_not_bring_their_ends() {
    let patch = begun("*** Add File: b\n+a\n").replace('\n', "\r\n");
    assert_eq!(changes(&patch), [created("b", "a\n")]);
    let patch = begun("*** Update File: a\n@@\n-one\n+1\n+2\n").replace('\n', "\r\n");
    assert_eq!(applied("one\ntwo\n", &patch), "1\n2\ntwo\n");
    assert_eq!(applied("one\r\ntwo\r\n", &patch.replace('\r', "")), "1\r\n2\r\ntwo\r\n");
}
