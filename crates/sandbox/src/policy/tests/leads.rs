//! What git is led to, and links in the place of protected paths.

use std::os::unix::fs::symlink;

use super::{Fixture, Settings, put, *};

fn plan_of(fixture: &Fixture, deny_write: &[&str], writable_roots: &[&str]) -> Plan {
    let settings = Settings {
        deny_write: deny_write.iter().map(PathBuf::from).collect(),
        writable_roots: writable_roots.iter().map(|path| fixture.at(path)).collect(),
        ..Settings::default()
    };
    fixture.plan(&settings).expect("a plan")
}

fn repository(fixture: &Fixture, at: &str, config: &str) {
    put(fixture, &format!("{at}/.git/HEAD"), "ref: refs/heads/main\n");
    put(fixture, &format!("{at}/.git/config"), config);
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(fixture.at(at).join(".git").join(name)).expect("made");
    }
}

fn link(fixture: &Fixture, at: &str, target: &str) {
    let at = fixture.at(at);
    fs::create_dir_all(at.parent().expect("one")).expect("made");
    symlink(target, at).expect("linked");
}

/// The link itself, every link that it leads through, and the end.
#[test]
fn a_protected_name_that_is_a_link_is_protected_with_all_that_it_leads_through() {
    for (name, deny_write) in
        [(".vscode", "@editors"), (".claude", "@agents"), (".mcp.json", "@agents"), ("x/y", "x/y")]
    {
        let fixture = Fixture::new();
        put(&fixture, "root/tools/real/settings.json", "{}");
        let up = if name.contains('/') { "../" } else { "" };
        link(&fixture, &format!("root/{name}"), &format!("{up}tools/other"));
        link(&fixture, "root/tools/other", "real");
        let plan = plan_of(&fixture, &[deny_write], &[]);
        for path in [name, "tools/other", "tools/real"] {
            assert!(plan.protected.contains(&fixture.at("root").join(path)), "{name}: {path}");
        }
        assert!(!plan.set_aside.contains(&fixture.at("root").join(name)), "{name}");
    }
    // Also where the link leads nowhere yet, and where the way to an absent path has a link in it.
    let fixture = Fixture::new();
    link(&fixture, "root/.vscode", "later/vscode");
    link(&fixture, "root/.github", "gh");
    fs::create_dir(fixture.at("root/gh")).expect("made");
    let plan = plan_of(&fixture, &["@editors", "@ci"], &[]);
    for path in [".vscode", "later/vscode", ".github", "gh/workflows"] {
        assert!(plan.protected.contains(&fixture.at("root").join(path)), "{path}");
    }
}

#[test]
fn hooks_that_are_links_are_protected_where_they_lead() {
    let fixture = Fixture::new();
    repository(&fixture, "root", "");
    put(&fixture, "root/scripts/pre-commit", "");
    link(&fixture, "root/.git/hooks/pre-commit", "../../scripts/alias");
    link(&fixture, "root/scripts/alias", "pre-commit");
    put(&fixture, "root/.git/modules/m/HEAD", "");
    for name in ["objects", "refs"] {
        fs::create_dir_all(fixture.at("root/.git/modules/m").join(name)).expect("made");
    }
    put(&fixture, "root/scripts/of-module", "");
    link(&fixture, "root/.git/modules/m/hooks/update", "../../../../scripts/of-module");
    let plan = plan_of(&fixture, &["@git"], &[]);
    for path in ["scripts/pre-commit", "scripts/alias", "scripts/of-module"] {
        assert!(plan.protected.contains(&fixture.at("root").join(path)), "{path}");
    }
    let plan = plan_of(&fixture, &[".git/config"], &[]);
    assert!(!plan.protected.contains(&fixture.at("root/scripts/pre-commit")));
}

#[test]
fn what_a_configuration_leads_to_is_protected_before_a_command_begins() {
    let fixture = Fixture::new();
    repository(
        &fixture,
        "root",
        "[core]\n\thooksPath = .githooks\n\tfsmonitor = scripts/fsmonitor\n\tattributesFile = conf/attributes\n\
         \teditor = scripts/absent --wait\n[include]\n\tpath = ../conf/git\n[filter \"x\"]\n\
         \tclean = python3 scripts/clean.py %f\n[include]\n\tpath = ../conf/later\n\
         [alias]\n\tst = status\n[user]\n\tname = notes.txt\n",
    );
    for path in [
        ".githooks/pre-commit",
        "scripts/fsmonitor",
        "scripts/clean.py",
        "conf/attributes",
        "conf/git",
        "notes.txt",
    ] {
        put(&fixture, &format!("root/{path}"), "");
    }
    let at = |path: &str| fixture.at("root").join(path);
    let plan = plan_of(&fixture, &["@git"], &[]);
    for path in
        [".githooks", "scripts/fsmonitor", "scripts/clean.py", "conf/attributes", "conf/git"]
    {
        assert!(plan.protected.contains(&at(path)), "{path}: {:?}", plan.protected);
    }
    assert_eq!(plan.hooks, [at(".githooks")]);
    for path in ["scripts/absent", "conf/later"] {
        assert!(plan.set_aside.contains(&at(path)), "{path}: {:?}", plan.set_aside);
    }
    assert!(!plan.protected.contains(&at("notes.txt")));
    // None of it without what it belongs to.
    let plan = plan_of(&fixture, &["@editors"], &[]);
    assert!(plan.protected.is_empty() && plan.hooks.is_empty());
    let plan = plan_of(&fixture, &[".git/hooks"], &[]);
    assert!(plan.protected.contains(&at(".githooks")) && !plan.protected.contains(&at("conf/git")));
}

#[test]
fn a_root_below_its_repository_is_led_to_by_that() {
    let fixture = Fixture::new();
    put(&fixture, "root/hooks/pre-commit", "");
    put(&fixture, "root/scripts/post-merge", "");
    repository(&fixture, ".", "[core]\n\thooksPath = root/hooks\n");
    link(&fixture, ".git/hooks/post-merge", "../../root/scripts/post-merge");
    let plan = plan_of(&fixture, &["@git"], &[]);
    assert_eq!(plan.hooks, [fixture.at("root/hooks")]);
    assert!(plan.protected.contains(&fixture.at("root/scripts/post-merge")));
}

#[test]
fn a_root_is_no_directory_of_hooks() {
    let fixture = Fixture::new();
    for path in [".", "..", "/"] {
        repository(&fixture, "root", &format!("[core]\n\thooksPath = {path}\n"));
        let plan = plan_of(&fixture, &["@git"], &[]);
        assert!(plan.hooks.is_empty(), "{path}");
        assert!(plan.protected.iter().all(|path| path.starts_with(fixture.at("root/.git"))));
    }
}

#[test]
fn names_hold_in_every_writable_directory() {
    let fixture = Fixture::new();
    repository(&fixture, "lib", "[core]\n\thooksPath = h\n");
    put(&fixture, "lib/h/pre-commit", "");
    put(&fixture, "lib/.vscode/tasks.json", "");
    fs::create_dir(fixture.at("empty")).expect("made");
    let plan = plan_of(&fixture, &["@git", "@editors", "@tools", "own"], &["lib", "empty"]);
    for path in ["lib/.vscode", "lib/h"] {
        assert!(plan.protected.contains(&fixture.at(path)), "{path}");
    }
    assert_eq!(plan.hooks, [fixture.at("lib/h")]);
    assert_eq!(plan.forks, [fixture.at("lib/.git")]);
    for path in ["lib/.idea", "lib/.windsurf", "empty/.vscode", "empty/opencode.json"] {
        assert!(plan.set_aside.contains(&fixture.at(path)), "{path}");
    }
    // A path of the caller's own is one below the root.
    assert!(!plan.set_aside.contains(&fixture.at("lib/own")));
    assert!(
        !plan.protected.iter().any(|path| path.starts_with(fixture.at("empty"))),
        "no placeholder"
    );
    // In a directory below the root the repositories are looked at already.
    fs::create_dir(fixture.at("root/below")).expect("made");
    let plan = plan_of(&fixture, &["@git", "@editors"], &["root/below"]);
    assert!(!plan.set_aside.contains(&fixture.at("root/below/.git")));
    assert!(plan.set_aside.contains(&fixture.at("root/below/.vscode")));
}

/// A pipe, a device, a circle, an endless file: none is waited for.
#[test]
fn whatever_is_in_the_place_of_a_configuration_is_not_waited_for() {
    let fixture = Fixture::new();
    repository(
        &fixture,
        "root",
        "[include]\n\tpath = ../pipe\n[include]\n\tpath = ../zero\n[include]\n\tpath = ../circle\n",
    );
    let made = std::process::Command::new("mkfifo").arg(fixture.at("root/pipe")).status();
    assert!(made.expect("runs").success());
    link(&fixture, "root/zero", "/dev/zero");
    link(&fixture, "root/circle", "circle");
    let started = std::time::Instant::now();
    let plan = plan_of(&fixture, &["@git"], &[]);
    assert!(started.elapsed() < std::time::Duration::from_secs(1));
    for path in ["pipe", "zero", "circle"] {
        assert!(plan.protected.contains(&fixture.at("root").join(path)), "{path}");
    }
}
