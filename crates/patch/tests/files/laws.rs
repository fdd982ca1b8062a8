//! Laws for patches of several files, checked with random ones.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Lines of both formats, right and damaged, in any order.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[ +-][ab}]{0,2}",
        4 => select(vec![
            "*** Begin Patch", "*** End Patch", "*** Update File: a", "*** Update File: b",
            "*** Add File: c", "*** Delete File: d", "*** Move to: e", "*** End of File", "***",
            "@@", "@@ a", "@@ }", "@@ -1 +1 @@", "@@ -1,2 +1,3 @@ b", "", "```", "EOF",
            "--- a/f", "+++ b/f", "--- /dev/null", "+++ /dev/null", "diff --git a/g b/g",
            "new file mode 100644", "deleted file mode 100644", "rename from g", "rename to h",
            "\\ No newline at end of file", "apply_patch <<'EOF'",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,12}\r?",
    ]
}

fn check_error(error: &PatchError) -> Result<(), TestCaseError> {
    prop_assert!(error.to_string().len() <= 1_500, "{}", error);
    prop_assert!(!reason(error).is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_taken(lines in vec(line(), 0..24), enveloped in any::<bool>(), file in "([ab} ]{0,2}\r?\n){0,8}[ab]?") {
        let text = lines.join("\n");
        let text = if enveloped { begun(&format!("*** Update File: z\n@@\n{text}\n")) } else { text };
        match parse_patch(&text) {
            Ok(files) => {
                prop_assert!(!files.is_empty());
                for one in &files {
                    match one.apply(file.as_bytes()) {
                        Ok(new) => prop_assert!(new.bytes.len() <= file.len() + 2 * text.len() + 2),
                        Err(error) => check_error(&error)?,
                    }
                }
            }
            Err(error) => check_error(&error)?,
        }
        for mode in [DiffMode::Update, DiffMode::Create] {
            if let Err(error) = apply_diff(file.as_bytes(), &text, mode) {
                check_error(&error)?;
            }
        }
    }

    #[test]
    fn diffs_of_several_files_give_each_its_new_text(
        pairs in vec((vec("[a-e]{0,2}", 0..12), vec("[a-e]{0,2}", 0..12)), 1..5),
        context in 0_usize..4,
    ) {
        let text = |lines: &[String]| lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(old, new)| (text(old), text(new))).filter(|(old, new)| old != new).collect();
        prop_assume!(!pairs.is_empty());
        let mut patch = String::new();
        for (number, (old, new)) in pairs.iter().enumerate() {
            let diff = diffy::DiffOptions::new().set_context_len(context).create_patch(old, new).to_string();
            let body = diff.split_once("@@").map(|(_, rest)| format!("@@{rest}")).unwrap();
            let name = |letter: char, text: &str| match text {
                "" => "/dev/null".to_owned(),
                _ => format!("{letter}/dir {number}/file"),
            };
            let _ = write!(patch, "--- {}\n+++ {}\n{body}", name('a', old), name('b', new));
        }
        let files = parsed(&patch);
        prop_assert_eq!(files.len(), pairs.len());
        for (number, (file, (old, new))) in files.iter().zip(&pairs).enumerate() {
            prop_assert_eq!(&file.path, &format!("dir {number}/file"));
            let expected = if old.is_empty() {
                FileChange::Create { content: new.clone() }
            } else if new.is_empty() {
                FileChange::Delete
            } else {
                FileChange::Update { move_to: None }
            };
            prop_assert_eq!(&file.change, &expected);
            let result = file.apply(old.as_bytes()).map(|new| String::from_utf8(new.bytes).unwrap());
            prop_assert_eq!(result.as_ref(), Ok(new), "{}", patch);
        }
    }
}
