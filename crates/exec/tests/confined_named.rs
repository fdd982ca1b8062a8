//! A grant is seen by the name that it was given, also where a link leads there and commands have a directory for
//! temporary files of their own.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::place::{Place, has_namespaces};
use support::{all_as_another_user, scene};
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::{Grants, Options, ReadScope, RequestedPath, RequestedPaths, plan};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// A place with directories beside the root, and links that lead to them.
struct Scene {
    place: Place,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    root: PathBuf,
    path: Option<OsString>,
}

impl Scene {
    fn new() -> Self {
        let place = Place::confined();
        let at = |path: &str| place.outside.join(path);
        for (directory, content) in
            [("real", "granted"), ("real/sub", "below"), ("secret", "SECRET")]
        {
            fs::create_dir_all(at(directory)).expect("made");
            fs::write(at(directory).join("f"), content).expect("written");
        }
        fs::create_dir_all(at("a/b")).expect("made");
        for (link, target) in [
            ("link", at("real")),
            ("relative", "real".into()),
            ("a/b/up", "../../real".into()),
            ("chain", "a/b/next".into()),
            ("a/b/next", "../../link".into()),
            ("named-root", "root".into()),
            ("file", "real/f".into()),
        ] {
            symlink(target, at(link)).expect("linked");
        }
        let root = at("root");
        Self { place, readable: Vec::new(), writable: Vec::new(), root, path: None }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.outside.join(path)
    }

    fn grants(&self) -> Grants {
        let named = |option: &'static str, paths: &[PathBuf]| {
            let paths = paths.iter().map(|path| RequestedPath { path: path.clone(), seen: None });
            RequestedPaths { option, paths: paths.collect() }
        };
        let root = Arc::new(DirectoryGrant::new("root", &self.root));
        let (writable, readable) =
            (named("writable", &self.writable), named("readable", &self.readable));
        Grants::new(root, writable, readable, Vec::new(), None)
    }

    fn plan(&self, grants: &Grants, read_scope: ReadScope) -> Plan {
        let resolved = grants.resolve().expect("granted");
        plan(&Options {
            read_scope,
            writable_roots: &self.writable,
            readable: &self.readable,
            path: self.path.as_deref(),
            ..scene::options(&resolved, &[])
        })
    }

    fn says(&mut self, plan: Plan, script: &str) -> String {
        self.place.plan = plan;
        self.place.output(&format!("cd {}; exec 2>&1; {script}", self.place.outside.display()))
    }
}

#[test]
fn by_a_link() {
    if !has_namespaces() {
        return;
    }
    for name in ["link", "relative", "a/b/up", "chain", "a/b/next", "link/sub/.."] {
        for read_scope in [ReadScope::All, ReadScope::System] {
            let mut scene = Scene::new();
            scene.readable = vec![scene.at(name)];
            let plan = scene.plan(&scene.grants(), read_scope);
            let script = format!(
                "cat {name}/f; echo; cat {name}/sub/f real/f; echo x > {name}/f; cat secret/f"
            );
            let said = scene.says(plan, &script);
            assert!(said.starts_with("granted\nbelowgranted"), "{name}: {said}");
            assert!(said.contains("Read-only") && !said.contains("SECRET"), "{name}: {said}");
            let mut scene = Scene::new();
            scene.writable = vec![scene.at(name)];
            let plan = scene.plan(&scene.grants(), read_scope);
            let said =
                scene.says(plan, &format!("cat {name}/f && printf new > {name}/g; cat secret/f"));
            assert!(said.starts_with("granted") && !said.contains("SECRET"), "{name}: {said}");
            assert_eq!(fs::read_to_string(scene.at("real/g")).expect("made"), "new", "{name}");
        }
    }
}

#[test]
fn by_a_link_above_or_to_a_file() {
    if !has_namespaces() {
        return;
    }
    let mut scene = Scene::new();
    scene.readable = vec![scene.at("chain/sub"), scene.at("file")];
    let plan = scene.plan(&scene.grants(), ReadScope::All);
    assert_eq!(
        scene.says(
            plan,
            "cat chain/sub/f file; ls real | head -1; cat link/../secret/f 2>/dev/null"
        ),
        "belowgrantedf"
    );
}

#[test]
fn of_the_root_and_of_programs() {
    if !has_namespaces() {
        return;
    }
    let mut scene = Scene::new();
    scene.root = scene.at("named-root");
    fs::create_dir_all(scene.at("tool/bin")).expect("made");
    fs::write(scene.at("tool/bin/tool"), "#!/bin/sh\necho tool\n").expect("written");
    fs::set_permissions(scene.at("tool/bin/tool"), fs::Permissions::from_mode(0o755)).expect("set");
    symlink("tool", scene.at("current")).expect("linked");
    scene.path = Some(scene.at("current/bin").into());
    let plan = scene.plan(&scene.grants(), ReadScope::All);
    assert_eq!(
        scene.says(plan, "echo x > named-root/made; cat root/made; current/bin/tool"),
        "x\ntool"
    );
}

/// What was granted is what the name led to. A link that leads elsewhere later opens nothing.
#[test]
fn by_a_link_that_is_exchanged() {
    if !has_namespaces() {
        return;
    }
    let replace = |link: &Path, target: &str| {
        fs::remove_file(link).expect("removed");
        symlink(target, link).expect("linked");
    };
    for is_writable in [false, true] {
        let mut scene = Scene::new();
        let granted = vec![scene.at("chain")];
        *(if is_writable { &mut scene.writable } else { &mut scene.readable }) = granted;
        let grants = scene.grants();
        // Between the plan and the command.
        let plan = scene.plan(&grants, ReadScope::All);
        replace(&scene.at("chain"), "secret");
        assert_eq!(
            scene.says(plan.clone(), "cat chain/f; cat secret/f 2>/dev/null; true"),
            "granted"
        );
        // While commands run, and by a plan of before.
        replace(&scene.at("a/b/next"), "../../secret");
        let said = scene.says(plan, "cat chain/f; cat a/b/next/f; cat secret/f 2>/dev/null; true");
        assert_eq!(said, "grantedgranted");
        assert!(grants.resolve().is_err(), "the name leads elsewhere");
        // By a command, in a directory that is its own.
        let mut scene = Scene::new();
        scene.readable = vec![scene.at("link")];
        let plan = scene.plan(&scene.grants(), ReadScope::All);
        let said = scene.says(plan, "ln -sfn secret link; rm -f link; cat link/f secret/f; true");
        assert!(!said.contains("SECRET"), "{said}");
    }
}

/// Links are names, and no grants.
#[test]
fn nothing_else_is_seen() {
    if !has_namespaces() {
        return;
    }
    let mut scene = Scene::new();
    symlink("../secret", scene.at("real/out")).expect("linked");
    scene.readable = vec![scene.at("chain")];
    let plan = scene.plan(&scene.grants(), ReadScope::All);
    let said = scene.says(plan, "ls -A; ls -A a/b; cat chain/out/f; cat chain/../secret/f");
    assert!(said.starts_with("a\nchain\nlink\nreal\nroot\nnext\n"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
}
