use std::os::unix::fs::symlink;
use std::sync::Arc;

use super::*;
use crate::code::Code;
use crate::command::plan::{self, HostOptions};
use crate::failure::Failure;

/// A root, a home directory with a store, and directories around them.
struct Scene {
    _made: tempfile::TempDir,
    base: PathBuf,
    options: SandboxOptions,
    deny_read: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        // The directory of temporary files is writable to commands in any case.
        let made = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("made");
        let base = made.path().canonicalize().expect("there");
        for directory in ["root/.git/hooks", "home/.aws", "shared/below/.git/hooks", "secret"] {
            fs::create_dir_all(base.join(directory)).expect("made");
        }
        for file in ["home/.aws/credentials", "shared/file", "secret/key"] {
            fs::write(base.join(file), "text").expect("written");
        }
        symlink(base.join("shared"), base.join("root/link")).expect("made");
        Self { _made: made, base, options: SandboxOptions::default(), deny_read: Vec::new() }
    }

    fn at(&self, path: &str) -> String {
        self.base.join(path).to_string_lossy().into_owned()
    }

    fn grant(&self, kind: GrantKind, wanted: &str) -> Result<CallGrant, Failure> {
        let root = Arc::new(plan::granted_root(self.base.join("root"), None));
        let home = self.base.join("home");
        let environment = [(OsString::from("HOME"), home.clone().into_os_string())];
        let deny_read = self.deny_read.clone();
        let grants = plan::grants(Arc::clone(&root), Vec::new(), Vec::new(), deny_read, Some(home));
        self.options.call_grant(&root, &grants, &environment, kind, wanted).map_err(|unfinished| {
            match unfinished {
                Unfinished::Failed(failure) => failure,
                other => panic!("{other:?}"),
            }
        })
    }

    fn subject(&self, kind: GrantKind, wanted: &str) -> String {
        self.grant(kind, wanted).expect("may be granted").subject
    }

    /// What the refusal says after the kind and the subject.
    fn refusal(&self, kind: GrantKind, wanted: &str) -> String {
        let failure = self.grant(kind, wanted).expect_err("is refused");
        assert_eq!(failure.code, Code::GrantRefused);
        assert!(!failure.hint.is_empty(), "there is a next move");
        let (_, reason) = failure.place.split_once("` ").expect("a subject in backticks");
        reason.to_owned()
    }
}

use GrantKind::{Network, Readable, Writable};

#[test]
fn the_question_has_the_real_path_and_its_identity() {
    let scene = Scene::new();
    let shared = scene.at("shared");
    for wanted in [&*shared, "link", "../shared", "./link/", "~/../shared"] {
        let grant = scene.grant(Writable, wanted).expect("may be granted");
        let metadata = fs::metadata(&shared).expect("there");
        assert_eq!(grant.subject, shared, "{wanted}");
        assert_eq!(grant.identity, Some(format!("{}:{}", metadata.dev(), metadata.ino())));
    }
}

#[test]
fn a_directory_is_writable_only_by_itself() {
    let scene = Scene::new();
    assert_eq!(scene.subject(Writable, &scene.at("shared/below")), scene.at("shared/below"));
    let file = "is a file, and only directories are made writable";
    for (wanted, reason) in [
        (scene.at("shared/file"), file),
        (scene.at("absent"), "does not exist"),
        (scene.at("root"), "is writable already"),
        (scene.at("root/.git/hooks"), "is protected by the host program (sandbox.denyWrite)"),
        (
            scene.at("shared/below/.git/hooks"),
            "is protected by the host program (sandbox.denyWrite)",
        ),
        (scene.at("root/link/../shared/absent"), "does not exist"),
        (scene.base.to_string_lossy().into_owned(), "contains the root directory"),
        ("/".to_owned(), "contains the root directory"),
        (scene.at("home"), "contains a home directory"),
        (scene.at("home/.aws"), "stays closed to every command"),
        ("/proc/self".to_owned(), "belongs to the kernel"),
        ("/sys".to_owned(), "belongs to the kernel"),
        ("/dev/shm".to_owned(), "belongs to the kernel"),
        (String::new(), "is writable already"),
        ("a\0b".to_owned(), "does not exist"),
    ] {
        assert_eq!(scene.refusal(Writable, &wanted), reason, "{wanted:?}");
    }
}

#[test]
fn a_closed_path_is_readable_only_by_itself() {
    let mut scene = Scene::new();
    let credentials = scene.at("home/.aws/credentials");
    assert_eq!(scene.subject(Readable, "~/.aws/credentials"), credentials);
    assert_eq!(scene.grant(Readable, &credentials).expect("may be granted").identity, None);
    assert_eq!(scene.subject(Readable, "~/.aws"), scene.at("home/.aws"));
    scene.deny_read = vec![scene.base.join("secret")];
    let denied = "is closed by the host program (sandbox.denyRead)";
    for (wanted, reason) in [
        (scene.at("secret"), denied),
        (scene.at("secret/key"), denied),
        (scene.at("shared/file"), "is readable already"),
        (scene.at("root"), "is readable already"),
        (scene.at("home"), "contains a home directory"),
        ("/".to_owned(), "contains the root directory"),
        (scene.at("home/.ssh"), "does not exist"),
    ] {
        assert_eq!(scene.refusal(Readable, &wanted), reason, "{wanted:?}");
    }
    assert_eq!(scene.refusal(Writable, &scene.at("secret")), denied);
}

#[test]
fn a_narrow_scope_can_be_widened_by_one_path() {
    let mut scene = Scene::new();
    scene.options.system_only = true;
    let file = scene.at("shared/file");
    assert_eq!(scene.subject(Readable, &file), file);
    assert_eq!(scene.refusal(Readable, "/usr/bin"), "is readable already");
}

#[test]
fn nothing_is_granted_where_everything_is_writable() {
    let mut scene = Scene::new();
    scene.options.full_files = true;
    assert_eq!(scene.refusal(Writable, &scene.at("shared")), "is writable already");
}

#[test]
fn a_host_is_one_name_of_the_public_internet() {
    let mut scene = Scene::new();
    assert_eq!(scene.subject(Network, "Packages.Example.com:443"), "packages.example.com:443");
    assert_eq!(scene.subject(Network, "packages.example.com."), "packages.example.com");
    let (none, private) = ("is not the name of one host", "is not a host of the public internet");
    for (wanted, reason) in [
        ("*", none),
        ("*.example.com", none),
        ("https://example.com", none),
        ("example.com/path", none),
        ("", none),
        ("a b", none),
        ("localhost:5432", private),
        ("127.0.0.1", private),
        ("169.254.169.254", private),
        ("[::1]:80", private),
        ("10.0.0.1:22", private),
        ("0x7f.1", none),
        ("2130706433", none),
    ] {
        assert_eq!(scene.refusal(Network, wanted), reason, "{wanted}");
    }
    scene.options.loopback = Loopback::Host;
    let no_names = "cannot be reached by name with this loopback interface";
    assert_eq!(scene.refusal(Network, "example.com"), no_names);
    scene.options.network = true;
    assert_eq!(scene.refusal(Network, "example.com"), "is reached already");
}

#[test]
fn a_host_that_the_option_denies_is_not_granted() {
    let mut scene = Scene::new();
    scene.options.names = Some(HostOptions {
        allow: vec!["*.example.com:443".to_owned()],
        deny: vec!["*.evil.example".to_owned(), "bad.example:80".to_owned()],
        ..HostOptions::default()
    });
    let denied = "is denied by the host program (sandbox.network.deny)";
    for (wanted, reason) in [
        ("a.evil.example", denied),
        ("bad.example:80", denied),
        ("a.example.com:443", "is reached already"),
    ] {
        assert_eq!(scene.refusal(Network, wanted), reason, "{wanted}");
    }
    for wanted in ["a.example.com:22", "other.example", "bad.example:443"] {
        assert_eq!(scene.subject(Network, wanted), wanted);
    }
}

#[test]
fn every_refusal_names_the_kind_and_the_subject() {
    let scene = Scene::new();
    let failure = scene.grant(Writable, "/").expect_err("is refused");
    assert_eq!(failure.place, "The grant was refused: writable `/` contains the root directory");
    assert_eq!(failure.details["grant"], "writable");
    assert_eq!(failure.details["subject"], "/");
}
