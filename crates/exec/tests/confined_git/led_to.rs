//! What git is led to in the project: hooks in another directory, included configurations, programs that
//! settings name, and links in the place of what is protected.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toolwright_exec::GitReport;
use toolwright_sandbox::plan::Plan;

use super::flows::REPOSITORY;
use super::support::done_alone;
use super::{Scene, has_namespaces, plan_of, set_aside};

/// As an installer of hooks leaves a project, with a configuration that is shared and a program of its own.
const PROJECT: &str = "mkdir -p .husky/_ scripts conf && printf '#!/bin/sh\\n. \"$(dirname \"$0\")/h\"\\n' > .husky/_/pre-commit \
    && echo ': > ../hooked' > .husky/_/h && chmod +x .husky/_/pre-commit && printf '[pull]\\n\\trebase = true\\n' > .gitconfig \
    && printf '#!/bin/sh\\nexit 1\\n' > scripts/fsmonitor && chmod +x scripts/fsmonitor && echo '#!/bin/sh' > scripts/clean \
    && printf '#!/bin/sh\\n' > scripts/post-commit && chmod +x scripts/post-commit && ln -s ../../scripts/post-commit .git/hooks/post-commit \
    && git config core.hooksPath .husky/_ && git config include.path ../.gitconfig && git config --add include.path ../later \
    && git config core.fsmonitor scripts/fsmonitor && git config filter.x.clean 'sh scripts/clean %f' && git config core.editor 'scripts/none --wait'";

/// Names that git is led to. A directory of hooks is one that commands write for themselves alone.
const LED_TO: [&str; 8] = [
    ".husky",
    ".husky/_",
    ".gitconfig",
    "scripts/fsmonitor",
    "scripts/clean",
    "scripts/post-commit",
    ".git/hooks",
    ".git/config",
];

/// What commands do with each.
const WAYS: [&str; 14] = [
    "echo '#!/bin/sh\n: > evil' > $F",
    "for f in $F/*; do echo ': > evil' > $f; chmod 755 $f; done",
    "echo ': > evil' > $F/h",
    "printf '#!/bin/sh\n: > evil\n' > $F/post-merge; chmod 755 $F/post-merge; cp $F/post-merge $F/post-commit",
    "rm -rf $F; mkdir -p $F; printf '#!/bin/sh\n: > evil\n' > $F/pre-commit; chmod 755 $F/pre-commit",
    "mv $F old; cp -r old $F; printf '#!/bin/sh\n: > evil\n' > $F/pre-commit",
    "mv $F old; ln -s old $F; echo ': > evil' > old; echo ': > evil' > old/h; echo ': > evil' > old/_/h",
    "printf '#!/bin/sh\n: > evil\n' > n; chmod 755 n; mv -f n $F",
    "ln -sf /bin/true $F/pre-commit; ln -sfn scripts $F",
    "mv $(dirname $F) x; mkdir -p $(dirname $F); printf '#!/bin/sh\n: > evil\n' > $F; chmod 755 $F",
    "printf '[alias]\n\tx = !: > evil\n[core]\n\thooksPath = src\n' >> $F",
    "git mv -f $F elsewhere; git rm -rf $F; git checkout HEAD -- .",
    "chmod -R 777 $F; touch $F",
    "perl -e 'mkdir q(n); syscall(316, -100, q(n), -100, shift, 2)' $F",
];

/// Every file at the names, as the host sees it.
fn seen(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    // What lies beside the directory of hooks is the project's.
    let names = LED_TO.iter().filter(|name| **name != ".husky");
    let mut left: Vec<PathBuf> = names.map(|name| root.join(name)).collect();
    while let Some(path) = left.pop() {
        let found =
            path.symlink_metadata().unwrap_or_else(|_| panic!("{} is gone", path.display()));
        let content = if found.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else if found.is_dir() {
            left.extend(fs::read_dir(&path).expect("listed").flatten().map(|entry| entry.path()));
            Vec::new()
        } else {
            fs::read(&path).expect("read")
        };
        all.insert(path, content);
    }
    // What stands for absent files while commands run, and what is the host's own.
    all.retain(|path, _| !path.ends_with(".git/config"));
    all
}

#[test]
fn what_git_is_led_to_stays_as_it_is_in_every_way() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
    let root = &scene.place.root;
    let before = seen(root);
    let mut wrong = Vec::new();
    for name in LED_TO {
        for way in WAYS {
            let (printed, _) = scene.confined(&format!("F={name}; {way}"));
            if seen(root) != before || root.join("evil").exists() {
                wrong.push(format!("{name}: {way}\n{printed}"));
            }
        }
    }
    let later =
        scene.on_host(root, "git commit -q --allow-empty -m later; git status -s; git x; ls evil");
    if root.join("evil").exists() {
        wrong.push(later);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// An installer runs again, and work beside the hooks goes on.
#[test]
fn installers_of_hooks_work_and_change_nothing_of_the_host() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
    let root = &scene.place.root;
    let before = seen(root);
    let (printed, reports) = scene.confined(
        "set -e; rm -f .husky/_/husky.sh; mkdir -p .husky/_; echo '*' > .husky/_/.gitignore; cp .husky/_/h x; cp x .husky/_/h; \
         for h in pre-commit post-merge; do printf 'new' > .husky/_/$h; done; rm x; cat .husky/_/post-merge; \
         echo npm test > .husky/pre-commit",
    );
    // Without overlays in memory the directory is read-only, and an installer fails.
    assert!(printed == "new[Some(0)]" || printed.contains("Read-only file system"), "{printed}");
    let reports = reports.take();
    if printed.starts_with("new") {
        let [GitReport::Hooks { directory, names }] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!(directory, &Path::new(".husky/_"));
        assert!(!names.contains(&"h".to_owned()), "it says the same: {names:?}");
    }
    assert!(seen(root) == before, "{printed}");
    if printed.starts_with("new") {
        let text = fs::read_to_string(root.join(".husky/pre-commit")).expect("it is there");
        assert_eq!(text, "npm test\n");
    }
    scene.on_host(root, "git commit -q --allow-empty -m later");
    assert!(root.join("../hooked").exists(), "the hooks of the person run");
    fs::remove_file(root.join("../hooked")).expect("removed");
}

/// A name that was not there is set aside when the command has ended.
#[test]
fn absent_names_that_settings_have_are_set_aside() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
    let root = &scene.place.root;
    let (_, reports) = scene.confined(
        "printf '[alias]\\n\\tx = !evil\\n' > later; printf '#!/bin/sh\\n: > evil\\n' > scripts/none; chmod 755 scripts/none",
    );
    let disabled = set_aside(&reports);
    for name in ["later", "none"] {
        assert!(disabled.contains(&name.to_owned()), "{disabled:?}");
    }
    assert!(!root.join("later").exists() && !root.join("scripts/none").exists());
    assert!(root.join("scripts/none.disabled").exists());
}

/// What is known of absent names from one command to the next holds for as long as nobody makes one.
#[test]
fn names_are_set_aside_in_each_command_and_a_persons_stay() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let confined = |script: &str| {
        scene.confined_with(script, |plan| {
            let readable = std::mem::take(&mut plan.readable);
            *plan = Plan { readable, ..plan_of(root, &["@git", "@agents"], None, None) };
        })
    };
    // Long enough that the time of each change tells it from the last.
    let pause = || std::thread::sleep(std::time::Duration::from_millis(120));
    for round in 0..3 {
        pause();
        let (_, reports) = confined("true; mkdir -p src && : > src/x");
        assert_eq!(set_aside(&reports), Vec::<String>::new());
        let (_, reports) = confined("mkdir .claude && echo evil > .claude/settings.json");
        assert_eq!(set_aside(&reports).len(), 1, "round {round}");
        assert!(!root.join(".claude").exists());
        pause();
        confined("true");
        fs::create_dir(root.join(".claude")).expect("made");
        fs::write(root.join(".claude/settings.json"), "{}").expect("written");
        let (_, reports) = confined("echo evil > .claude/settings.json; rm -rf .claude");
        assert_eq!(set_aside(&reports), Vec::<String>::new());
        let kept = fs::read_to_string(root.join(".claude/settings.json")).expect("there");
        assert_eq!(kept, "{}", "round {round}");
        fs::remove_dir_all(root.join(".claude")).expect("removed");
    }
}

/// The person's own configuration, wherever a variable puts it.
#[test]
fn configurations_of_the_user_lead_to_the_project_too() {
    let name = "led_to::configurations_of_the_user_lead_to_the_project_too";
    if !has_namespaces()
        || done_alone(name, "GIT_CONFIG_GLOBAL=$(mktemp); export GIT_CONFIG_GLOBAL;")
    {
        return;
    }
    let scene = Scene::new(&format!(
        "{REPOSITORY} && mkdir hooks conf && echo '#!/bin/sh' > hooks/pre-commit && : > conf/shared"
    ));
    let root = &scene.place.root;
    let Some(global) = std::env::var_os("GIT_CONFIG_GLOBAL") else { panic!("it is set") };
    let text = format!(
        "[core]\n\thooksPath = {0}/hooks\n[includeIf \"gitdir:/**\"]\n\tpath = {0}/conf/shared\n",
        root.display()
    );
    fs::write(&global, text).expect("written");
    let (printed, _) = scene.confined(
        "echo evil > hooks/pre-commit; echo evil > conf/shared; mv hooks h2; mv conf c2; rm conf/shared",
    );
    assert_eq!(
        fs::read_to_string(root.join("hooks/pre-commit")).expect("there"),
        "#!/bin/sh\n",
        "{printed}"
    );
    assert_eq!(fs::read_to_string(root.join("conf/shared")).expect("there"), "", "{printed}");
}
