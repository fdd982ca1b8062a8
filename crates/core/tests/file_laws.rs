//! The laws of `read`, `write` and `edit`, over random files and limits.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::target::{self, Purpose, Target};
use toolwright_core::code::Code;
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::failure::Unfinished;
use toolwright_core::file::{File, Publish};
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::write::WriteInput;
use toolwright_fs::{DirectoryGrant, LineRange};
use toolwright_policy::Variables;

static NEVER: AtomicBool = AtomicBool::new(false);
const PUBLISH: Publish = Publish {
    fsync: false,
    allow_in_place: false,
    wait: Duration::from_secs(9),
    deny_write: None,
    notebooks: false,
};

struct Fixture {
    _made: TempDir,
    path: PathBuf,
    root: DirectoryGrant,
}

impl Fixture {
    /// `file` with this content, a directory, and a protected file.
    fn new(content: &str) -> Self {
        let made = tempfile::tempdir().unwrap();
        let path = made.path().canonicalize().unwrap();
        fs::create_dir_all(path.join(".git/hooks")).unwrap();
        fs::write(path.join(".git/hooks/a"), "protected").unwrap();
        fs::write(path.join("file"), content).unwrap();
        Self { _made: made, root: DirectoryGrant::new("rootDir", &path), path }
    }

    fn open(&self) -> Target {
        let set = json!({ "fs": { "read": ["{workspace}/**"] } });
        let request = PolicyRequest {
            variables: Variables { workspace: vec![self.path.clone()], ..Variables::default() },
            names: Some(vec![GrantedName { path: self.path.clone(), written: self.path.clone() }]),
            conjunction: vec![vec![Requirements { source: "test".to_owned(), set }]],
            ..PolicyRequest::default()
        };
        let policy = Arc::new(Policy::compile(&request, None).unwrap());
        target::open(&policy, "file", Purpose::Read, &NEVER).unwrap()
    }

    /// Every file with its content, temporary ones too.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let directories = [self.path.clone(), self.path.join(".git/hooks")];
        let entries = directories.iter().flat_map(|directory| fs::read_dir(directory).unwrap());
        let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Option<Code> {
    match result {
        Ok(_) => None,
        Err(Unfinished::Failed(failure)) => Some(failure.code),
        Err(Unfinished::Cancelled | Unfinished::Stopped { .. }) => panic!("cancelled"),
    }
}

/// Text with characters of every length, and no NUL, which would make it binary.
fn text() -> impl Strategy<Value = String> {
    "[a-c\néß€漢😀]{0,40}"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_range_never_splits_a_character_and_the_ranges_are_the_file(
        text in text(),
        limit in 4_u64..20,
    ) {
        let fixture = Fixture::new(&text);
        let target = fixture.open();
        let (mut whole, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let range = target.read_range(offset, limit, &NEVER).unwrap();
            prop_assert!(range.bytes.len() as u64 <= limit && !range.is_lossy);
            prop_assert!(std::str::from_utf8(&range.bytes).is_ok(), "{:?}", range.bytes);
            prop_assert_eq!(range.offset, offset);
            prop_assert!(range.next_offset.is_none_or(|after| after > offset));
            whole.extend(range.bytes);
            next = range.next_offset;
        }
        prop_assert_eq!(whole, text.into_bytes());
    }

    #[test]
    fn lines_never_split_a_character(text in text(), skipped in 0_usize..4, limit in 4_u64..20) {
        let fixture = Fixture::new(&text);
        let lines = LineRange { first: skipped as u64 + 1, count: 9, limit };
        let lines = ReadLinesInput { root: &fixture.root, path: "file", lines }.run(&NEVER).unwrap();
        let read = String::from_utf8(lines.bytes).expect("whole characters");
        prop_assert!(read.len() as u64 <= limit);
        let start: usize =
            text.split_inclusive('\n').take(skipped).map(str::len).sum();
        prop_assert!(text[start..].starts_with(&read), "{:?} of {:?}", read, text);
    }

    #[test]
    fn a_file_is_read_whole_up_to_the_limit_and_not_beyond(text in text()) {
        let fixture = Fixture::new(&text);
        let size = text.len() as u64;
        for limit_bytes in [size.saturating_sub(1), size, size + 1] {
            let input =
                ReadInput { root: &fixture.root, path: "file", limit_bytes, text_only: true };
            let read = input.run(&NEVER);
            if limit_bytes < size {
                prop_assert_eq!(code(read), Some(Code::FileTooLarge));
            } else {
                prop_assert_eq!(read.unwrap(), text.as_bytes());
            }
        }
    }

    #[test]
    fn a_write_is_whole_or_nothing(
        old in text(),
        new in text(),
        slack in -1_i64..2,
        path in prop_oneof![
            Just("file"), Just("new"), Just("sub/new"), Just(".git"), Just(".git/hooks/a"),
            Just("../file"), Just("file/new"), Just(""),
        ],
    ) {
        let fixture = Fixture::new(&old);
        let before = fixture.files();
        let limit_bytes = (new.len() as u64).saturating_add_signed(slack);
        let file = File::Below { root: &fixture.root, path };
        let input = WriteInput { file, content: &new, limit_bytes, publish: &PUBLISH };
        let is_writable = ["file", "new", "sub/new"].contains(&path);
        let written = code(input.run(&NEVER));
        if limit_bytes < new.len() as u64 {
            prop_assert_eq!(written, Some(Code::ContentTooLarge));
        } else {
            prop_assert_eq!(written.is_none(), is_writable, "{}: {:?}", path, written);
        }
        if written.is_none() {
            prop_assert_eq!(fs::read(fixture.path.join(path)).unwrap(), new.into_bytes());
        }
        let mut after = fixture.files();
        if written.is_none() && path != "sub/new" {
            // Nothing else has changed, and no temporary file is left.
            prop_assert!(after.remove(&fixture.path.join(path)).is_some());
            let mut before = before;
            before.remove(&fixture.path.join(path));
            prop_assert_eq!(after, before);
        } else {
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn an_edit_makes_its_one_change_or_none(
        head in "[a-c\n]{0,10}",
        tail in "[a-c\n]{0,10}",
        new in "[d-f]{1,6}",
        copies in 0_usize..3,
        slack in -1_i64..2,
    ) {
        let text = format!("{head}{}{tail}", "x".repeat(copies));
        let fixture = Fixture::new(&text);
        let expected = text.replacen('x', &new, 1);
        let largest = expected.len().max(text.len()).max(new.len()) as u64;
        let limit_bytes = largest.saturating_add_signed(slack);
        let file = File::Below { root: &fixture.root, path: "file" };
        let change = Change::Replacement { old: "x", new: &new, all: false };
        let edited = code(EditInput { file, change, limit_bytes, publish: &PUBLISH }.run(&NEVER));
        let fits = limit_bytes >= largest;
        match copies {
            1 => prop_assert_eq!(edited.is_none(), fits, "{:?}", edited),
            _ if !fits => prop_assert!(edited.is_some()),
            0 => prop_assert_eq!(edited, Some(Code::EditNoMatch)),
            _ => prop_assert_eq!(edited, Some(Code::EditAmbiguous)),
        }
        let now = fs::read_to_string(fixture.path.join("file")).unwrap();
        prop_assert_eq!(now, if edited.is_none() { expected } else { text });
    }
}
