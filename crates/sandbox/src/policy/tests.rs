use std::{env, os::unix::fs::symlink};

use super::*;

struct Place(tempfile::TempDir);

#[derive(Default)]
struct Given {
    read_scope: ReadScope,
    writable_roots: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    path: Option<std::ffi::OsString>,
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
            path: given.path.as_deref(),
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
    let found: Vec<_> = super::scope::temporary_toolchains(Some(&path.expect("joined"))).collect();
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

/// The protected paths where `.git/hooks` and `.git/config` are, without these two.
fn beside(place: &Place, writable_roots: &[&str]) -> Vec<String> {
    let deny_write = vec![".git/hooks".into(), ".git/config".into()];
    let writable_roots = writable_roots.iter().map(|path| place.at(path)).collect();
    let plan = place.plan(&Given { writable_roots, deny_write, ..Given::default() });
    let base = place.at("");
    let names = |path: &PathBuf| path.strip_prefix(&base).expect("below").display().to_string();
    let mut all: Vec<String> = plan.expect("a plan").protected.iter().map(names).collect();
    assert_eq!(all[..2], ["root/.git/hooks", "root/.git/config"]);
    all.drain(..2);
    all.sort();
    all
}

fn put(place: &Place, path: &str, text: &str) {
    let path = place.at(path);
    fs::create_dir_all(path.parent().expect("one")).expect("made");
    fs::write(path, text).expect("written");
}

#[test]
fn an_ordinary_repository_has_nothing_beside_its_hooks_and_its_configuration() {
    let place = Place::new();
    assert_eq!(beside(&place, &[]), [""; 0]);
    for file in ["HEAD", "config", "hooks/x.sample", "refs/heads/main", "objects/aa/bb"] {
        put(&place, &format!("root/.git/{file}"), "");
    }
    assert_eq!(beside(&place, &[]), [""; 0]);
    // Other paths than those two lead to no others.
    put(&place, "root/.git/commondir", "..");
    for path in [".git", "config", "hooks", "git/hooks", ".git/hooks/x"] {
        let plan = place.plan(&Given { deny_write: vec![path.into()], ..Given::default() });
        assert_eq!(plan.expect("a plan").protected, [place.at("root").join(path)]);
    }
}

#[test]
fn what_leads_git_elsewhere_is_protected_where_it_is() {
    let place = Place::new();
    put(&place, "root/.git/commondir", "../shared\n");
    put(&place, "root/.git/config.worktree", "");
    put(&place, "root/shared/config", "");
    let expected = ["root/.git/commondir", "root/.git/config.worktree"];
    assert_eq!(
        beside(&place, &[]),
        [&expected[..], &["root/shared/config", "root/shared/hooks"]].concat()
    );
    // In a circle, to nowhere, or what is no path.
    for text in [".", "nowhere", "", "\0", "a\nb"] {
        put(&place, "root/.git/commondir", text);
        assert!(beside(&place, &[]).starts_with(&expected.map(str::to_owned)), "{text:?}");
    }
}

#[test]
fn a_configuration_of_the_working_tree_is_protected_before_it_is_there() {
    let place = Place::new();
    put(&place, "root/.git/config", "[Extensions]\n\tworktreeConfig = true\n");
    assert_eq!(beside(&place, &[]), ["root/.git/config.worktree"]);
}

#[test]
fn submodules_have_hooks() {
    let place = Place::new();
    put(&place, "root/.git/modules/a/config", "");
    put(&place, "root/.git/modules/libs/b/HEAD", "");
    put(&place, "root/.git/modules/libs/b/modules/c/hooks/x", "");
    put(&place, "root/.git/modules/libs/empty/x", "");
    // Not their configurations, which `git submodule update` rewrites.
    let wanted = ["a/hooks", "libs/b/hooks", "libs/b/modules/c/hooks"];
    assert_eq!(beside(&place, &[]), wanted.map(|path| format!("root/.git/modules/{path}")));
    // More than can be looked at are closed as a whole.
    for number in 0..600 {
        fs::create_dir_all(place.at(&format!("root/.git/modules/many/{number}"))).expect("made");
    }
    let all = beside(&place, &[]);
    assert!(all.len() < 20 && all.contains(&"root/.git/modules".to_owned()), "{all:?}");
    fs::remove_dir_all(place.at("root/.git/modules")).expect("removed");
    let deep = "/x".repeat(20);
    fs::create_dir_all(place.at(&format!("root/.git/modules{deep}"))).expect("made");
    assert_eq!(beside(&place, &[]), [format!("root/.git/modules{}", "/x".repeat(8))]);
}

#[test]
fn a_git_that_is_a_file_leads_to_the_repository() {
    let place = Place::new();
    put(&place, "root/.git", "gitdir: ../main/.git/worktrees/w\n");
    put(&place, "main/.git/worktrees/w/commondir", "../..\n");
    put(&place, "main/.git/worktrees/w/gitdir", "../../../../root/.git\n");
    put(&place, "main/.git/config", "");
    // Nothing of it can be written, until the host says so.
    assert_eq!(beside(&place, &[]), [""; 0]);
    let wanted = ["main/.git/config", "main/.git/hooks", "main/.git/worktrees/w/commondir"];
    assert_eq!(beside(&place, &["main"]), wanted);
    put(&place, "root/.bare/HEAD", "");
    for text in ["gitdir: .bare", "gitdir: ./.bare/\n", "gitdir: .bare\r\n"] {
        put(&place, "root/.git", text);
        assert_eq!(beside(&place, &[]), ["root/.bare/config", "root/.bare/hooks"], "{text:?}");
    }
    for text in ["", "gitdir:.bare", "x", "gitdir: /no/such"] {
        put(&place, "root/.git", text);
        assert_eq!(beside(&place, &[]), [""; 0], "{text:?}");
    }
}

/// Elsewhere, the working tree's own `.git` can be exchanged, and `git worktree remove` must work.
#[test]
fn working_trees_are_protected_where_commands_cannot_write_to_them() {
    let place = Place::new();
    for (name, tree) in [("out", "../../../../elsewhere/.git"), ("in", "../../../wt/.git")] {
        put(&place, &format!("root/.git/worktrees/{name}/gitdir"), tree);
        put(&place, &format!("root/.git/worktrees/{name}/commondir"), "../..");
    }
    fs::create_dir_all(place.at("elsewhere")).expect("made");
    fs::create_dir_all(place.at("root/wt")).expect("made");
    assert_eq!(beside(&place, &[]), ["root/.git/worktrees/out/commondir"]);
}

#[test]
fn a_root_that_is_a_repository_itself_is_one() {
    let place = Place::new();
    put(&place, "root/HEAD", "");
    fs::create_dir(place.at("root/objects")).expect("made");
    assert_eq!(beside(&place, &[]), [""; 0]);
    fs::create_dir(place.at("root/refs")).expect("made");
    assert_eq!(beside(&place, &[]), ["root/config", "root/hooks"]);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let place = Place::new();
    fs::create_dir_all(place.at("root/.git")).expect("made");
    for name in ["commondir", "config"] {
        let made =
            std::process::Command::new("mkfifo").arg(place.at("root/.git").join(name)).status();
        assert!(made.expect("runs").success());
    }
    assert_eq!(beside(&place, &[]), ["root/.git/commondir"]);
}
