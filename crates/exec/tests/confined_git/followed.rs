//! What the configuration of a repository leads git to, in the project.

use std::fs;

use super::flows::REPOSITORY;
use super::{Scene, has_namespaces};

/// As an installer of hooks leaves a project, with a configuration that is shared.
const PROJECT: &str = "mkdir -p .husky/_ && printf '#!/bin/sh\\n. \"$(dirname \"$0\")/h\"\\n' > .husky/_/pre-commit \
    && echo ': > ../hooked' > .husky/_/h && chmod +x .husky/_/pre-commit && printf '[pull]\\n\\trebase = true\\n' > .gitconfig \
    && git config core.hooksPath .husky/_ && git config include.path ../.gitconfig && git config --add include.path ../later";

/// What a command does, what of it gets another name, and what of that is there again.
const CASES: &[(&str, &[&str], &[&str])] = &[
    ("echo evil > .husky/_/pre-commit", &["pre-commit"], &["pre-commit"]),
    ("echo 'touch evil' > .husky/_/h", &["h"], &["h"]),
    ("mv .husky/_/h x; cp x .husky/_/h; rm x; sed -i s/hooked/evil/ .husky/_/h", &["h"], &["h"]),
    ("cp .husky/_/pre-commit .husky/_/post-commit", &["post-commit"], &[]),
    ("ln -s ../../x .husky/_/pre-push", &["pre-push"], &[]),
    ("rm .husky/_/h; mkfifo .husky/_/h", &["h"], &["h"]),
    ("rm .husky/_/h; mkdir -p .husky/_/h/x", &["h"], &["h"]),
    (
        "mv .husky old; mkdir h; cp -r old/_ h; echo evil > h/_/pre-commit; ln -s h .husky",
        &[".husky"],
        &[],
    ),
    ("mv .husky/_ old; ln -s ../old .husky/_; echo evil > old/pre-commit", &["_"], &[]),
    (
        "mv .husky old; mkdir -p .husky/_; echo evil > .husky/_/pre-commit",
        &["pre-commit"],
        &["pre-commit"],
    ),
    ("chmod 777 .husky/_/pre-commit", &["pre-commit"], &["pre-commit"]),
    ("printf '[alias]\\n\\tx = !evil\\n' >> .gitconfig", &[".gitconfig"], &[".gitconfig"]),
    ("printf '[alias]\\n\\tx = !evil\\n' > later", &["later"], &[]),
    (
        "chmod 555 .husky/_; cd .husky/_; echo evil > pre-commit; true",
        &["pre-commit"],
        &["pre-commit"],
    ),
    // An installer again, a file that nothing reads, and one that goes.
    (
        "mkdir -p .husky/_; cp -p .husky/_/h x; mv x .husky/_/h; cat .husky/_/pre-commit > x; cat x > .husky/_/pre-commit",
        &[],
        &[],
    ),
    ("touch .husky/_/pre-commit .gitconfig", &[], &[]),
    ("echo x > .husky/_/README.md; echo npm test > .husky/pre-commit", &[], &[]),
    ("rm -r .husky", &[], &[]),
    ("git checkout -q -b x; git commit -q --allow-empty -m x", &[], &[]),
];

#[test]
fn hooks_and_configurations_of_the_project_are_put_back() {
    if !has_namespaces() {
        return;
    }
    let mut wrong = Vec::new();
    for (script, disabled, put_back) in CASES {
        let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
        let root = &scene.place.root;
        let (printed, reports) = scene.confined(script);
        let reports = reports.take();
        let names = |of: fn(&toolwright_exec::GitReport) -> &Vec<String>| -> Vec<String> {
            reports.iter().flat_map(|report| of(report).clone()).collect()
        };
        let (aside, back) = (names(|one| &one.disabled), names(|one| &one.put_back));
        let is_reported = aside == *disabled && back == *put_back;
        let later = scene.on_host(root, "git commit -q --allow-empty -m later; git x; ls evil");
        let has_failed = reports.iter().any(|report| report.problem.is_some());
        let runs_evil = root.join("evil").exists() || later.contains("evil: not found");
        if !is_reported || has_failed || runs_evil {
            wrong.push(format!("{script}\n{printed}\n{reports:?}\n{later}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The hooks of the person run, before and after.
#[test]
fn what_is_put_back_is_what_was_there() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
    let root = &scene.place.root;
    let before = scene.on_host(root, "stat -c %a .husky/_/*; cat .husky/_/* .gitconfig");
    for _ in 0..2 {
        scene
            .confined("for f in .husky/_/*[a-z] .gitconfig; do echo evil > $f; chmod 600 $f; done");
        let after = scene.on_host(root, "stat -c %a .husky/_/h .husky/_/pre-commit; cat .husky/_/h .husky/_/pre-commit .gitconfig");
        assert_eq!(after, before);
    }
    assert!(root.join(".husky/_/pre-commit.disabled").exists());
    scene.on_host(root, "git commit -q --allow-empty -m later");
    assert!(root.join("../hooked").exists());
    assert_eq!(scene.on_host(root, "git config pull.rebase"), "true\n[Some(0)]");
    fs::remove_file(root.join("../hooked")).expect("removed");
}

/// What leads to the hooks can be written too. It is put back, and so is what it led to before.
#[test]
fn a_changed_include_does_not_hide_the_hooks_that_it_names() {
    if !has_namespaces() {
        return;
    }
    let project = "mkdir own src && echo : > own/pre-commit && chmod +x own/pre-commit \
        && printf '[core]\\n\\thooksPath = own\\n' > .gitconfig && git config include.path ../.gitconfig";
    let scene = Scene::new(&format!("{REPOSITORY} && {project}"));
    let root = &scene.place.root;
    let plant = "printf '[core]\\n\\thooksPath = src\\n' > .gitconfig; printf '#!/bin/sh\\n: > evil\\n' > own/pre-commit; \
        echo mine > src/update";
    let (_, reports) = scene.confined(plant);
    let disabled: Vec<_> = reports.take().into_iter().flat_map(|one| one.disabled).collect();
    assert_eq!(disabled, [".gitconfig", "pre-commit"]);
    scene.on_host(root, "git commit -q --allow-empty -m later");
    assert!(!root.join("evil").exists());
    // No configuration of a person leads there.
    assert!(root.join("src/update").exists());
}

/// Files that nothing reads are left, however many there are.
#[test]
fn many_files_do_not_hide_the_hooks_among_them() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
    scene.confined("cd .husky/_; for n in $(seq 600); do : > $n; done");
    let (_, reports) =
        scene.confined("cd .husky/_; echo evil > pre-commit; echo evil > h; echo evil > pre-push");
    let mut disabled: Vec<_> = reports.take().into_iter().flat_map(|one| one.disabled).collect();
    disabled.sort_unstable();
    assert_eq!(disabled, ["h", "pre-commit", "pre-push"]);
}
