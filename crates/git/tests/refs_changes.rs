//! What a command has changed of references.

mod overlay;

use std::collections::BTreeMap;
use std::time::Instant;

use overlay::{Repository, has_git};
use toolwright_git::object::Id;
use toolwright_git::refs::packed;
use toolwright_git::refs::{
    Changes, Head, RefMap, RefName, RefValue, Refusal, Unreadable, Unsupported, changes,
    head_change, read_head,
};
use toolwright_git::upper::{Bounds, Upper};

const SOME: &str = "1111111111111111111111111111111111111111";

fn name(text: &str) -> RefName {
    RefName::parse(text.as_bytes()).expect(text)
}

fn id(text: &str) -> Id {
    text.trim().parse().expect("an id")
}

fn listed(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn as_listed(map: impl Iterator<Item = (RefName, RefValue)>) -> BTreeMap<String, String> {
    map.map(|(name, value)| {
        let value = match value {
            RefValue::Id(id) => id.to_string(),
            RefValue::Symbolic(target) => format!("ref: {target}"),
        };
        (name.to_string(), value)
    })
    .collect()
}

const LIST: &str = "for-each-ref --format='%(refname) %(if)%(symref)%(then)ref: %(symref)%(else)%(objectname)%(end)'";

#[test]
fn the_changes_of_a_command_are_what_git_sees() {
    if !has_git() {
        return;
    }
    let steps = [
        "git commit -q --allow-empty -m x",
        "git branch -f b1",
        "git branch -f b2 HEAD~1 || :",
        "git branch -D b1 || :",
        "git branch -m b1 b1/x || :",
        "git branch -m b1/x b1 || :",
        "git branch b2/y || :",
        "git branch -D b2 || :",
        "git tag -f t1",
        "git tag -f -a -m t t2",
        "git tag -d t2 || :",
        "git pack-refs --all",
        "git pack-refs --all --prune",
        "git gc -q",
        "echo $$ > f; git stash -q || :",
        "git stash pop -q || git reset -q --hard",
        "git update-ref refs/remotes/o/main HEAD",
        "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main",
        "git checkout -q b2 || :",
        "git checkout -q main || :",
        "rm -rf .git/refs/tags; mkdir .git/refs/tags",
        "git update-ref -d refs/remotes/o/main",
        "git notes add -f -m n",
        "git symbolic-ref -d refs/remotes/o/HEAD || :",
    ];
    let mut random = 7_u64;
    let mut next = |count: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).expect("an index") % count
    };
    for round in 0..8 {
        let repository = Repository::new();
        for _ in 0..next(8) {
            repository.sh(steps[next(steps.len())]);
        }
        let snapshot = RefMap::read(&repository.directory(), Bounds::default()).expect("a map");
        let head = read_head(&repository.directory()).expect("HEAD");
        assert_eq!(as_listed(snapshot.iter()), listed(&repository.git(LIST)), "{round}");
        let script: Vec<&str> = (0..=next(8)).map(|_| steps[next(steps.len())]).collect();
        let script =
            format!("{}\ngit {LIST} > ../listed; cat .git/HEAD > ../head", script.join("\n"));
        let Some((upper, _)) = repository.in_overlay(&script) else { return };
        let found = changes(&snapshot, &upper, Bounds::default()).expect("changes");
        assert_eq!(found.left_out, [], "{script}");
        let mut result: BTreeMap<RefName, RefValue> = snapshot.iter().collect();
        for change in found.refs {
            assert_eq!(change.before, snapshot.get(&change.name));
            assert_ne!(change.before, change.after);
            match change.after {
                Some(value) => _ = result.insert(change.name, value),
                None => _ = result.remove(&change.name),
            }
        }
        let inside = repository.sh("cat ../listed");
        assert_eq!(as_listed(result.into_iter()), listed(&inside), "{script}");
        let after = head_change(&head, &upper).expect("HEAD").unwrap_or(head);
        assert_eq!(after.content(), repository.sh("cat ../head").as_bytes());
    }
}

#[test]
fn the_form_in_which_references_are_stored_is_no_change() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    repository.sh("git branch a; git branch b/c; git tag -a -m t t");
    let snapshot = RefMap::read(&repository.directory(), Bounds::default()).expect("a map");
    for script in [
        "git pack-refs --all --prune",
        "git gc -q",
        "cp .git/refs/heads/a x; cat x > .git/refs/heads/a",
    ] {
        let Some((upper, _)) = repository.in_overlay(script) else { return };
        let found = changes(&snapshot, &upper, Bounds::default()).expect("changes");
        assert_eq!(found, Changes::default(), "{script}");
    }
}

/// The changes in a line each.
fn lines(snapshot: &RefMap, upper: &Upper) -> Vec<String> {
    let found = changes(snapshot, upper, Bounds::default()).expect("changes");
    let value = |value: Option<RefValue>| value.map_or("-".to_owned(), |value| value.to_string());
    let changes = found
        .refs
        .into_iter()
        .map(|change| format!("{} {} {}", change.name, value(change.before), value(change.after)));
    let left_out = found
        .left_out
        .into_iter()
        .map(|left| format!("{}: {:?}", left.path.display(), left.reason));
    changes.chain(left_out).collect()
}

fn snapshot(loose: &[&str], packed: &[&str]) -> RefMap {
    let some = id(SOME);
    let loose = loose.iter().map(|text| (name(text), RefValue::Id(some))).collect();
    let content = packed.iter().fold(String::new(), |text, name| text + SOME + " " + name + "\n");
    RefMap::new(loose, packed::parse(content.as_bytes()).expect("packed"))
}

#[test]
fn what_a_command_may_not_say_stays_out_and_deletes_nothing() {
    let repository = Repository::by_hand_only();
    let snapshot =
        snapshot(&["refs/heads/main", "refs/heads/d/e", "refs/tags/t"], &["refs/heads/p"]);
    let two = "2".repeat(40);
    for (script, expected) in [
        ("", &[][..]),
        ("mkdir -p refs/heads; echo $two > refs/heads/main", &["refs/heads/main ONE TWO"]),
        ("mkdir -p refs/heads; mknod refs/heads/main c 0 0", &["refs/heads/main ONE -"]),
        ("mkdir -p refs/heads; mknod refs/heads/d c 0 0", &["refs/heads/d/e ONE -"]),
        (
            "mkdir -p refs/heads; echo $two > refs/heads/d",
            &["refs/heads/d - TWO", "refs/heads/d/e ONE -"],
        ),
        (
            "mkdir -p refs/heads/main; echo $two > refs/heads/main/x",
            &["refs/heads/main ONE -", "refs/heads/main/x - TWO"],
        ),
        ("mkdir -p refs/tags; : > refs/tags/.opaque", &["refs/tags/t ONE -"]),
        ("mknod packed-refs c 0 0", &["refs/heads/p ONE -"]),
        (
            "mkdir -p refs/heads; echo $two refs/heads/x > packed-refs; mknod refs/heads/main c 0 0",
            &["refs/heads/main ONE -", "refs/heads/p ONE -", "refs/heads/x - TWO"],
        ),
        // What cannot be read says nothing.
        ("mkdir -p refs/heads; ln -s /etc/passwd refs/heads/main", &["refs/heads/main: NotAFile"]),
        ("mkdir -p refs/heads; mkfifo refs/heads/main", &["refs/heads/main: NotAFile"]),
        ("mkdir -p refs/heads; mknod refs/heads/main c 1 5", &["refs/heads/main: NotAFile"]),
        ("mkdir refs; ln -s / refs/heads", &["refs/heads: NotAFile"]),
        ("ln -s / refs", &["refs: NotAFile"]),
        ("mkdir refs; : > refs/heads", &["refs/heads: Name"]),
        ("mkdir -p refs/heads; : > refs/heads/d", &["refs/heads/d: Value"]),
        ("mkdir -p refs/heads; head -c 9999 /dev/zero > refs/heads/d", &["refs/heads/d: TooLarge"]),
        (
            "mkdir -p refs/heads; echo 'ref: refs/heads/p' > refs/heads/main",
            &["refs/heads/main: Value"],
        ),
        ("mkdir -p refs/heads; printf %040d 0 > refs/heads/main", &["refs/heads/main: Value"]),
        ("mkdir -p refs/heads; echo $two > refs/heads/HEAD", &["refs/heads/HEAD: Name"]),
        ("mkdir -p refs/replace; echo $two > refs/replace/$two", &["refs/replace/TWO: Name"]),
        (
            "mkdir -p refs/toolwright/x; echo $two > refs/toolwright/x/y",
            &["refs/toolwright/x/y: Name"],
        ),
        ("mkdir -p refs/heads; echo $two > refs/heads/x.lock", &[]),
        (
            "mkdir -p refs/remotes/o; echo 'ref: refs/heads/main' > refs/remotes/o/HEAD",
            &["refs/remotes/o/HEAD: Value"],
        ),
        (
            "mkdir -p refs/remotes/o; echo 'ref: refs/remotes/o/m' > refs/remotes/o/HEAD",
            &["refs/remotes/o/HEAD - ref: refs/remotes/o/m"],
        ),
        // Without a packed-refs that parses, a deleted file can be a packed one.
        (
            "mkdir -p refs/heads; mknod refs/heads/main c 0 0; echo x > packed-refs",
            &["packed-refs: Packed", "refs/heads/main: Packed"],
        ),
        ("ln -s /etc/passwd packed-refs", &["packed-refs: NotAFile"]),
        (
            "echo $two refs/heads/p > packed-refs; echo $two refs/heads/p/q >> packed-refs",
            &["refs/heads/p: InTheWay", "refs/heads/p/q: InTheWay"],
        ),
        ("mkdir -p refs/heads/p; echo $two > refs/heads/p/q", &["refs/heads/p/q: InTheWay"]),
        (
            "printf '%s refs/heads/p\n%s refs/replace/x/y\n' $one $two > packed-refs",
            &["refs/replace/x/y: Name"],
        ),
    ] {
        let upper = repository.by_hand(&format!("one={SOME}; two={two}; {script}"));
        let found: Vec<String> = lines(&snapshot, &upper)
            .into_iter()
            .map(|line| line.replace(SOME, "ONE").replace(&two, "TWO"))
            .collect();
        assert_eq!(found, expected, "{script}");
    }
}

#[test]
fn head_is_a_branch_or_a_commit() {
    let repository = Repository::by_hand_only();
    let head = Head::Branch(name("refs/heads/main"));
    let change = |script: &str| head_change(&head, &repository.by_hand(script));
    assert_eq!(change(""), Ok(None));
    assert_eq!(change("echo ref: refs/heads/main > HEAD"), Ok(None));
    assert_eq!(
        change("echo ref: refs/heads/x > HEAD"),
        Ok(Some(Head::Branch(name("refs/heads/x"))))
    );
    assert_eq!(change(&format!("echo {SOME} > HEAD")), Ok(Some(Head::Detached(id(SOME)))));
    assert_eq!(change("echo ref: ../../x > HEAD"), Err(Refusal::Value));
    assert_eq!(change("echo ref: refs/tags/x > HEAD"), Err(Refusal::Value));
    assert_eq!(change("ln -s refs/heads/x HEAD"), Err(Refusal::NotAFile));
    assert_eq!(change("mkfifo HEAD"), Err(Refusal::NotAFile));
    assert_eq!(change("mknod HEAD c 0 0"), Err(Refusal::Deleted));
}

#[test]
fn twenty_thousand_forged_references_take_no_seconds() {
    let repository = Repository::by_hand_only();
    let upper = repository.by_hand("mkdir -p refs/heads; pwd > where");
    let directory = upper.read("where", 4096).expect("a path").expect("a path");
    let directory = String::from_utf8(directory).expect("a path");
    for number in 0..20_000 {
        let path = format!("{}/refs/heads/f{number}", directory.trim());
        std::fs::write(path, format!("{SOME}\n")).expect("a file");
    }
    let start = Instant::now();
    let found = changes(&RefMap::default(), &upper, Bounds::default()).expect("changes");
    assert_eq!(found.refs.len(), 20_000);
    assert!(start.elapsed().as_secs() < 60, "it hangs");
}

#[test]
fn other_formats_are_refused_by_name() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    for (option, expected) in [
        ("--object-format=sha256", Unsupported::Sha256),
        ("--ref-format=reftable", Unsupported::Reftable),
    ] {
        repository
            .sh(&format!("rm -rf .git; git init -q {option} .; git commit -q --allow-empty -m x"));
        let git = repository.directory();
        let error = RefMap::read(&git, Bounds::default()).map(|_| ()).or_else(|error| {
            if matches!(error, Unreadable::Unsupported(_)) { Err(error) } else { Ok(()) }
        });
        let error = error.and_then(|()| read_head(&git).map(|_| ()));
        assert!(
            matches!(error, Err(Unreadable::Unsupported(found)) if found == expected),
            "{error:?}"
        );
    }
}

#[test]
fn links_and_broken_files_of_the_person_are_left_alone() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    repository.sh(
        "git branch a; git branch b; echo x > .git/refs/heads/a; ln -sf main .git/refs/heads/b",
    );
    let map = RefMap::read(&repository.directory(), Bounds::default()).expect("a map");
    assert_eq!(map.get(&name("refs/heads/a")), None);
    assert!(map.has("refs/heads/a") && map.has("refs/heads/b"));
    let upper = repository
        .by_hand(&format!("mkdir -p refs/heads; echo {SOME} | tee refs/heads/a > refs/heads/b"));
    assert_eq!(lines(&map, &upper), ["refs/heads/a: Broken", "refs/heads/b: Broken"]);
    repository.sh("mv .git/refs .git/elsewhere; ln -s elsewhere .git/refs");
    assert!(matches!(
        RefMap::read(&repository.directory(), Bounds::default()),
        Err(Unreadable::Read(..))
    ));
}
