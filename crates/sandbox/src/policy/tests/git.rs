use std::time::{Duration, Instant};

use super::{Fixture, Settings, put, *};

/// What is protected beside the hooks and the configuration, whether it is there or not.
const ALWAYS: [&str; 4] = ["branches", "commondir", "config.worktree", "remotes"];

/// The protected paths where `.git/hooks` and `.git/config` are, without these two and those that always are.
fn beside(fixture: &Fixture, writable_roots: &[&str]) -> Vec<String> {
    let deny_write = vec![".git/hooks".into(), ".git/config".into()];
    let writable_roots = writable_roots.iter().map(|path| fixture.at(path)).collect();
    let plan = fixture.plan(&Settings { writable_roots, deny_write, ..Settings::default() });
    let base = fixture.at("");
    let names = |path: &PathBuf| path.strip_prefix(&base).expect("below").display().to_string();
    let mut all: Vec<String> = plan.expect("a plan").protected.iter().map(names).collect();
    assert_eq!(all[..2], ["root/.git/hooks", "root/.git/config"]);
    all.drain(..2);
    all.retain(|path| path.strip_prefix("root/.git/").is_none_or(|name| !ALWAYS.contains(&name)));
    all.sort();
    all
}

#[test]
fn an_ordinary_repository_has_nothing_beside_its_hooks_and_its_configuration() {
    let fixture = Fixture::new();
    assert_eq!(beside(&fixture, &[]), [""; 0]);
    for file in ["HEAD", "config", "hooks/x.sample", "refs/heads/main", "objects/aa/bb"] {
        put(&fixture, &format!("root/.git/{file}"), "");
    }
    assert_eq!(beside(&fixture, &[]), [""; 0]);
    // Other paths than those two lead to no others.
    put(&fixture, "root/.git/commondir", "..");
    for path in [".git", "config", "hooks", "git/hooks", ".git/hooks/x"] {
        let plan = fixture.plan(&Settings { deny_write: vec![path.into()], ..Settings::default() });
        assert_eq!(plan.expect("a plan").protected, [fixture.at("root").join(path)]);
    }
}

#[test]
fn what_leads_git_elsewhere_is_protected_where_it_is() {
    let fixture = Fixture::new();
    put(&fixture, "root/.git/commondir", "../shared\n");
    put(&fixture, "root/.git/config.worktree", "");
    put(&fixture, "root/shared/config", "");
    let expected = ["root/shared/config", "root/shared/hooks"];
    assert_eq!(beside(&fixture, &[]), expected);
    // In a circle, to a missing file, or not a path.
    for text in [".", "nowhere", "", "\0", "a\nb"] {
        put(&fixture, "root/.git/commondir", text);
        assert_eq!(beside(&fixture, &[]), [""; 0], "{text:?}");
    }
}

#[test]
fn a_configuration_of_the_working_tree_is_protected_before_it_is_there() {
    let fixture = Fixture::new();
    let protected = |fixture: &Fixture| {
        let deny_write = vec![".git/hooks".into(), ".git/config".into()];
        let plan = fixture.plan(&Settings { deny_write, ..Settings::default() }).expect("a plan");
        ALWAYS.map(|name| plan.protected.contains(&fixture.at("root/.git").join(name)))
    };
    assert_eq!(protected(&fixture), [true; 4], "without a repository");
    put(&fixture, "root/.git/config", "");
    assert_eq!(protected(&fixture), [true; 4]);
    // Elsewhere, once the repository asks for it.
    put(&fixture, "root/.git/worktrees/out/gitdir", "/no/such/.git");
    assert_eq!(beside(&fixture, &[]), ["root/.git/worktrees/out/gitdir"]);
    put(&fixture, "root/.git/config", "[Extensions]\n\tworktreeConfig = true\n");
    let expected =
        ["config.worktree", "gitdir"].map(|name| format!("root/.git/worktrees/out/{name}"));
    assert_eq!(beside(&fixture, &[]), expected);
}

#[test]
fn commands_have_a_view_of_configurations_that_are_files() {
    let fixture = Fixture::new();
    let views = |deny_write: &[&str]| {
        let deny_write = deny_write.iter().map(PathBuf::from).collect();
        let plan = fixture.plan(&Settings { deny_write, ..Settings::default() }).expect("a plan");
        assert!(plan.views.iter().all(|view| plan.protected.contains(view)));
        let name =
            |path: &PathBuf| path.strip_prefix(fixture.at("root")).expect("below").to_owned();
        let mut views: Vec<PathBuf> = plan.views.iter().map(name).collect();
        views.sort();
        views
    };
    let usual = [".git/hooks", ".git/config"];
    assert_eq!(views(&usual), [""; 0].map(PathBuf::from));
    fs::create_dir_all(fixture.at("root/.git/hooks")).expect("made");
    assert_eq!(views(&usual), [""; 0].map(PathBuf::from));
    put(&fixture, "root/.git/config", "");
    put(&fixture, "root/.git/modules/a/config", "");
    put(&fixture, "root/.git/modules/b/HEAD", "");
    let expected = [".git/config", ".git/config.worktree", ".git/modules/a/config"];
    assert_eq!(views(&usual), expected.map(PathBuf::from));
    assert_eq!(views(&[".git/hooks"]), [""; 0].map(PathBuf::from));
    assert_eq!(views(&[".git"]), [""; 0].map(PathBuf::from));
    // A link leads to a file that others may use as well.
    fs::rename(fixture.at("root/.git/config"), fixture.at("root/.git/c")).expect("moved");
    std::os::unix::fs::symlink("c", fixture.at("root/.git/config")).expect("linked");
    assert_eq!(views(&usual), [".git/modules/a/config"].map(PathBuf::from));
}

#[test]
fn submodules_have_hooks_and_configurations() {
    let fixture = Fixture::new();
    put(&fixture, "root/.git/modules/a/config", "");
    put(&fixture, "root/.git/modules/libs/b/HEAD", "");
    put(&fixture, "root/.git/modules/libs/b/modules/c/hooks/x", "");
    put(&fixture, "root/.git/modules/libs/empty/x", "");
    // A configuration that is not there yet is made by git itself.
    let expected = ["a/config", "a/hooks", "libs/b/hooks", "libs/b/modules/c/hooks"];
    assert_eq!(beside(&fixture, &[]), expected.map(|path| format!("root/.git/modules/{path}")));
    // More than can be looked at are closed as a whole.
    for number in 0..600 {
        fs::create_dir_all(fixture.at(&format!("root/.git/modules/many/{number}"))).expect("made");
    }
    let all = beside(&fixture, &[]);
    assert!(all.len() < 20 && all.contains(&"root/.git/modules".to_owned()), "{all:?}");
    fs::remove_dir_all(fixture.at("root/.git/modules")).expect("removed");
    let deep = "/x".repeat(20);
    fs::create_dir_all(fixture.at(&format!("root/.git/modules{deep}"))).expect("made");
    assert_eq!(beside(&fixture, &[]), [format!("root/.git/modules{}", "/x".repeat(8))]);
}

#[test]
fn a_git_that_is_a_file_leads_to_the_repository() {
    let fixture = Fixture::new();
    put(&fixture, "root/.git", "gitdir: ../main/.git/worktrees/w\n");
    put(&fixture, "main/.git/worktrees/w/commondir", "../..\n");
    put(&fixture, "main/.git/worktrees/w/gitdir", "../../../../root/.git\n");
    put(&fixture, "main/.git/config", "");
    // None of it can be written, unless the host allows that.
    assert_eq!(beside(&fixture, &[]), [""; 0]);
    let expected = ["main/.git/config", "main/.git/hooks", "main/.git/worktrees/w/commondir"];
    assert_eq!(beside(&fixture, &["main"]), expected);
    put(&fixture, "root/.bare/HEAD", "");
    for text in ["gitdir: .bare", "gitdir: ./.bare/\n", "gitdir: .bare\r\n"] {
        put(&fixture, "root/.git", text);
        let expected = ["root/.bare/commondir", "root/.bare/config", "root/.bare/hooks"];
        assert_eq!(beside(&fixture, &[]), expected, "{text:?}");
    }
    for text in ["", "gitdir:.bare", "x", "gitdir: /no/such"] {
        put(&fixture, "root/.git", text);
        assert_eq!(beside(&fixture, &[]), [""; 0], "{text:?}");
    }
}

/// Elsewhere, the working tree's own `.git` can be exchanged, and `git worktree remove` must work.
#[test]
fn working_trees_are_protected_where_commands_cannot_write_to_them() {
    let fixture = Fixture::new();
    for (name, tree) in [("out", "../../../../elsewhere/.git"), ("in", "../../../wt/.git")] {
        put(&fixture, &format!("root/.git/worktrees/{name}/gitdir"), tree);
        put(&fixture, &format!("root/.git/worktrees/{name}/commondir"), "../..");
    }
    fs::create_dir_all(fixture.at("elsewhere")).expect("made");
    fs::create_dir_all(fixture.at("root/wt")).expect("made");
    let expected = ["commondir", "gitdir"].map(|name| format!("root/.git/worktrees/out/{name}"));
    assert_eq!(beside(&fixture, &[]), expected);
}

#[test]
fn a_root_that_is_a_repository_itself_is_one() {
    let fixture = Fixture::new();
    put(&fixture, "root/HEAD", "");
    fs::create_dir(fixture.at("root/objects")).expect("made");
    assert_eq!(beside(&fixture, &[]), [""; 0]);
    fs::create_dir(fixture.at("root/refs")).expect("made");
    assert_eq!(beside(&fixture, &[]), ["root/commondir", "root/config", "root/hooks"]);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.at("root/.git")).expect("made");
    for name in ["commondir", "config"] {
        let made =
            std::process::Command::new("mkfifo").arg(fixture.at("root/.git").join(name)).status();
        assert!(made.expect("runs").success());
    }
    assert_eq!(beside(&fixture, &[]), [""; 0]);
}

/// It is held before it is there, and also before there is a repository.
#[test]
fn what_leads_git_elsewhere_is_held_when_it_is_not_there() {
    let fixture = Fixture::new();
    let deny_write = vec![".git/hooks".into(), ".git/config".into()];
    let settings = Settings { deny_write, ..Settings::default() };
    let protected = || fixture.plan(&settings).expect("a plan").protected;
    let without = protected();
    assert!(without.contains(&fixture.at("root/.git/commondir")), "{without:?}");
    put(&fixture, "root/.git/HEAD", "");
    put(&fixture, "root/.git/config", "");
    put(&fixture, "root/.git/hooks/x", "");
    assert_eq!(protected(), without, "what stands for the repository makes no other plan");
    put(&fixture, "root/.git/commondir", ".");
    assert_eq!(protected(), without, "and what stands for this neither");
}

/// A command can make any number of them, and another has to run to remove them.
#[test]
fn no_number_of_working_trees_is_too_many() {
    let fixture = Fixture::new();
    let trees = fixture.at("root/.git/worktrees");
    put(&fixture, "root/.git/worktrees/out/gitdir", "/no/such/.git");
    put(&fixture, "root/.git/worktrees/out/commondir", "../..");
    for number in 0..20_000 {
        fs::create_dir(trees.join(number.to_string())).expect("made");
    }
    let expected = ["commondir", "gitdir"].map(|name| format!("root/.git/worktrees/out/{name}"));
    assert_eq!(beside(&fixture, &[]), expected, "those without a tree have none");
    // Once the directory has been left alone, it is known.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(beside(&fixture, &[]), expected);
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(beside(&fixture, &[]), expected);
    }
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    // A later one is noticed at once.
    put(&fixture, "root/.git/worktrees/new/gitdir", "/no/other/.git");
    let new = "root/.git/worktrees/new/gitdir".to_owned();
    assert!(beside(&fixture, &[]).contains(&new));
    // More than are held one by one are held together, and the directory with them.
    for number in 0..600 {
        put(&fixture, &format!("root/.git/worktrees/{number}/gitdir"), "/no/such/.git");
    }
    put(&fixture, "root/.git/worktrees/last/gitdir", "/no/such/.git");
    assert_eq!(beside(&fixture, &[]), ["root/.git/worktrees"]);
    fs::remove_dir_all(&trees).expect("removed");
    assert_eq!(beside(&fixture, &[]), [""; 0]);
}
