use std::env;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use toolwright_fs::Granted as Directory;

use super::*;

mod stores;

struct Place {
    directory: tempfile::TempDir,
    home: PathBuf,
}

#[derive(Default)]
struct Given {
    sessions: Option<PathBuf>,
    read_scope: ReadScope,
    writable_roots: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    path: Option<std::ffi::OsString>,
    other_home: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
}

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        for directory in ["root", "home/.ssh", "home/.config/gh", "home/other"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        let home = place.path().canonicalize().expect("there").join("home");
        Self { directory: place, home }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().expect("there").join(path)
    }

    fn plan(&self, given: &Given) -> Result<Plan, PolicyError> {
        let named = |paths: &[PathBuf]| -> Vec<super::Given> {
            paths.iter().map(|path| super::Given { path: path.clone(), seen: None }).collect()
        };
        let grants = Grants::new(
            Arc::new(Directory::new("rootDir", self.at("root"))),
            named(&given.writable_roots),
            named(&given.readable),
            given.deny_read.clone(),
            Some(self.home.clone()),
        );
        let resolved = grants.resolve().map_err(|error| match error {
            GrantError::Option(error) => error,
            GrantError::Directory(error) => panic!("{error}"),
        })?;
        let root = self.at("root");
        plan(&Options { root: &root, resolved: &resolved, ..self.options(given) })
    }

    fn options<'a>(&'a self, given: &'a Given) -> Options<'a> {
        static NOTHING: std::sync::LazyLock<Resolved> = std::sync::LazyLock::new(Resolved::default);
        Options {
            root: Path::new("/"),
            resolved: &NOTHING,
            network: Network::PrivateLoopback,
            files: Files::Confined,
            read_scope: given.read_scope,
            writable_roots: &given.writable_roots,
            readable: &given.readable,
            deny_write: &given.deny_write,
            limits: Limits::default(),
            home: Some(&self.home),
            other_home: given.other_home.as_deref(),
            variables: &given.variables,
            sessions: given.sessions.as_deref(),
            path: given.path.as_deref(),
        }
    }
}

#[test]
fn credential_stores_are_closed_where_their_links_lead() {
    let place = Place::new();
    fs::create_dir(place.at("real-aws")).expect("made");
    symlink(place.at("real-aws"), place.at("home/.aws")).expect("linked");
    let plan = place.plan(&Given::default()).expect("a plan");
    assert_eq!(
        plan.closed,
        ["home/.config/gh", "home/.ssh", "real-aws"].map(|path| place.at(path))
    );
    assert_eq!(plan.writable, [place.at("root")]);
}

#[test]
fn a_store_is_opened_by_naming_it_and_a_denied_path_is_not() {
    let place = Place::new();
    let given = Given {
        readable: vec!["~/.ssh".into(), place.at("home/other")],
        deny_read: vec!["~/other".into(), "../home/.config".into(), "missing".into()],
        ..Given::default()
    };
    let plan = place.plan(&given).expect("a plan");
    assert_eq!(
        plan.closed,
        ["home/.config", "home/.config/gh", "home/other"].map(|path| place.at(path))
    );
}

#[test]
fn programs_in_the_temporary_directory_stay_readable() {
    let place = Place::new();
    if !place.at("").starts_with("/tmp") {
        eprintln!("skipped: temporary directories are made elsewhere");
        return;
    }
    for directory in ["app/node_modules/.bin", "tool/bin", "plain"] {
        fs::create_dir_all(place.at(directory)).expect("made");
    }
    let path = env::join_paths([
        place.at("app/node_modules/.bin"),
        place.at("tool/bin"),
        place.at("plain"),
        place.at("missing"),
        "/tmp".into(),
        "/usr/bin".into(),
        "relative".into(),
    ]);
    let found: Vec<_> = {
        let path = path.expect("joined");
        let root = Resolved {
            root: place.at("root"),
            given_root: place.at("root"),
            ..Resolved::default()
        };
        super::scope::temporary_toolchains(Some(&path), &root).collect()
    };
    for readable in ["app/node_modules", "tool", "plain"] {
        assert!(found.contains(&place.at(readable)), "{readable}: {found:?}");
    }
    let others = ["/", "/tmp", "/usr/bin", "/usr"].map(Path::new);
    assert!(!found.iter().any(|path| others.contains(&path.as_path())), "{found:?}");
}

#[test]
fn programs_in_a_closed_directory_do_not_open_it() {
    let place = Place::new();
    for directory in ["closed/deep/tool/bin", "open/deep/tool/bin"] {
        fs::create_dir_all(place.at(directory)).expect("made");
    }
    let path = env::join_paths(["closed", "open"].map(|at| place.at(at).join("deep/tool/bin")));
    for read_scope in [ReadScope::All, ReadScope::System] {
        let mut given = Given {
            read_scope,
            deny_read: vec![place.at("closed")],
            path: Some(path.as_ref().expect("joined").clone()),
            ..Given::default()
        };
        let opened = |given: &Given, below: &str| {
            let plan = place.plan(given).expect("a plan");
            plan.readable.iter().any(|path| path.starts_with(place.at(below)))
        };
        assert!(!opened(&given, "closed"));
        assert!(opened(&given, "open") || !place.at("").starts_with("/tmp"));
        given.readable = vec![place.at("closed/deep")];
        assert!(opened(&given, "closed"));
    }
}

#[test]
fn protected_paths_need_not_exist_and_lead_through_links() {
    let place = Place::new();
    fs::create_dir(place.at("root/elsewhere")).expect("made");
    symlink("elsewhere", place.at("root/.git")).expect("linked");
    let deny_write = vec![".git/hooks".into(), "./a/../b//c".into()];
    let plan = place.plan(&Given { deny_write, ..Given::default() }).expect("a plan");
    let expected = ["elsewhere/hooks", "b/c", "elsewhere/commondir"];
    assert_eq!(plan.protected, expected.map(|path| place.at("root").join(path)));
}

#[test]
fn a_writable_root_that_is_none_is_an_error_that_names_it() {
    let place = Place::new();
    fs::write(place.at("file"), "").expect("written");
    for path in ["missing", "../file"] {
        let given = Given { writable_roots: vec![path.into()], ..Given::default() };
        let error = place.plan(&given).expect_err("refused");
        assert_eq!((error.option, error.path), ("sandbox.writableRoots", PathBuf::from(path)));
    }
}

#[test]
fn a_narrow_scope_leaves_the_system_and_closes_homes() {
    let place = Place::new();
    let plan = place.plan(&Given { read_scope: ReadScope::System, ..Given::default() });
    let plan = plan.expect("a plan");
    let closes = |path: &Path| plan.closed.iter().any(|closed| path.starts_with(closed));
    assert!(closes(Path::new("/root/x")) || !Path::new("/root").exists());
    assert!(closes(Path::new("/home/x")) || !Path::new("/home").exists());
    assert!(closes(&place.at("home/other")));
    for system in ["/usr/bin/env", "/etc/passwd", "/lib/x", "/proc/self", "/dev/null"] {
        assert!(!closes(Path::new(system)), "{system} is closed");
    }
}

mod git;

fn put(place: &Place, path: &str, text: &str) {
    let path = place.at(path);
    fs::create_dir_all(path.parent().expect("one")).expect("made");
    fs::write(path, text).expect("written");
}

#[test]
fn what_sessions_keep_is_closed_while_there_is_something() {
    let place = Place::new();
    let sessions = place.at("sessions");
    let given = Given { sessions: Some(sessions.clone()), ..Given::default() };
    let closed = || place.plan(&given).expect("a plan").closed;
    fs::create_dir(&sessions).expect("made");
    assert!(!closed().contains(&sessions));
    fs::create_dir(sessions.join("one")).expect("made");
    assert!(closed().contains(&sessions));
}
