use std::os::unix::fs::symlink;

use super::*;

struct Place(tempfile::TempDir);

#[derive(Default)]
struct Given {
    read_scope: ReadScope,
    writable_roots: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
}

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        for directory in ["root", "home/.ssh", "home/.config/gh", "home/other"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        Self(place)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().expect("there").join(path)
    }

    fn plan(&self, given: &Given) -> Result<Plan, PolicyError> {
        plan(&Options {
            root: &self.at("root"),
            network: Network::PrivateLoopback,
            files: Files::Confined,
            read_scope: given.read_scope,
            writable_roots: &given.writable_roots,
            readable: &given.readable,
            deny_read: &given.deny_read,
            deny_write: &given.deny_write,
            limits: Limits::default(),
            home: Some(&self.at("home")),
            path: None,
        })
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
fn protected_paths_need_not_exist_and_lead_through_links() {
    let place = Place::new();
    fs::create_dir(place.at("root/elsewhere")).expect("made");
    symlink("elsewhere", place.at("root/.git")).expect("linked");
    let deny_write = vec![".git/hooks".into(), "./a/../b//c".into()];
    let plan = place.plan(&Given { deny_write, ..Given::default() }).expect("a plan");
    assert_eq!(plan.protected, [place.at("root/elsewhere/hooks"), place.at("root/b/c")]);
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
