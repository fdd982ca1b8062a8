//! Names as git and file systems compare them, and as a reader sees them: every input has an answer, and the
//! answers agree.
#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use toolwright_fs::GitBorder;
use toolwright_git::name::{Mark, holds_git_name, is_allowed_tree_entry, is_git_directory_name};
use toolwright_names::{is_unseen, printable};

fuzz_target!(|name: &[u8]| {
    let is_git = is_git_directory_name(name);
    assert!(!(is_git && is_allowed_tree_entry(name)));
    assert_eq!(is_git, is_git_directory_name(&name.to_ascii_uppercase()));
    assert_eq!(Mark::of(name), Mark::of(&name.to_ascii_lowercase()));
    let path = Path::new(OsStr::from_bytes(name));
    let holds = path.iter().any(|part| is_git_directory_name(part.as_bytes()));
    assert_eq!(holds_git_name(path), holds);
    assert_eq!(GitBorder::Closed.rule_of_path(path).is_some(), holds);
    assert!(!printable(name).chars().any(is_unseen));
});
