//! Large files of a command.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolwright_git::directory::Directory;
use toolwright_git::incoming::{Bound, Bounds, Reason};
use toolwright_git::lfs::LargeFiles;

fn open(path: &Path) -> Directory {
    Directory::open(&path.canonicalize().unwrap()).unwrap()
}

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn place(git: &Path, name: &str) -> PathBuf {
    git.join("lfs/objects").join(&name[..2]).join(&name[2..4]).join(name)
}

fn plant(git: &Path, name: &str, content: &[u8]) {
    let path = place(git, name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn large_files_come_back_under_their_hash() {
    let directory = tempfile::tempdir().unwrap();
    let (person, command) = (directory.path().join("person"), directory.path().join("command"));
    fs::create_dir(&person).unwrap();
    fs::create_dir(&command).unwrap();
    let none = LargeFiles::read(&open(&command), &open(&person), &Bounds::default()).unwrap();
    assert!(none.is_empty());
    assert_eq!(fs::read_dir(&person).unwrap().count(), 0);

    let content = vec![7; 3 << 20];
    plant(&command, &hex(&content), &content);
    plant(&command, &hex(b""), b"");
    plant(&command, &hex(b"known"), b"replaced");
    plant(&person, &hex(b"known"), b"known");
    plant(&command, &hex(b"forged"), b"another content");
    let linked = hex(b"linked");
    plant(&command, &linked, b"");
    fs::remove_file(place(&command, &linked)).unwrap();
    fs::write(directory.path().join("secret"), "linked").unwrap();
    symlink(directory.path().join("secret"), place(&command, &linked)).unwrap();
    fs::write(command.join("lfs/objects/x"), "x").unwrap();

    let files = LargeFiles::read(&open(&command), &open(&person), &Bounds::default()).unwrap();
    let mut reasons: Vec<String> =
        files.left_out().iter().map(|left| left.reason.to_string()).collect();
    reasons.sort();
    let expected = [Reason::Forged, Reason::Unknown, Reason::WrongKind];
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(reasons, expected);
    assert!(!place(&person, &hex(&content)).exists());
    files.store(&open(&person)).unwrap();
    files.store(&open(&person)).unwrap();
    drop(files);
    assert_eq!(fs::read(place(&person, &hex(&content))).unwrap(), content);
    assert_eq!(fs::read(place(&person, &hex(b""))).unwrap(), b"");
    assert_eq!(fs::read(place(&person, &hex(b"known"))).unwrap(), b"known");
    assert!(!place(&person, &hex(b"forged")).exists());
    assert_eq!(fs::read_dir(person.join("lfs/tmp")).unwrap().count(), 0);

    let bounds = Bounds { pack_bytes: 1 << 20, ..Bounds::default() };
    plant(&command, &hex(&content[1..]), &content[1..]);
    plant(&command, &hex(b"small"), b"small");
    let bounded = LargeFiles::read(&open(&command), &open(&person), &bounds).unwrap();
    assert_eq!(bounded.reached(), Some(Bound::PackBytes));
    drop(bounded);
    assert_eq!(fs::read_dir(person.join("lfs/tmp")).unwrap().count(), 0);
}
