//! Files of a sandbox: below the root they are opened here, and everything else is left to commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_core::code::Code;
use toolwright_core::command::environment::{Policy, Variables, of_host};
use toolwright_core::command::plan::SandboxOptions;
use toolwright_core::command::program::ProgramSettings;
use toolwright_core::failure::Unfinished;
use toolwright_core::file::Publish;
use toolwright_core::sandbox_files::{NewContent, SandboxFiles};
use toolwright_fs::{DirectoryGrant, NamedKind};
use toolwright_sandbox::policy::{Grants, RequestedPaths};

static GO: AtomicBool = AtomicBool::new(false);

struct Fixture {
    _made: tempfile::TempDir,
    base: PathBuf,
    settings: ProgramSettings,
    host: Arc<Variables>,
    publish: Publish,
}

impl Fixture {
    /// A root with a file, a closed directory, and links that lead to both and out.
    fn new() -> Self {
        let made = tempfile::tempdir().expect("made");
        let base = made.path().canonicalize().expect("there");
        let path = base.join("root");
        fs::create_dir_all(path.join("closed")).expect("made");
        fs::create_dir_all(path.join(".git/hooks")).expect("made");
        fs::create_dir(base.join("outside")).expect("made");
        for file in ["root/file", "root/closed/file", "outside/file"] {
            fs::write(base.join(file), "text").expect("written");
        }
        symlink(base.join("outside"), path.join("out")).expect("linked");
        symlink("closed", path.join("to-closed")).expect("linked");
        symlink("file", path.join("to-file")).expect("linked");
        let root = Arc::new(DirectoryGrant::new("rootDir", &path));
        let nothing = RequestedPaths::default();
        let closed = vec![PathBuf::from("closed")];
        let grants = Grants::new(Arc::clone(&root), nothing.clone(), nothing, closed, None);
        let settings = ProgramSettings {
            mask: None,
            root,
            grants: Arc::new(grants),
            sandbox: SandboxOptions::default(),
            starts_processes: false,
            environment: Policy::default(),
            max_output_bytes: 0,
            timeout: Duration::ZERO,
        };
        let wait = Duration::from_secs(1);
        let publish = Publish {
            fsync: false,
            allow_in_place: false,
            wait,
            deny_write: None,
            notebooks: false,
        };
        Self { _made: made, base, settings, host: of_host(None, None), publish }
    }

    fn files(&self) -> SandboxFiles<'_> {
        SandboxFiles { settings: &self.settings, host: &self.host }
    }

    fn write(&self, path: &str, content: &NewContent<'_>) -> Result<Option<()>, Unfinished> {
        self.files().write(path, content, &self.publish, &GO)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.base.join(path)).expect("read")
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Unfinished>) -> Code {
    match result {
        Err(Unfinished::Failed(failure)) => failure.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_below_the_root_is_read_in_parts() {
    let at = Fixture::new();
    for path in ["file", "to-file", "./closed/../file"] {
        let file = at.files().open(path).expect("opened").expect("known here");
        assert_eq!(file.bytes, 4);
        assert_eq!(file.read(1, 2, &GO).expect("read"), b"ex");
        assert_eq!(file.read(4, 2, &GO).expect("read"), b"");
    }
    let (file, first) = at.files().begin("file", 3, &GO).expect("opened").expect("known here");
    assert_eq!((first.len(), file.bytes), (3, 4));
    assert_eq!(code(at.files().open("missing")), Code::FileNotFound);
    assert_eq!(code(at.files().open("closed/..")), Code::NotAFile);
}

#[test]
fn what_only_commands_can_tell_is_left_to_them() {
    let at = Fixture::new();
    for path in ["out/file", "../outside/file", "/etc/passwd", "closed/file", "to-closed/file"] {
        assert!(at.files().open(path).expect("no error").is_none(), "{path}");
        assert!(at.files().status(path).expect("no error").is_none(), "{path}");
    }
    for path in ["closed", "to-closed", "out", "/"] {
        assert!(at.files().list(path, &GO).expect("no error").is_none(), "{path}");
    }
    for path in ["out/file", "/etc/passwd"] {
        assert!(at.write(path, &NewContent::Bytes(b"x")).expect("no error").is_none(), "{path}");
        assert!(at.files().delete(path, &at.publish, &GO).expect("no error").is_none(), "{path}");
    }
    assert_eq!(at.text("outside/file"), "text");
}

#[test]
fn what_commands_may_not_change_is_not_changed() {
    let at = Fixture::new();
    for path in ["closed/file", "to-closed/file", "closed/new", ".git/hooks/pre-commit"] {
        assert_eq!(code(at.write(path, &NewContent::Bytes(b"x"))), Code::PathProtected, "{path}");
    }
    assert_eq!(code(at.files().delete("closed/file", &at.publish, &GO)), Code::PathProtected);
    assert_eq!(code(at.files().delete("closed", &at.publish, &GO)), Code::PathProtected);
    assert_eq!(at.text("root/closed/file"), "text");
}

#[test]
fn names_are_listed_as_they_are() {
    let at = Fixture::new();
    fs::write(at.base.join("root/.hidden"), "").expect("written");
    let mut names = at.files().list(".", &GO).expect("listed").expect("known here");
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let kinds: Vec<_> =
        names.iter().map(|named| (named.name.to_str().expect("UTF-8"), named.kind)).collect();
    assert_eq!(
        kinds,
        [
            (".git", NamedKind::Directory),
            (".hidden", NamedKind::File),
            ("closed", NamedKind::Directory),
            ("file", NamedKind::File),
            ("out", NamedKind::Symlink),
            ("to-closed", NamedKind::Symlink),
            ("to-file", NamedKind::Symlink),
        ]
    );
    assert_eq!(code(at.files().list("file", &GO)), Code::NotADirectory);
}

#[test]
fn content_that_was_staged_is_copied_whole() {
    let at = Fixture::new();
    let staged = at.base.join("staged");
    let content: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(&staged, &content).expect("written");
    at.write("new/file", &NewContent::Staged(&staged)).expect("written").expect("known here");
    assert_eq!(fs::read(at.base.join("root/new/file")).expect("read"), content);
    let missing = at.base.join("missing");
    assert_eq!(code(at.write("file", &NewContent::Staged(&missing))), Code::IoFailed);
    assert_eq!(at.text("root/file"), "text");
}
