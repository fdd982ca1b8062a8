//! What a person does between two commands, and the second one must not undo.

use super::super::Scene;
use super::has_namespaces;

/// What a command leaves, what a person does then, and what the next command does. The last line is what the person
/// sees afterwards, twice: before the second command, and after it.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "mkdir -p p/.git",
        "git init -q p && git -C p commit -q --allow-empty -m mine",
        "mkdir p/x; echo x > p/f",
        "git -C p log --format=%s; ls -A p/.git | head -3",
    ),
    (
        "mkdir -p p/.git; echo x > p/.git/HEAD",
        "rmdir p/.git && git clone -q $BESIDE/lib p2 && mv p2/.git p/.git",
        "echo x > p/f; mkdir q",
        "git -C p log --format=%s",
    ),
    (
        "mkdir -p p/.git",
        "rm -rf p && git init -q p && git -C p commit -q --allow-empty -m mine",
        "git -C p commit -q --allow-empty -m theirs; echo x > p/f; git -C p log --format=%s",
        "git -C p log --format=%s | tail -1",
    ),
    (
        "git init -q --bare b; git init -q --bare c/d",
        "echo '#!/bin/sh' > b/hooks/pre-receive && git -C b config receive.denyDeletes true && mv c e",
        "mkdir b/x; echo x > f",
        "cat b/hooks/pre-receive; git -C b config receive.denyDeletes; git -C e/d rev-parse --git-dir",
    ),
    (
        "git init -q p; git -C p commit -q --allow-empty -m theirs",
        "rm -rf p/.git && git init -q p && git -C p commit -q --allow-empty -m mine && echo '#!/bin/sh' > p/.git/hooks/pre-push",
        "echo x > p/f; git -C p status -s",
        "git -C p log --format=%s; cat p/.git/hooks/pre-push",
    ),
    (
        "mkdir e; echo gitdir: ../lib > e/.git",
        "git init -q --separate-git-dir=lib e && git -C e commit -q --allow-empty -m mine",
        "echo x > e/f; mkdir g",
        "git -C e log --format=%s",
    ),
];

#[test]
fn what_a_person_makes_between_commands_stays() {
    if !has_namespaces() {
        return;
    }
    let mut wrong = Vec::new();
    for (first, then, second, seen) in CASES {
        let scene = Scene::new("");
        let root = &scene.place.root;
        scene.confined(first);
        let done = scene.on_host(root, then);
        let before = scene.on_host(root, seen);
        let (printed, reports) = scene.confined(second);
        let after = scene.on_host(root, seen);
        if before != after {
            wrong.push(format!(
                "{first}\n{then}: {done}\n{before}\n{second}\n{printed}\n{after}\n{:?}",
                reports.take()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
