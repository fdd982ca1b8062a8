//! What the configuration of a repository leads git to, in the project.

use toolwright_exec::{GitReport, GitReports};

use super::flows::REPOSITORY;
use super::{Scene, has_namespaces};

/// As an installer of hooks leaves a project, with a configuration that is shared.
const PROJECT: &str = "mkdir -p .husky/_ && printf '#!/bin/sh\\n. \"$(dirname \"$0\")/h\"\\n' > .husky/_/pre-commit \
    && echo ': > ../hooked' > .husky/_/h && chmod +x .husky/_/pre-commit && printf '[pull]\\n\\trebase = true\\n' > .gitconfig \
    && git config core.hooksPath .husky/_ && git config include.path ../.gitconfig && git config --add include.path ../later";

/// What a command does, and what of it is named.
const CASES: &[(&str, &[&str])] = &[
    ("echo evil > .husky/_/pre-commit", &["pre-commit"]),
    ("echo 'touch evil' > .husky/_/h", &["h"]),
    ("mv .husky/_/h x; cp x .husky/_/h; rm x; sed -i s/hooked/evil/ .husky/_/h", &["h"]),
    ("cp .husky/_/pre-commit .husky/_/post-commit", &["post-commit"]),
    ("ln -s ../../x .husky/_/pre-push", &["pre-push"]),
    ("rm .husky/_/h; mkfifo .husky/_/h", &["h"]),
    ("rm .husky/_/h; ln -s /dev/zero .husky/_/h", &["h"]),
    ("rm .husky/_/h; mkdir -p .husky/_/h/x", &["h"]),
    (
        "mv .husky old; mkdir h; cp -r old/_ h; echo evil > h/_/pre-commit; ln -s h .husky",
        &[".husky", "pre-commit"],
    ),
    ("mv .husky/_ old; ln -s ../old .husky/_; echo evil > old/pre-commit", &["_", "pre-commit"]),
    ("mv .husky old; mkdir -p .husky/_; echo evil > .husky/_/pre-commit", &["pre-commit"]),
    ("chmod 777 .husky/_/pre-commit", &["pre-commit"]),
    ("printf '[alias]\n\tx = !evil\n' >> .gitconfig", &[".gitconfig"]),
    ("printf '[alias]\n\tx = !evil\n' > later", &["later"]),
    ("rm .gitconfig; mkfifo .gitconfig later", &[".gitconfig", "later"]),
    ("chmod 555 .husky/_; cd .husky/_; echo evil > pre-commit; true", &["pre-commit"]),
    // An installer again, a file that nothing reads, and one that goes.
    (
        "mkdir -p .husky/_; cp -p .husky/_/h x; mv x .husky/_/h; cat .husky/_/pre-commit > x; cat x > .husky/_/pre-commit",
        &[],
    ),
    ("touch .husky/_/pre-commit .gitconfig", &[]),
    ("echo x > .husky/_/README.md; echo npm test > .husky/pre-commit", &[]),
    ("rm -r .husky", &[]),
    ("git checkout -q -b x; git commit -q --allow-empty -m x", &[]),
    // What a link leads to is none of the project's, and nothing is said of it.
    ("rm -r .husky; ln -s $BESIDE .husky", &[".husky"]),
];

/// The names of what was left, and nothing else was reported.
fn left(reports: &GitReports) -> Vec<String> {
    let named = |report: GitReport| {
        assert_eq!(
            report,
            GitReport {
                file: report.file.clone(),
                left: report.left.clone(),
                ..GitReport::default()
            }
        );
        report.left
    };
    let mut left: Vec<String> = reports.take().into_iter().flat_map(named).collect();
    left.sort_unstable();
    left
}

#[test]
fn changed_hooks_and_configurations_of_the_project_are_named_and_left() {
    if !has_namespaces() {
        return;
    }
    for (script, expected) in CASES {
        let scene = Scene::new(&format!("{REPOSITORY} && {PROJECT}"));
        let root = &scene.place.root;
        let list = "find . -path ./.git -prune -o -type f -printf '%p %i %m\n' | sort";
        let (printed, reports) = scene.confined(script);
        assert_eq!(left(&reports), *expected, "{script}\n{printed}");
        // Said once.
        let before = scene.on_host(root, list);
        let (_, reports) = scene.confined("true");
        assert_eq!(left(&reports), [""; 0], "{script}");
        assert_eq!(scene.on_host(root, list), before, "{script}");
    }
}

/// What leads to the hooks can be written too.
#[test]
fn a_changed_include_does_not_hide_the_hooks_that_it_names() {
    if !has_namespaces() {
        return;
    }
    let project = "mkdir own src && echo : > own/pre-commit && chmod +x own/pre-commit && echo mine > src/update \
        && printf '[core]\n\thooksPath = own\n' > .gitconfig && git config include.path ../.gitconfig";
    let scene = Scene::new(&format!("{REPOSITORY} && {project}"));
    let plant = "printf '[core]\n\thooksPath = src\n' > .gitconfig; echo evil > own/pre-commit; echo evil > src/post-commit";
    let (_, reports) = scene.confined(plant);
    assert_eq!(left(&reports), [".gitconfig", "post-commit", "pre-commit", "update"]);
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
    assert_eq!(left(&reports), ["h", "pre-commit", "pre-push"]);
}
