//! Granted directories: beside each other among temporary files, in each other, and replaced.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::fs;
use std::path::Path;

use mounts_fixture::{Fixture, confined, directory, directory_in, each_user, give, write};
use toolwright_sandbox::plan::{FileIdentity, Files, Granted, Plan};

fn granted(path: &Path) -> Granted {
    let identity = FileIdentity::from(&fs::metadata(path).expect("it is there"));
    Granted { path: path.to_owned(), identity }
}

/// A plan that confines files to these, the first of which is the root.
fn plan(paths: &[&Path]) -> Plan {
    let mut plan = confined(paths[0]);
    plan.writable = paths.iter().map(|path| (*path).to_owned()).collect();
    plan.granted = paths.iter().map(|path| granted(path)).collect();
    plan
}

fn make(user: u32, path: &Path) {
    fs::create_dir(path).expect("it can be made");
    give(user, path);
}

#[test]
fn directories_beside_each_other_among_temporary_files_can_all_be_written() {
    each_user(|user, _| {
        for base in ["/tmp", "/var/tmp", "/dev/shm"] {
            let above = directory_in(user, Path::new(base));
            let [a, b, deep] = ["a", "b", "deep"].map(|name| above.path().join(name));
            for path in [&a, &b, &deep] {
                make(user, path);
            }
            let c = deep.join("c");
            make(user, &c);
            let mut fixture = Fixture::start(user, &plan(&[&a, &b, &c]));
            for path in [&a, &b, &c] {
                fixture.check(&format!("echo word > '{}/file'", path.display()));
                assert_eq!(fs::read_to_string(path.join("file")).expect("there"), "word\n");
            }
            // What leads there is not theirs.
            for path in [above.path(), &deep] {
                fixture.refuse(&[&format!("echo word > '{}/file'", path.display())]);
            }
            let name = |path: &Path| path.display().to_string();
            fixture.refuse(&[&format!("mv '{}' '{}'", name(&deep), name(&a.join("moved")))]);
        }
    });
}

#[test]
fn a_granted_directory_in_a_writable_one_stays_where_it_is() {
    each_user(|user, root| {
        let outside = directory(user);
        write(outside.path(), "secret", "SECRET");
        write(root, "way/inner/file", "inside");
        let inner = root.join("way/inner");
        let mut plan = plan(&[root, &inner]);
        let outside = outside.path().display();
        let attacks = [
            "mv way/inner away".to_owned(),
            "rm -rf way/inner && test ! -e way/inner".to_owned(),
            "rm -rf way/inner; rmdir way/inner".to_owned(),
            format!("mv way away && mkdir way && ln -s '{outside}' way/inner"),
        ];
        let in_root = |script: &String| format!("cd '{}' && {script}", root.display());
        for files in [Files::Confined, Files::Full] {
            write(root, "way/inner/file", "inside");
            plan.files = files;
            let mut fixture = Fixture::start(user, &plan);
            fixture.check(&in_root(
                &"echo x > way/inner/new && mkdir way/d && rm -r way/d".to_owned(),
            ));
            for attack in &attacks {
                fixture.refuse(&[&in_root(attack)]);
            }
            assert!(inner.is_dir());
        }
    });
}

#[test]
fn a_root_in_a_writable_directory_stays_where_it_is() {
    each_user(|user, around| {
        let root = around.join("root");
        make(user, &root);
        let mut fixture = Fixture::start(user, &plan(&[&root, around]));
        let name = around.display();
        fixture.check(&format!("echo x > '{name}/file' && echo x > '{name}/root/file'"));
        fixture.refuse(&[&format!("mv '{name}/root' '{name}/moved'")]);
        assert!(root.is_dir());
    });
}

#[test]
fn a_readable_directory_in_a_writable_one_stays_where_it_is() {
    each_user(|user, root| {
        write(root, "shared/file", "inside");
        let shared = root.join("shared");
        let mut plan = plan(&[root]);
        plan.readable = vec![shared.clone()];
        plan.granted.push(granted(&shared));
        let mut fixture = Fixture::start(user, &plan);
        let name = root.display();
        fixture.refuse(&[&format!("mv '{name}/shared' '{name}/moved'")]);
        fixture.check(&format!("cat '{name}/shared/file'"));
    });
}

/// What comes to stand in the place of a directory, and how.
type Replace<'a> = (&'a str, &'a dyn Fn());

#[test]
fn what_was_replaced_since_it_was_granted_is_not_bound() {
    each_user(|user, root| {
        let outside = directory(user);
        let inner = root.join("inner");
        make(user, &inner);
        let plan = plan(&[root, &inner]);
        let moved = root.join("moved");
        let kinds: [Replace<'_>; 4] = [
            ("a link", &|| std::os::unix::fs::symlink(outside.path(), &inner).expect("linked")),
            ("another directory", &|| make(user, &inner)),
            ("a file", &|| fs::write(&inner, "x").expect("written")),
            ("nothing", &|| {}),
        ];
        for (kind, replace) in kinds {
            fs::rename(&inner, &moved).expect("moved");
            replace();
            let fixture = Fixture::try_start(user, &plan);
            let error = fixture.error.as_deref().expect(kind);
            assert!(error.contains("find what was granted at"), "{kind}: {error}");
            drop(fixture);
            let _ = fs::remove_file(&inner).or_else(|_| fs::remove_dir(&inner));
            fs::rename(&moved, &inner).expect("moved back");
        }
        let mut fixture = Fixture::start(user, &plan);
        fixture.check(&format!("echo x > '{}/file'", inner.display()));
    });
}
