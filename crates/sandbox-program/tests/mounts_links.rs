//! Links in the place of protected paths: no way to replace one, or what it leads to.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use mounts_fixture::{Fixture, confined, each_user, give, write};
use toolwright_sandbox::plan::Plan;

/// A protected name, the link in its place, and where it leads.
const LINKS: [(&str, &str, &str); 6] = [
    (".git/hooks", "../scripts", "scripts"),
    (".git/config", "../conf/c", "conf/c"),
    (".vscode", "tools/vscode", "tools/vscode"),
    (".mcp.json", "conf/mcp.json", "conf/mcp.json"),
    (".claude", ".agents", ".agents"),
    ("deep/er/name", "../up", "deep/up"),
];

/// Each tries to put something else at `$1`, the name, or in the place of `$2`, which it leads to.
const WAYS: [&str; 21] = [
    "rm \"$1\"",
    "rm -rf \"$1\"; mkdir \"$1\"",
    "unlink \"$1\"",
    "mkdir new; mv -T new \"$1\"",
    "echo evil > new; mv -fT new \"$1\"",
    "ln -sfn new \"$1\"",
    "ln -s new l; mv -fT l \"$1\"",
    "mv \"$1\" elsewhere",
    "mv -T \"$1\" \"$1.old\"",
    "mv \"$2\" elsewhere",
    "rm -rf \"$2\"; mkdir -p \"$2\"; echo evil > \"$2/pre-commit\"",
    "echo evil > \"$2\"",
    "echo evil > \"$2/pre-commit\"",
    "touch \"$2/new\"",
    "cp new \"$1\"; echo evil > \"$1/new\"",
    "mv \"$(dirname \"$1\")\" elsewhere && mkdir -p \"$1\"",
    "mv \"$(dirname \"$2\")\" elsewhere && mkdir -p \"$2\"",
    "tar -cf a.tar --files-from=/dev/null; tar -xf a.tar --overwrite -C \"$1\" && touch \"$1/new\"",
    "chmod 777 \"$2\"",
    "ln \"$2\" twin && echo evil > twin",
    "mkdir new; perl -e 'exit(syscall($ARGV[0], -100, $ARGV[1], -100, $ARGV[2], 2) == -1)' \
     $(case $(uname -m) in x86_64) echo 316;; *) echo 276;; esac) new \"$1\"",
];

fn plan(root: &Path) -> Plan {
    let mut plan = confined(root);
    plan.protected = LINKS.iter().map(|(name, ..)| root.join(name)).collect();
    plan
}

fn fill(user: u32, root: &Path) {
    for file in
        ["scripts/pre-commit", "conf/c", "conf/mcp.json", "tools/vscode/tasks.json", ".agents/a"]
    {
        write(root, file, "mine");
    }
    write(root, "deep/up/file", "mine");
    write(root, ".git/HEAD", "ref: refs/heads/main\n");
    write(root, "deep/er/beside", "mine");
    for (name, target, _) in LINKS {
        symlink(target, root.join(name)).expect("it can be made");
        give(user, &root.join(root.join(name).parent().expect("one")));
    }
}

/// Everything at the protected names and where they lead, as the host sees it.
fn seen(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut left: Vec<PathBuf> =
        LINKS.iter().flat_map(|(name, _, end)| [root.join(name), root.join(end)]).collect();
    while let Some(path) = left.pop() {
        let found = path.symlink_metadata().expect("it is there");
        let shown = if found.is_symlink() {
            fs::read_link(&path).expect("a link").display().to_string()
        } else if found.is_dir() {
            left.extend(fs::read_dir(&path).expect("readable").flatten().map(|entry| entry.path()));
            "a directory".to_owned()
        } else {
            fs::read_to_string(&path).expect("readable")
        };
        all.insert(path, shown);
    }
    all
}

#[test]
fn no_way_replaces_a_link_or_what_it_leads_to() {
    each_user(|user, root| {
        fill(user, root);
        let before = seen(root);
        let mut fixture = Fixture::start(user, &plan(root));
        for (name, _, end) in LINKS {
            for way in WAYS {
                let _ = fixture.run(&format!("set -- '{name}' '{end}'; {way}"));
                let _ = fixture.run("rm -rf new l elsewhere twin a.tar");
                assert_eq!(seen(root), before, "{name}: {way}");
            }
        }
        // Work beside them goes on.
        fixture.check("touch .git/index conf/other tools/x deep/er/x && mv deep/er/x deep/y");
        fixture.end();
        assert_eq!(seen(root), before);
    });
}

/// The supervisor covers again what the host has replaced while commands run.
#[test]
fn a_link_that_the_host_makes_anew_is_held_again() {
    each_user(|user, root| {
        fill(user, root);
        let mut fixture = Fixture::start(user, &plan(root));
        let link = root.join(".vscode");
        write(root, "tools/second/tasks.json", "mine");
        symlink("tools/second", root.join("made")).expect("it can be made");
        fs::rename(root.join("made"), &link).expect("it can be replaced");
        fixture.run("@changed");
        std::thread::sleep(std::time::Duration::from_millis(50));
        fixture.run("@changed");
        drop(fixture);
        let mut fixture = Fixture::start(user, &plan(root));
        fixture.refuse(&["rm .vscode", "echo evil > tools/second/tasks.json"]);
        fixture.end();
        assert_eq!(fs::read_link(&link).expect("a link"), Path::new("tools/second"));
    });
}

#[test]
fn hooks_in_the_project_are_written_to_a_fork() {
    each_user(|user, root| {
        write(root, ".husky/_/pre-commit", "mine");
        write(root, ".husky/_/h", "mine");
        let directory = root.join(".husky/_");
        let mut plan = confined(root);
        plan.protected = vec![directory.clone()];
        plan.hooks = vec![directory.clone()];
        let mut fixture = Fixture::start(user, &plan);
        let (output, status) = fixture.run(
            "echo other > .husky/_/pre-commit && rm -f .husky/_/h && echo new > .husky/_/post-merge && \
             cat .husky/_/pre-commit .husky/_/post-merge",
        );
        // Where there are no forks, it is read-only.
        assert!(status != 0 || output.contains("other\nnew"), "{output}");
        fixture.refuse(&["mv .husky x", "mv .husky/_ x", "rmdir .husky/_"]);
        fixture.check("touch .husky/pre-commit");
        fixture.end();
        let text = |name: &str| fs::read_to_string(directory.join(name)).expect("it is there");
        assert_eq!((text("pre-commit"), text("h")), ("mine".to_owned(), "mine".to_owned()));
        assert!(!directory.join("post-merge").exists());
    });
}
