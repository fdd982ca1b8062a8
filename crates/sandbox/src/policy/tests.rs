use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::{env, fs};

use toolwright_fs::DirectoryGrant as Directory;

use super::*;

mod caches;
mod forks;
mod stores;

struct Fixture {
    directory: tempfile::TempDir,
    home: PathBuf,
}

#[derive(Default)]
struct Settings {
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

impl Fixture {
    fn new() -> Self {
        let fixture = tempfile::tempdir().expect("a directory");
        for directory in ["root", "home/.ssh", "home/.config/gh", "home/other"] {
            fs::create_dir_all(fixture.path().join(directory)).expect("made");
        }
        let home = fixture.path().canonicalize().expect("there").join("home");
        Self { directory: fixture, home }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().expect("there").join(path)
    }

    /// Without the stores of the system and of its services.
    fn plan(&self, settings: &Settings) -> Result<Plan, GrantError> {
        let mut plan = self.plan_for(settings, Files::Confined)?;
        let of_system =
            |path: &Path| ["/etc", "/run", "/var"].iter().any(|top| path.starts_with(top));
        plan.closed.retain(|path| !of_system(path));
        Ok(plan)
    }

    fn plan_for(&self, settings: &Settings, files: Files) -> Result<Plan, GrantError> {
        let named = |option: &'static str, paths: &[PathBuf]| {
            let paths = paths.iter().map(|path| RequestedPath { path: path.clone(), seen: None });
            RequestedPaths { option, paths: paths.collect() }
        };
        let grants = Grants::new(
            Arc::new(Directory::new("root", self.at("root"))),
            named("writable roots", &settings.writable_roots),
            named("readable", &settings.readable),
            settings.deny_read.clone(),
            Some(self.home.clone()),
        );
        let resolved = grants.resolve()?;
        let root = self.at("root");
        Ok(plan(&Options { root: &root, resolved: &resolved, files, ..self.options(settings) }))
    }

    fn options<'a>(&'a self, settings: &'a Settings) -> Options<'a> {
        static NOTHING: std::sync::LazyLock<Resolved> = std::sync::LazyLock::new(Resolved::default);
        Options {
            root: Path::new("/"),
            resolved: &NOTHING,
            names: None,
            network: Network::PrivateLoopback,
            files: Files::Confined,
            read_scope: settings.read_scope,
            writable_roots: &settings.writable_roots,
            readable: &settings.readable,
            deny_write: &settings.deny_write,
            is_git_strict: false,
            limits: Limits::default(),
            home: Some(&self.home),
            other_home: settings.other_home.as_deref(),
            variables: &settings.variables,
            sessions: settings.sessions.as_deref(),
            state: None,
            path: settings.path.as_deref(),
        }
    }
}

#[test]
fn credential_stores_are_closed_where_their_links_lead() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.at("real-aws")).expect("made");
    symlink(fixture.at("real-aws"), fixture.at("home/.aws")).expect("linked");
    let plan = fixture.plan(&Settings::default()).expect("a plan");
    assert_eq!(
        plan.closed,
        ["home/.config/gh", "home/.ssh", "real-aws"].map(|path| fixture.at(path))
    );
    assert_eq!(plan.writable, [fixture.at("root")]);
}

#[test]
fn a_store_is_opened_by_naming_it_and_a_denied_path_is_not() {
    let fixture = Fixture::new();
    let settings = Settings {
        readable: vec!["~/.ssh".into(), fixture.at("home/other")],
        deny_read: vec!["~/other".into(), "../home/.config".into(), "missing".into()],
        ..Settings::default()
    };
    let plan = fixture.plan(&settings).expect("a plan");
    assert_eq!(
        plan.closed,
        ["home/.config", "home/.config/gh", "home/other"].map(|path| fixture.at(path))
    );
}

#[test]
fn what_was_asked_for_stays_the_same_as_the_disk_changes() {
    let fixture = Fixture::new();
    let settings = || Settings {
        sessions: Some(fixture.at("sessions")),
        deny_write: vec![".git/config".into()],
        deny_read: vec!["absent".into()],
        readable: vec!["later".into()],
        ..Settings::default()
    };
    let before = fixture.plan(&settings()).expect("a plan");
    fs::create_dir_all(fixture.at("sessions/one")).expect("made");
    fs::create_dir_all(fixture.at("root/absent")).expect("made");
    fs::create_dir_all(fixture.at("root/later")).expect("made");
    fs::create_dir_all(fixture.at("root/.git/modules/below")).expect("made");
    fs::create_dir_all(fixture.at("home/.aws")).expect("made");
    let after = fixture.plan(&settings()).expect("a plan");
    assert_ne!(before, after);
    assert!(before.origin.is_some());
    assert_eq!(before.origin, after.origin);
    let others = [
        Settings { deny_read: vec![], ..settings() },
        Settings { deny_write: vec![], ..settings() },
        Settings { readable: vec![], ..settings() },
        Settings { writable_roots: vec![fixture.at("home/other")], ..settings() },
        Settings { read_scope: ReadScope::System, ..settings() },
    ];
    for (index, other) in others.iter().enumerate() {
        assert_ne!(after.origin, fixture.plan(other).expect("a plan").origin, "{index}");
    }
    // Another directory at the path of the root is another grant.
    fs::rename(fixture.at("root"), fixture.at("old")).expect("moved");
    fs::create_dir(fixture.at("root")).expect("made");
    assert_ne!(after.origin, fixture.plan(&settings()).expect("a plan").origin);
}

#[test]
fn programs_in_the_temporary_directory_stay_readable() {
    let fixture = Fixture::new();
    if !fixture.at("").starts_with("/tmp") {
        eprintln!("skipped: temporary directories are made elsewhere");
        return;
    }
    for directory in ["app/node_modules/.bin", "tool/bin", "plain"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    let path = env::join_paths([
        fixture.at("app/node_modules/.bin"),
        fixture.at("tool/bin"),
        fixture.at("plain"),
        fixture.at("missing"),
        "/tmp".into(),
        "/usr/bin".into(),
        "relative".into(),
    ]);
    let readable_paths: Vec<_> = {
        let path = path.expect("joined");
        let root = Resolved {
            root: fixture.at("root"),
            named_root: fixture.at("root"),
            ..Resolved::default()
        };
        super::scope::temporary_toolchains(Some(&path), &root).collect()
    };
    for readable in ["app/node_modules", "tool", "plain"] {
        assert!(readable_paths.contains(&fixture.at(readable)), "{readable}: {readable_paths:?}");
    }
    let others = ["/", "/tmp", "/usr/bin", "/usr"].map(Path::new);
    assert!(
        !readable_paths.iter().any(|path| others.contains(&path.as_path())),
        "{readable_paths:?}"
    );
}

#[test]
fn programs_in_a_closed_directory_do_not_open_it() {
    let fixture = Fixture::new();
    for directory in ["closed/deep/tool/bin", "open/deep/tool/bin"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    let path = env::join_paths(["closed", "open"].map(|at| fixture.at(at).join("deep/tool/bin")));
    for read_scope in [ReadScope::All, ReadScope::System] {
        let mut settings = Settings {
            read_scope,
            deny_read: vec![fixture.at("closed")],
            path: Some(path.as_ref().expect("joined").clone()),
            ..Settings::default()
        };
        let opened = |settings: &Settings, below: &str| {
            let plan = fixture.plan(settings).expect("a plan");
            plan.readable.iter().any(|path| path.starts_with(fixture.at(below)))
        };
        assert!(!opened(&settings, "closed"));
        assert!(opened(&settings, "open") || !fixture.at("").starts_with("/tmp"));
        settings.readable = vec![fixture.at("closed/deep")];
        assert!(opened(&settings, "closed"));
    }
}

#[test]
fn protected_paths_need_not_exist_and_lead_through_links() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.at("root/elsewhere")).expect("made");
    symlink("elsewhere", fixture.at("root/.git")).expect("linked");
    let deny_write = vec![".git/hooks".into(), "./a/../b//c".into()];
    let plan = fixture.plan(&Settings { deny_write, ..Settings::default() }).expect("a plan");
    // The link itself can be neither removed nor replaced.
    let expected = [".git", "elsewhere/hooks", "b/c", "elsewhere"];
    assert_eq!(plan.protected, expected.map(|path| fixture.at("root").join(path)));
}

#[test]
fn a_writable_root_that_is_none_is_an_error_that_names_it() {
    let fixture = Fixture::new();
    fs::write(fixture.at("file"), "").expect("written");
    for name in ["missing", "../file"] {
        let settings = Settings { writable_roots: vec![name.into()], ..Settings::default() };
        let Err(GrantError::Refused { option, path, problem }) = fixture.plan(&settings) else {
            panic!("granted");
        };
        assert_eq!((option.as_str(), path), ("writable roots", PathBuf::from(name)));
        assert!(matches!(problem, GrantProblem::Missing | GrantProblem::NotADirectory));
    }
}

#[test]
fn a_narrow_scope_leaves_the_system_and_closes_homes() {
    let fixture = Fixture::new();
    let plan = fixture.plan(&Settings { read_scope: ReadScope::System, ..Settings::default() });
    let plan = plan.expect("a plan");
    let closes = |path: &Path| plan.closed.iter().any(|closed| path.starts_with(closed));
    assert!(closes(Path::new("/root/x")) || !Path::new("/root").exists());
    assert!(closes(Path::new("/home/x")) || !Path::new("/home").exists());
    assert!(closes(&fixture.at("home/other")));
    for system in ["/usr/bin/env", "/etc/passwd", "/lib/x", "/proc/self", "/dev/null"] {
        assert!(!closes(Path::new(system)), "{system} is closed");
    }
}

mod git;
mod leads;

fn put(fixture: &Fixture, path: &str, text: &str) {
    let path = fixture.at(path);
    fs::create_dir_all(path.parent().expect("one")).expect("made");
    fs::write(path, text).expect("written");
}

#[test]
fn what_sessions_keep_is_closed_while_there_is_something() {
    let fixture = Fixture::new();
    let sessions = fixture.at("sessions");
    let settings = Settings { sessions: Some(sessions.clone()), ..Settings::default() };
    let closed = || fixture.plan(&settings).expect("a plan").closed;
    fs::create_dir(&sessions).expect("made");
    assert!(!closed().contains(&sessions));
    fs::create_dir(sessions.join("one")).expect("made");
    assert!(closed().contains(&sessions));
}
