use super::{Fixture, Settings, put, *};

/// A directory with what git asks for.
fn repository(fixture: &Fixture, path: &str) {
    put(fixture, &format!("{path}/HEAD"), "ref: refs/heads/main\n");
    for name in ["objects", "refs"] {
        fs::create_dir_all(fixture.at(path).join(name)).expect("made");
    }
}

/// The forks and the protected paths, where these are denied.
fn held(fixture: &Fixture, deny_write: &[&str], writable_roots: &[&str]) -> [Vec<String>; 2] {
    let deny_write = deny_write.iter().map(PathBuf::from).collect();
    let writable_roots = writable_roots.iter().map(|path| fixture.at(path)).collect();
    let settings = Settings { writable_roots, deny_write, ..Settings::default() };
    let plan = fixture.plan(&settings).expect("a plan");
    assert!(plan.forks.iter().all(|fork| {
        plan.protected.iter().all(|path| !path.starts_with(fork) && !fork.starts_with(path))
    }));
    let base = fixture.at("");
    [plan.forks, plan.protected].map(|paths| {
        let names = paths.iter().map(|path| path.strip_prefix(&base).expect("below"));
        let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
        names.sort();
        names
    })
}

const USUAL: &[&str] = &[".git/hooks", ".git/config"];
const NONE: [&str; 0] = [];

#[test]
fn commands_work_on_a_fork_of_an_ordinary_repository() {
    let fixture = Fixture::new();
    repository(&fixture, "root/.git");
    for deny_write in [USUAL, &[".git/hooks"], &[".git/config"], &[".git/config", "a"]] {
        let [forks, protected] = held(&fixture, deny_write, &[]);
        assert_eq!(forks, ["root/.git"], "{deny_write:?}");
        assert!(protected.iter().all(|path| path == "root/a"), "{deny_write:?}");
    }
    for deny_write in [&["config"][..], &["hooks"], &["git/hooks"], &[".git/hooks/x"], &[]] {
        assert_eq!(held(&fixture, deny_write, &[])[0], NONE, "{deny_write:?}");
    }
}

/// Nothing of it comes back then, so that nothing of it is written.
#[test]
fn a_repository_with_a_path_that_is_denied_is_read_only() {
    let fixture = Fixture::new();
    repository(&fixture, "root/.git");
    for path in [".git", ".git/refs", ".git/hooks/pre-commit", ".git/config.lock"] {
        let [forks, protected] = held(&fixture, &[".git/hooks", ".git/config", path], &[]);
        assert_eq!(forks, NONE, "{path}");
        assert!(protected.contains(&"root/.git".to_owned()), "{path}");
    }
}

#[test]
fn what_is_no_plain_repository_is_read_only() {
    let fixture = Fixture::new();
    let is_read_only = |what: &str| {
        let [forks, protected] = held(&fixture, USUAL, &[]);
        assert_eq!(forks, NONE, "{what}");
        assert!(protected.contains(&"root/.git".to_owned()), "{what}: {protected:?}");
        protected
    };
    put(&fixture, "root/.git/HEAD", "");
    assert_eq!(held(&fixture, USUAL, &[])[0], ["root/.git"], "no fork can be made of it");
    fs::remove_dir_all(fixture.at("root/.git")).expect("removed");
    for text in ["", "gitdir:.bare", "x", "gitdir: /no/such", "gitdir: ../other/.git"] {
        put(&fixture, "root/.git", text);
        is_read_only(text);
    }
    fs::remove_file(fixture.at("root/.git")).expect("removed");
    repository(&fixture, "root/elsewhere");
    symlink("elsewhere", fixture.at("root/.git")).expect("linked");
    let protected = is_read_only("a link");
    assert!(protected.contains(&"root/elsewhere".to_owned()), "{protected:?}");
    fs::remove_file(fixture.at("root/.git")).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(fixture.at("root/.git")).status();
    assert!(made.expect("runs").success());
    is_read_only("a pipe");
}

#[test]
fn a_file_leads_to_a_repository_that_names_the_work_tree() {
    let fixture = Fixture::new();
    put(&fixture, "root/.git", "gitdir: ../main/.git/worktrees/w\n");
    put(&fixture, "main/.git/worktrees/w/commondir", "../..\n");
    put(&fixture, "main/.git/worktrees/w/gitdir", "../../../../root/.git\n");
    repository(&fixture, "main/.git");
    for writable in [&["main"][..], &[]] {
        let [forks, protected] = held(&fixture, USUAL, writable);
        assert_eq!(forks, ["main/.git"]);
        assert!(protected.contains(&"root/.git".to_owned()), "it could be exchanged");
    }
    put(&fixture, "main/.git/worktrees/w/gitdir", "../../../../other/.git\n");
    assert_eq!(held(&fixture, USUAL, &[])[0], NONE);
}

/// It is what a refusal names for a root that is a linked work tree or lies below one.
#[test]
fn a_git_directory_that_is_granted_has_a_fork() {
    let fixture = Fixture::new();
    repository(&fixture, "main/.git");
    let [forks, protected] = held(&fixture, &["@git"], &["main/.git"]);
    assert_eq!((forks, protected), (vec!["main/.git".to_owned()], Vec::new()));
    put(&fixture, "root/.git", "gitdir: ../main/.git/worktrees/w\n");
    put(&fixture, "main/.git/worktrees/w/commondir", "../..\n");
    put(&fixture, "main/.git/worktrees/w/gitdir", "../../../../root/.git\n");
    let [forks, protected] = held(&fixture, &["@git"], &["main/.git"]);
    assert_eq!(forks, ["main/.git"]);
    assert!(protected.iter().all(|path| path.starts_with("root/.git")), "{protected:?}");
    // One of another name is a bare repository.
    repository(&fixture, "bare.git");
    let [forks, protected] = held(&fixture, &["@git"], &["bare.git"]);
    assert!(forks.contains(&"bare.git".to_owned()), "{forks:?}");
    assert!(!protected.iter().any(|path| path.starts_with("bare.git")), "{protected:?}");
}

#[test]
fn a_root_that_is_a_git_directory_itself_is_read_only_there() {
    let fixture = Fixture::new();
    repository(&fixture, "root");
    let [forks, protected] = held(&fixture, USUAL, &[]);
    assert_eq!(forks, NONE);
    for name in ["HEAD", "config", "hooks", "objects", "refs", "commondir"] {
        assert!(protected.contains(&format!("root/{name}")), "{name}");
    }
}
