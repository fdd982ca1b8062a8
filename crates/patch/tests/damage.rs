//! Patches that were damaged on their way: the result is what the undamaged patch gives, or a refusal.
#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toolwright_patch::{Damage, PatchError, apply, apply_by_content};

const FILE: &str = "fn less(a: u8, b: u8) -> bool {\n    a < b && b > 0\n}\n\n- item\nend\n";

fn applied(patch: &str) -> Result<(String, Option<Damage>, String), PatchError> {
    let applied = apply_by_content(FILE.as_bytes(), patch)?;
    let summary = applied.summary();
    Ok((String::from_utf8(applied.bytes).unwrap(), applied.damage, summary))
}

#[test]
fn entities_are_read_as_characters_where_only_those_fit() {
    let patch = "@@ -1,3 +1,3 @@\n fn less(a: u8, b: u8) -&gt; bool {\n-    a &lt; b &amp;&amp; b &gt; 0\n+    a &lt;= b\n }\n";
    let (text, damage, summary) = applied(patch).unwrap();
    assert_eq!(text, FILE.replace("a < b && b > 0", "a <= b"));
    assert_eq!(damage, Some(Damage::Entities));
    assert_eq!(
        summary,
        "Applied at line 2. The patch has entities such as `&lt;` where the file has the characters, and was read with the characters."
    );
    // One hunk was not escaped: what an entity that it adds is meant to be is not clear.
    let patch = "@@ -2,2 +2,3 @@\n     a &lt; b &amp;&amp; b &gt; 0\n+    // <\n }\n";
    assert!(matches!(applied(patch), Err(PatchError::StaleContext(_))));
}

#[test]
fn entities_stay_where_they_fit() {
    let file = b"<p>a &amp; b</p>\n";
    let patch = "@@ -1 +1 @@\n-<p>a &amp; b</p>\n+<p>a &lt; b</p>\n";
    let applied = apply_by_content(file, patch).unwrap();
    assert_eq!((applied.bytes.as_slice(), applied.damage), (&b"<p>a &lt; b</p>\n"[..], None));
    // Only added lines have some.
    let applied = apply_by_content(b"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+&lt;\n").unwrap();
    assert_eq!((applied.bytes.as_slice(), applied.damage), (&b"a\n&lt;\n"[..], None));
}

#[test]
fn context_that_has_lost_its_space_is_context() {
    let patch =
        "@@ -1,3 +1,3 @@\nfn less(a: u8, b: u8) -> bool {\n-    a < b && b > 0\n+    a <= b\n}\n";
    let (text, damage, summary) = applied(patch).unwrap();
    assert_eq!(text, FILE.replace("a < b && b > 0", "a <= b"));
    assert_eq!(damage, Some(Damage::LostSpaces));
    assert_eq!(
        summary,
        "Applied at line 2. Some context lines of the patch do not begin with a space, and were read as context."
    );
    // A line that is not in the file may be one that was to be added.
    let patch = patch.replace("}\n", "    more();\n}\n");
    assert!(matches!(applied(&patch), Err(PatchError::UnsignedLine { .. })));
}

#[test]
fn both_are_read_at_once() {
    let patch = "@@ -1,3 +1,3 @@\nfn less(a: u8, b: u8) -&gt; bool {\n-    a &lt; b &amp;&amp; b &gt; 0\n+    a &lt;= b\n}\n";
    let (text, damage, _) = applied(patch).unwrap();
    assert_eq!(text, FILE.replace("a < b && b > 0", "a <= b"));
    assert_eq!(damage, Some(Damage::Both));
}

#[test]
fn the_documented_edit_reads_what_is_written() {
    let patch = "@@ -1,3 +1,3 @@\n fn less(a: u8, b: u8) -&gt; bool {\n-    a &lt; b &amp;&amp; b &gt; 0\n+    a\n }\n";
    assert!(matches!(apply(FILE.as_bytes(), patch), Err(PatchError::StaleContext(_))));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

proptest! {
    /// Of a patch that fits, the damaged one gives the same or nothing.
    #[test]
    fn damage_changes_no_result(
        lines in vec(select(vec!["a", "x < y", "<b>", "&amp;", "&&", "", "  c", "- d", "+ e", "\\f", "@g"]), 1..9),
        at in 0usize..9,
        new in select(vec!["a", "n < m", "&lt;", "", "- z"]),
        is_escaped in any::<bool>(),
        lost in any::<bool>(),
    ) {
        let at = at % lines.len();
        let file = lines.join("\n") + "\n";
        let count = lines.len();
        let mut patch = format!("@@ -1,{count} +1,{count} @@\n");
        for (number, line) in lines.iter().enumerate() {
            if number == at {
                write!(patch, "-{line}\n+{new}\n").unwrap();
            } else {
                writeln!(patch, " {line}").unwrap();
            }
        }
        let Ok(meant) = apply_by_content(file.as_bytes(), &patch) else { return Ok(()) };
        prop_assert_eq!(meant.damage, None);
        let mut damaged = patch.clone();
        if is_escaped {
            damaged = escaped(&damaged);
        }
        if lost {
            let context = |line: &str| line.strip_prefix(' ').filter(|rest| !rest.starts_with(' ')).unwrap_or(line).to_owned();
            damaged = damaged.lines().map(context).collect::<Vec<_>>().join("\n") + "\n";
        }
        if let Ok(applied) = apply_by_content(file.as_bytes(), &damaged) {
            let is_meant = applied.bytes == meant.bytes;
            // Where no old line shows that it was escaped, the entities of an added line are meant.
            let shows = lines.iter().any(|line| line.contains(['<', '>', '&']));
            prop_assert!(is_meant || !shows, "{}", damaged);
        }
    }
}
