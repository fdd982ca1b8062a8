//! What a command's git adds comes back as the same objects.

use std::fs;

use crate::support::{Fork, Repository, has_git};
use toolwright_git::database::Database;
use toolwright_git::incoming::{Borders, Bounds, Incoming};
use toolwright_git::object::Kind;

fn import<'a>(fork: &Fork, base: &'a Database) -> Incoming<'a> {
    Incoming::read(&fork.repository.directory(), base, &Borders::default(), &Bounds::default())
        .unwrap()
}

fn seeded() -> Repository {
    let base = Repository::new();
    for number in 0..20 {
        base.write(&format!("lib/f{number}"), format!("{number}\n").repeat(100));
    }
    base.commit("first");
    base.write("lib/f1", "changed\n");
    base.commit("second");
    base
}

fn assert_has_all(base: &Repository, fork: &Fork) {
    let contents = base.contents();
    for object in fork.repository.contents() {
        assert!(contents.contains(&object), "{}", object.0);
    }
}

#[test]
fn the_database_reads_what_git_wrote() {
    if !has_git() {
        return;
    }
    let repository = seeded();
    let database = Database::open(repository.directory()).unwrap();
    let check = |database: &Database| {
        for (id, kind, content) in repository.contents() {
            assert!(database.contains(&id).unwrap());
            assert_eq!(database.kind(&id).unwrap(), Some(kind));
            assert_eq!(database.read(&id, 1 << 20).unwrap(), Some((kind, content)));
        }
        let none = "257cc5642cb1a054f08cc83f2d943e56fd3ebe99".parse().unwrap();
        assert!(!database.contains(&none).unwrap());
        assert_eq!(database.kind(&none).unwrap(), None);
    };
    check(&database);
    repository.git(&["tag", "-a", "-m", "a tag", "v1"]);
    check(&database);
    // The same database sees packs that come, and go, after it was opened.
    repository.git(&["gc", "-q", "--prune=now"]);
    check(&database);
    repository.write("lib/f2", "more\n");
    repository.commit("third");
    repository.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"]);
    check(&database);
    repository.git(&["-c", "pack.indexVersion=1", "repack", "-adfq"]);
    check(&Database::open(repository.directory()).unwrap());
}

#[test]
fn the_database_borrows_as_git_does() {
    if !has_git() {
        return;
    }
    let far = seeded();
    let middle = Repository::new();
    fs::write(
        middle.objects().join("info/alternates"),
        format!("# a comment\n\n\"{}\"\n/nowhere\n", far.objects().display()),
    )
    .unwrap();
    let near = Repository::new();
    let name = middle.path().file_name().unwrap().to_str().unwrap().to_owned();
    let relative = format!("../../../{name}/.git/objects\n");
    fs::write(near.objects().join("info/alternates"), relative).unwrap();
    let loop_back = format!("{}\n", near.objects().display());
    fs::write(far.objects().join("info/alternates"), loop_back).unwrap();

    let database = Database::open(near.directory()).unwrap();
    for (id, kind, _) in far.contents() {
        assert_eq!(database.kind(&id).unwrap(), Some(kind));
    }
}

#[test]
fn loose_objects_come_back() {
    if !has_git() {
        return;
    }
    let base = seeded();
    let fork = Fork::of(&base);
    fork.repository.write("lib/f3", "by a command\n");
    fork.repository.write("new/deep/file", "by a command\n");
    fork.repository.commit("third");
    let tip = fork.repository.commit("fourth");
    fork.repository.git(&["tag", "-a", "-m", "a tag", "v1"]);

    let database = Database::open(base.directory()).unwrap();
    let incoming = import(&fork, &database);
    assert!(incoming.left_out().is_empty(), "{:?}", incoming.left_out());
    assert_eq!(incoming.kind(&tip).unwrap(), Some(Kind::Commit));
    for (id, kind, content) in fork.repository.contents() {
        let object = incoming.object(&id, 1 << 20).unwrap().unwrap();
        assert_eq!(object, (kind, content));
    }
    incoming.store(&base.directory()).unwrap();
    incoming.store(&base.directory()).unwrap();
    assert_has_all(&base, &fork);
    base.git(&["update-ref", "refs/heads/command", &tip.to_string()]);
    base.fsck();
    assert!(import(&fork, &database).is_empty());
    assert!(base.git(&["count-objects", "-v"]).contains("garbage: 0"));
}

#[test]
fn packs_come_back() {
    if !has_git() {
        return;
    }
    for arguments in [
        &["repack", "-adlq"][..],
        &["repack", "-adlfq", "--depth=50", "--window=50"],
        &["-c", "repack.useDeltaBaseOffset=false", "repack", "-adlfq"],
        &["-c", "gc.cruftPacks=true", "gc", "-q", "--prune=now"],
        &["-c", "pack.compression=0", "-c", "pack.writeBitmaps=true", "repack", "-adlq"],
    ] {
        let base = seeded();
        let fork = Fork::of(&base);
        fork.repository.grow(60);
        fork.repository.git(arguments);
        fork.repository.write("grows", "loose, beside the pack\n");
        let tip = fork.repository.commit("last");

        let database = Database::open(base.directory()).unwrap();
        let incoming = import(&fork, &database);
        assert!(incoming.left_out().is_empty(), "{arguments:?} {:?}", incoming.left_out());
        for (id, kind, content) in fork.repository.contents() {
            let object = incoming.object(&id, 1 << 20).unwrap().unwrap();
            assert_eq!(object, (kind, content));
            assert_eq!(incoming.kind(&id).unwrap(), Some(kind));
        }
        incoming.store(&base.directory()).unwrap();
        assert_has_all(&base, &fork);
        base.git(&["update-ref", "refs/heads/command", &tip.to_string()]);
        base.fsck();
        assert!(base.git(&["count-objects", "-v"]).contains("garbage: 0"));
        // Ours is byte for byte the index that git makes.
        let packs = base.objects().join("pack");
        for pack in fs::read_dir(&packs).unwrap().map(|entry| entry.unwrap().path()) {
            if pack.extension().is_some_and(|extension| extension == "pack") {
                let made = base.path().join("made.idx");
                let (made_path, pack_path) = (made.to_str().unwrap(), pack.to_str().unwrap());
                base.git(&["index-pack", "-o", made_path, pack_path]);
                assert_eq!(fs::read(&made).unwrap(), fs::read(pack.with_extension("idx")).unwrap());
                fs::remove_file(&made).unwrap();
            }
        }
        drop(incoming);
        assert!(import(&fork, &database).is_empty());
    }
}
