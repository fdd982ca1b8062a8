//! Headers and the lines under them.

use super::*;

#[test]
fn the_documents_own_example_applies() {
    let patch = "--- a/src/auth.ts\n+++ b/src/auth.ts\n@@ -10,3 +10,4 @@\n   const token = jwt.sign(payload, secret);\n+  logger.info(\"Token issued\", { userId: payload.sub });\n   return token;\n";
    let head = "// line\n".repeat(9);
    let file = format!("{head}  const token = jwt.sign(payload, secret);\n  return token;\n}}\n");
    let want = file
        .replace("  return", "  logger.info(\"Token issued\", { userId: payload.sub });\n  return");
    assert_eq!(applied(&file, patch), want);
    for around in ["\n", "\n\n", "```\n", "\n```\nThis adds a line.\n", "\nThis adds a line.\n"] {
        assert_eq!(applied(&file, &format!("{patch}{around}")), want, "{around}");
    }
    assert_eq!(reason(&refused(FILE, patch)), "stale_context", "accepted only when it fits");
}

#[test]
fn every_other_wrong_count_is_refused_with_the_right_header() {
    for (patch, right) in [
        // unequal
        ("@@ -1,3 +1,3 @@\n one\n+x\n two\n", "@@ -1,2 +1,3 @@"),
        ("@@ -1,2 +1,9 @@\n one\n+x\n two\n", "@@ -1,2 +1,3 @@"),
        // too few
        ("@@ -1,1 +1,2 @@\n one\n+x\n two\n", "@@ -1,2 +1,3 @@"),
        ("@@ -1,1 +1,1 @@\n one\n-two\n", "@@ -1,2 +1,1 @@"),
        ("@@ -1,2 +1,3 @@\n one\n+x\n two\n\n three\n+y\n", "@@ -1,4 +1,6 @@"),
        ("@@ -1 +1 @@\n+x\n", "@@ -0,0 +1,1 @@"),
        ("@@ -2 +1 @@\n-two\n", "@@ -2,1 +0,0 @@"),
        // equal, but not the last hunk
        ("@@ -1,3 +1,4 @@\n one\n+x\n two\n@@ -5 +6 @@\n-five\n+5\n", "@@ -1,2 +1,3 @@"),
        // nothing shows where it belongs
        ("@@ -5,1 +5,2 @@\n+x\n", "@@ -4,0 +5,1 @@"),
    ] {
        let error = refused(FILE, patch);
        assert_eq!(reason(&error), "wrong_counts", "{patch}");
        assert_eq!(detail(&error, "rightHeader"), Some(text(right)), "{patch}");
    }
}

#[test]
fn the_right_header_is_right() {
    let error = refused(FILE, "@@ -1,1 +1,1 @@\n one\n-two\n+2\n+22\n three\n");
    let Some(Detail::Text(header)) = detail(&error, "rightHeader") else { panic!("{error}") };
    let patch = format!("{header}\n one\n-two\n+2\n+22\n three\n");
    assert_eq!(applied(FILE, &patch), FILE.replace("two", "2\n22"));
}

#[test]
fn an_unsigned_line_is_named() {
    let error = refused(FILE, "@@ -1,3 +1,3 @@\n one\n-two\n+2\nthree\n");
    assert_eq!(reason(&error), "unsigned_line");
    assert!(error.to_string().contains("line 5 of the patch, \"three\""), "{error}");
}

#[test]
fn a_header_without_lines_is_refused() {
    all_refused("empty_hunk", FILE, &["@@ -1,3 +1,3 @@\n", "@@ -1,3 +1,3 @@\n\n\n```\n"]);
}
