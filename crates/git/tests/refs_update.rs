//! References are written under git's locks, and only if they are what they were.

mod overlay;

use std::path::Path;
use std::process::Command;

use overlay::{Repository, has_git};
use toolwright_git::object::Id;
use toolwright_git::refs::{
    Head, Outcome, RefChange, RefName, RefValue, read_head, update, update_head,
};
use toolwright_git::transaction::{Transaction, TransactionError, recover};

fn name(text: &str) -> RefName {
    RefName::parse(text.as_bytes()).expect(text)
}

fn change(reference: &str, before: Option<&str>, after: Option<&str>) -> RefChange {
    let value = |text: &str| RefValue::parse(text.as_bytes()).expect("a value");
    RefChange { name: name(reference), before: before.map(value), after: after.map(value) }
}

/// Two commits.
fn ids(repository: &Repository) -> [String; 2] {
    repository.git("commit -q --allow-empty -m two");
    [
        repository.git("rev-parse HEAD~1").trim().to_owned(),
        repository.git("rev-parse HEAD").trim().to_owned(),
    ]
}

fn write(repository: &Repository, changes: &[RefChange]) -> Vec<String> {
    let git = repository.directory();
    let mut transaction = Transaction::begin(&git).expect("a transaction");
    let outcomes = update(&mut transaction, &git, changes).expect("packed-refs");
    assert!(transaction.commit().expect("a commit").is_empty());
    let text = |outcome: &Outcome| match outcome {
        Outcome::Moved { now } => format!("moved {}", now.is_some()),
        Outcome::Refused(TransactionError::Held(path)) => format!("held {}", path.display()),
        outcome => format!("{outcome:?}"),
    };
    outcomes.iter().map(text).collect()
}

#[test]
fn a_reference_that_the_person_has_moved_stays_and_the_other_ones_are_written() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    let [one, two] = ids(&repository);
    repository.sh(&format!(
        "git branch moved {two}; git branch gone {two}; git branch done {two}; git branch packed {one}; git branch held
         git pack-refs --all; git branch -D -q gone; mkdir -p .git/refs/heads; : > .git/refs/heads/held.lock
         git branch -q -f full/x {one}; ln -s main .git/refs/heads/link; ln -s .. .git/refs/linked"
    ));
    let (first, second) = (Some(&*one), Some(&*two));
    let outcomes = write(
        &repository,
        &[
            change("refs/heads/new/branch", None, second),
            change("refs/heads/moved", first, None),
            change("refs/heads/gone", second, first),
            change("refs/heads/done", first, second),
            change("refs/heads/packed", first, None),
            change("refs/heads/held", second, first),
            change("refs/heads/full", None, first),
            change("refs/heads/main/x", None, first),
            change("refs/tags/t", None, first),
        ],
    );
    assert_eq!(
        outcomes,
        [
            "Written",
            "moved true",
            "moved false",
            "Done",
            "Written",
            "held refs/heads/held",
            "InTheWay",
            "InTheWay",
            "Written",
        ]
    );
    let outcomes = write(
        &repository,
        &[change("refs/heads/link", second, first), change("refs/linked/x/y", None, first)],
    );
    assert!(outcomes.iter().all(|outcome| outcome.contains("WrongKind")), "{outcomes:?}");
    repository.sh("rm .git/refs/heads/held.lock .git/refs/heads/link .git/refs/linked");
    let list = repository.git("for-each-ref --format='%(refname:short) %(objectname)'");
    let expected = [
        ("done", &two),
        ("full/x", &one),
        ("held", &two),
        ("main", &two),
        ("moved", &two),
        ("new/branch", &two),
        ("t", &one),
    ];
    let expected: Vec<String> = expected.iter().map(|(name, id)| format!("{name} {id}")).collect();
    assert_eq!(list.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_collides_is_kept_under_a_name_of_the_host() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    let [one, _] = ids(&repository);
    let mut kept = change("refs/heads/main", None, Some(&*one));
    kept.name = RefName::kept("x7", &kept.name).expect("a name");
    assert_eq!(write(&repository, &[kept]), ["Written"]);
    assert_eq!(repository.git("rev-parse refs/toolwright/x7/heads/main").trim(), one);
    assert_eq!(repository.git("fsck --no-dangling --no-progress 2>&1"), "");
}

#[test]
fn many_new_references_are_packed() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    let [one, _] = ids(&repository);
    repository.sh("git tag -a -m t t; git pack-refs --all");
    let mut changes: Vec<RefChange> = (0..3000)
        .map(|number| change(&format!("refs/tags/n{number}"), None, Some(&*one)))
        .collect();
    changes.push(change("refs/heads/main", Some(&repository.git("rev-parse main")), Some(&*one)));
    assert!(write(&repository, &changes).iter().all(|outcome| outcome == "Written"));
    assert_eq!(repository.git("for-each-ref").lines().count(), 3002);
    assert_eq!(repository.git("rev-parse main n2999"), format!("{one}\n{one}\n"));
    assert!(!repository.path().join(".git/refs/tags/n0").exists());
    repository.git("show-ref -d --dereference t");
    assert_eq!(repository.git("fsck --no-dangling --no-progress 2>&1"), "");
}

#[test]
fn head_is_compared_as_well() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    let [one, _] = ids(&repository);
    let git = repository.directory();
    let main = read_head(&git).expect("HEAD");
    let detached = Head::Detached(one.parse::<Id>().expect("an id"));
    let write = |before: &Head, after: &Head| {
        let mut transaction = Transaction::begin(&git).expect("a transaction");
        let outcome = update_head(&mut transaction, &git, before, after);
        transaction.commit().expect("a commit");
        outcome
    };
    assert!(matches!(write(&detached, &Head::Branch(name("refs/heads/x"))), Outcome::Moved { .. }));
    assert!(matches!(write(&main, &detached), Outcome::Written));
    assert!(matches!(write(&main, &detached), Outcome::Done));
    assert_eq!(repository.git("rev-parse HEAD").trim(), one);
}

/// The person's git packs, prunes and commits all the time; everything of both is there in the end.
#[test]
fn nothing_is_lost_while_the_persons_git_works() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    let [one, two] = ids(&repository);
    let script = "i=0; while [ ! -e ../stop ]; do i=$((i+1)); git pack-refs --all --prune 2>/dev/null
                  git update-ref refs/heads/theirs$i HEAD || exit 3; git update-ref -d refs/heads/theirs$((i-1)) 2>/dev/null; done; echo $i > ../count";
    let mut person =
        Command::new("sh").current_dir(repository.path()).args(["-c", script]).spawn().expect("sh");
    let git = repository.directory();
    let mut value = None;
    for round in 0..60 {
        let next = if round % 2 == 0 { &one } else { &two };
        let mut changes = vec![
            change("refs/heads/ours/a", value, Some(&**next)),
            change(&format!("refs/heads/d{round}"), None, Some(&**next)),
        ];
        if round > 0 {
            changes.push(change(&format!("refs/heads/d{}", round - 1), value, None));
        }
        loop {
            let mut transaction = Transaction::begin(&git).expect("a transaction");
            let outcomes = match update(&mut transaction, &git, &changes) {
                Ok(outcomes) => outcomes,
                Err(Outcome::Refused(TransactionError::Held(_))) => continue,
                Err(outcome) => panic!("{outcome:?}"),
            };
            if outcomes
                .iter()
                .any(|outcome| matches!(outcome, Outcome::Refused(TransactionError::Held(_))))
            {
                continue;
            }
            assert!(
                outcomes.iter().all(|outcome| matches!(outcome, Outcome::Written)),
                "{outcomes:?}"
            );
            assert!(transaction.commit().expect("a commit").is_empty());
            break;
        }
        value = Some(&**next);
    }
    repository.sh("touch ../stop");
    assert!(person.wait().expect("sh").success());
    let recovered = recover(&git).expect("a recovery");
    assert_eq!((recovered.alive, recovered.finished, recovered.taken_back), (0, 0, 0));
    let names = repository.git("for-each-ref --format='%(refname)'");
    let count = repository.sh("cat ../count");
    let last = format!("refs/heads/theirs{}", count.trim());
    let expected = ["refs/heads/d59", "refs/heads/main", "refs/heads/ours/a", &last];
    let names: Vec<&str> = names.lines().collect();
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?} {expected:?}");
    assert!(!names.contains(&"refs/heads/d58"), "{names:?}");
    assert_eq!(repository.git("fsck --no-dangling --no-progress 2>&1"), "");
    assert!(!Path::new(&repository.path()).join(".git/toolwright").exists());
}
