//! What a command makes to harm whoever reads it. Nothing of it is followed, obeyed or waited for.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toolwright_git::config::New;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Made, Note, Snapshot};

use crate::support::{Place, Sample};

/// A repository with everything in it.
const CONTENT: &str =
    "rmdir w; git init -q w; cd w; echo 1 > a; mkdir d; echo 2 > d/b; git add .; git commit -qm one
    git tag -am x v1; git branch side; git gc -q; echo 2 > a; git commit -qam two; git stash list
    echo 3 > a; git add a; echo x > .git/info/exclude
    git worktree add -q ../tree side; cd ..
    echo secret > secret; mkdir elsewhere; echo theirs > elsewhere/file; rm w/.git/hooks/*; cp -a w/.git content
    cp -a content elsewhere/repository; rm -rf w/.git; mkdir w/.git";

fn create(place: &Place) -> Made {
    let (host, content) = (place.open("w/.git"), place.open("content"));
    let began = Instant::now();
    let made = import::create(&host, &content, &New::default(), &place.terms("w/.git"));
    assert!(began.elapsed() < Duration::from_secs(60), "{made:?}");
    made
}

/// Whether the host's directory is a whole repository without anything of a command's, or empty.
fn check(place: &Place, made: &Made, of: &str) {
    assert!(!made.is_waiting, "{of}");
    assert_eq!(made.is_made, !place.is_empty("w/.git"), "{of}: {made:?}");
    let is_refusal =
        |note: &Note| matches!(note, Note::Failed(text) if !text.starts_with("modules/"));
    assert_eq!(made.is_made, !made.notes.iter().any(is_refusal), "{of}: {made:?}");
    let odd = "cat secret elsewhere/file
        find w/.git ! -type f ! -type d -o -path '*/hooks/*' -o -name 'toolwright*' \
            -o -name '*.lock' -o -name alternates -o -name attributes -o -name grafts";
    assert_eq!(place.sh(odd), "secret\ntheirs\n", "{of}");
    if !made.is_made {
        return;
    }
    let config = fs::read_to_string(place.path().join("w/.git/config")).unwrap().to_lowercase();
    for word in ["fsmonitor", "hookspath", "alias", "include", "touch", "partial"] {
        assert!(!config.contains(word), "{of}: {config}");
    }
    let said = place.sh(
        "cd w; git fsck --strict --no-dangling --no-progress 2>&1 | grep -v '^notice' || true
         git status > /dev/null; git log --all --oneline > /dev/null; test ! -e ../ran
         cd ..; rm -rf w/.git; mkdir w/.git",
    );
    assert_eq!(said, "", "{of}");
}

const NAMES: [&str; 24] = [
    "HEAD",
    "config",
    "objects",
    "objects/pack",
    "objects/info",
    "refs",
    "refs/heads",
    "refs/heads/main",
    "refs/tags",
    "packed-refs",
    "index",
    "logs",
    "logs/HEAD",
    "logs/refs/heads/main",
    "info",
    "info/exclude",
    "hooks",
    "shallow",
    "modules",
    "modules/x",
    "worktrees",
    "worktrees/tree",
    "worktrees/tree/HEAD",
    "worktrees/tree/gitdir",
];

#[test]
fn nothing_is_followed_whatever_has_a_name() {
    let Some(place) = Place::new() else { return };
    place.sh(CONTENT);
    place.sh("cp -a content clean");
    let sample = Sample::new(5);
    for name in NAMES {
        for (number, make) in [
            "ln -s $PWD/elsewhere/repository/$N content/$N",
            "ln -s $PWD/secret content/$N",
            "ln -s $PWD/elsewhere content/$N",
            "mkfifo content/$N",
            "mkdir content/$N; mkfifo content/$N/HEAD content/$N/config",
            "head -c 100000 /dev/urandom > content/$N",
            ": > content/$N",
            "truncate -s 5G content/$N",
            "mknod content/$N c 0 0 2>/dev/null || true",
            "mknod content/$N c 1 5 2>/dev/null || true",
            "cp -a elsewhere/repository content/$N",
        ]
        .iter()
        .enumerate()
        {
            if !sample.has_next() {
                continue;
            }
            place.sh(&format!(
                "rm -rf content; cp -a clean content; N={name}; mkdir -p $(dirname content/$N)
                 rm -rf content/$N; {make}"
            ));
            let made = create(&place);
            check(&place, &made, &format!("{name} {number}"));
        }
    }
}

#[test]
fn nothing_is_obeyed() {
    let Some(place) = Place::new() else { return };
    place.sh(CONTENT);
    place.sh("cp -a content clean");
    for script in [
        "for k in core.fsmonitor core.hooksPath core.sshCommand core.pager alias.status diff.external include.path
         do git config --file content/config $k \"touch $PWD/ran\"; done",
        "git config --file content/config includeIf.gitdir:/.path $PWD/secret",
        "git config --file content/config core.worktree $PWD/elsewhere",
        "git config --file content/config extensions.worktreeConfig true
         printf '[core]\\n\\tfsmonitor = touch %s/ran\\n' $PWD > content/config.worktree",
        "echo $PWD/elsewhere/repository > content/commondir",
        "echo $PWD/elsewhere/repository/objects > content/objects/info/alternates",
        "printf '#!/bin/sh\\ntouch %s/ran\\n' $PWD > content/hooks/post-checkout; chmod +x content/hooks/*",
        "echo '* filter=x' > content/info/attributes; echo x > content/info/grafts",
        "mkdir -p content/rebase-merge; echo 'exec touch ran' > content/rebase-merge/git-rebase-todo",
        "mkdir -p content/toolwright/1-1 content/toolwright.made content/toolwright.new
         echo x > content/toolwright.made/HEAD",
        "mkdir -p content/refs/replace; cp content/refs/heads/main content/refs/replace/1111111111111111111111111111111111111111",
        "cp content/refs/heads/main content/refs/heads/HEAD; cp content/refs/heads/main content/refs/heads/-x",
        "echo $PWD/elsewhere/.git > content/worktrees/tree/gitdir",
        "echo /etc/.git > content/worktrees/tree/gitdir",
    ] {
        place.sh(&format!("rm -rf content; cp -a clean content; {script}"));
        let made = create(&place);
        check(&place, &made, script);
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let Some(place) = Place::new() else { return };
    place.sh(CONTENT);
    place.sh("cp -a content clean");
    for script in [
        "cd content/refs/heads; seq 110000 | xargs touch",
        "mkdir content/x; cd content; seq 11000 | xargs touch",
        "mkdir -p content/modules; cd content/modules; seq 2000 | xargs mkdir",
        "cd content/modules 2>/dev/null || { mkdir content/modules; cd content/modules; }
         for i in $(seq 600); do mkdir -p $i/objects $i/refs; echo 'ref: refs/heads/x' > $i/HEAD; done",
        "p=content; for i in $(seq 40); do p=$p/modules/x; mkdir -p $p; cp clean/HEAD $p/; mkdir $p/objects $p/refs; done",
        "p=content/refs/heads; for i in $(seq 200); do p=$p/a; done; mkdir -p $p; cp clean/refs/heads/main $p/x",
        "p=content/modules; for i in $(seq 200); do p=$p/a; done; mkdir -p $p; echo x > $p/HEAD",
    ] {
        place.sh(&format!("rm -rf content; cp -a clean content; {script}"));
        let made = create(&place);
        check_modules(&place, &made, script);
    }
}

/// As [`check`]. A submodule that was not made is told of as well.
fn check_modules(place: &Place, made: &Made, of: &str) {
    assert_eq!(made.is_made, !place.is_empty("w/.git"), "{of}: {made:?}");
    assert!(!made.notes.is_empty(), "{of}");
    assert_eq!(place.sh("find w/.git -name 'toolwright*' -o -name '*.lock'"), "", "{of}");
    if made.is_made {
        place.sh("cd w; git fsck --strict --no-dangling --no-progress; git status");
        let depth = place.sh("find w/.git/modules -name HEAD 2>/dev/null | wc -l || true");
        assert!(depth.trim().parse::<u32>().unwrap_or(0) <= 512, "{of}");
        place.sh("rm -rf w/.git; mkdir w/.git");
    }
}

#[test]
fn nothing_happens_where_the_content_changes_meanwhile() {
    let Some(place) = Place::new() else { return };
    place.sh(CONTENT);
    let root = place.path();
    let is_over = AtomicBool::new(false);
    let (mut made_some, mut refused_some) = (false, false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let names =
                ["HEAD", "objects", "refs", "config", "index", "packed-refs", "logs", "worktrees"];
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = root.join("content").join(names[number % names.len()]);
                let away = root.join("away");
                if fs::rename(&name, &away).is_ok() {
                    let _ = std::os::unix::fs::symlink(root.join("elsewhere/repository"), &name);
                    std::thread::sleep(Duration::from_micros((number as u64 * 37) % 500));
                    let _ = fs::remove_file(&name);
                    let _ = fs::rename(&away, &name);
                }
                std::thread::sleep(Duration::from_micros((number as u64 * 91) % 4000));
                number += 1;
            }
        });
        for round in 0..100 {
            let made = create(&place);
            made_some |= made.is_made;
            refused_some |= !made.is_made;
            check(&place, &made, &format!("{round}"));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(made_some && refused_some, "{made_some} {refused_some}");
}

/// A repository above, and what a command has put below `modules` of its fork.
fn with_module(script: &str) -> Option<(Place, Vec<Note>)> {
    let place = Place::new()?;
    place.sh("cd w; git init -q; echo a > a; git add a; git commit -qm one; cd ..
         git init -q lib; cd lib; echo l > l; git add l; git commit -qm lib; cd ..
         mkdir -p upper/modules w/lib; cp -a lib/.git upper/modules/lib
         git config --file upper/modules/lib/config core.worktree ../../../lib
         printf 'gitdir: ../.git/modules/lib\\n' > w/lib/.git; mkdir elsewhere");
    place.sh(script);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let upper: Directory = place.open("upper");
    let notes = import::import(&git, &snapshot, &upper, &place.terms("w/.git")).notes;
    assert_eq!(place.sh("find w/.git -type l -o -type p -o -name 'toolwright*'"), "", "{script}");
    place.sh("cd w; git fsck --strict; git -c submodule.recurse=false status; test ! -e ../ran");
    Some((place, notes))
}

#[test]
fn a_submodule_has_its_work_tree_in_that_of_the_repository_above() {
    let Some((place, notes)) = with_module(":") else { return };
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(place.sh("cd w/lib; git config core.worktree; git ls-files"), "../../../lib\nl\n");
    for script in [
        "git config --file upper/modules/lib/config core.worktree $PWD/elsewhere",
        "git config --file upper/modules/lib/config core.worktree ../../../../elsewhere",
        "git config --file upper/modules/lib/config core.worktree ../../..",
        "git config --file upper/modules/lib/config core.worktree ../../hooks",
        "git config --file upper/modules/lib/config core.worktree /etc",
        "printf 'gitdir: /etc\\n' > w/lib/.git",
        "rm w/lib/.git; ln -s ../.git w/lib/.git",
        "rm w/lib/.git; mkdir w/lib/.git",
        "rm w/lib/.git; mkfifo w/lib/.git",
        "rm -r w/lib; ln -s ../elsewhere w/lib",
        "mv upper/modules/lib upper/modules/HEAD",
        "mv upper/modules/lib upper/modules/.GIT",
        "mv upper/modules/lib upper/modules/-x",
        "mv upper/modules/lib upper/modules/x.lock",
        "rm -rf upper/modules; ln -s $PWD/lib upper/modules",
        "rm -rf upper/modules; echo x > upper/modules",
    ] {
        let Some((place, notes)) = with_module(script) else { return };
        assert!(matches!(&notes[..], [Note::LeftOut(_)]), "{script}: {notes:?}");
        assert_eq!(place.sh("ls w/.git/modules 2>/dev/null || true"), "", "{script}");
    }
    for script in [
        "rm -rf upper/modules/lib/objects; mkdir upper/modules/lib/objects",
        "rm upper/modules/lib/HEAD; ln -s $PWD/secret upper/modules/lib/HEAD",
        "git config --file upper/modules/lib/config extensions.objectFormat sha256",
        "mkdir upper/modules/x; mv upper/modules/lib upper/modules/x/objects",
    ] {
        let Some((place, notes)) = with_module(script) else { return };
        let is_named = matches!(&notes[..], [Note::Failed(text)] if text.starts_with("modules/"));
        assert!(is_named, "{script}: {notes:?}");
        assert_eq!(place.sh("ls w/.git/modules 2>/dev/null || true"), "", "{script}");
    }
    // A name that leads elsewhere is no name of a link below.
    let Some((place, notes)) =
        with_module("rm -r upper/modules/lib; ln -s $PWD/lib upper/modules/lib")
    else {
        return;
    };
    assert_eq!(place.sh("ls w/.git/modules 2>/dev/null || true"), "", "{notes:?}");
}

#[test]
fn submodules_that_a_command_deletes_stay() {
    let Some((place, _)) = with_module(":") else { return };
    let git = place.open("w/.git");
    for script in [
        "rm -rf upper; mkdir upper; mknod upper/modules c 0 0",
        "rm -rf upper; mkdir -p upper/modules; mknod upper/modules/lib c 0 0",
        "rm -rf upper; mkdir -p upper/modules; echo x > upper/modules/lib",
        "rm -rf upper; mkdir -p upper/modules; ln -s $PWD/lib upper/modules/lib",
    ] {
        place.sh(script);
        let mut snapshot = Snapshot::take(&git).unwrap();
        let upper = place.open("upper");
        assert!(import::has_changes(&upper, &mut snapshot), "{script}");
        let notes = import::import(&git, &snapshot, &upper, &place.terms("w/.git")).notes;
        assert!(
            matches!(&notes[..], [Note::LeftOut(names)] if names.len() == 1),
            "{script} {notes:?}"
        );
        assert_eq!(place.sh("cd w/lib; git fsck; git status --porcelain"), " D l\n");
    }
}

#[test]
fn a_fork_follows_what_a_person_does_in_a_submodule() {
    let Some((place, _)) = with_module(":") else { return };
    let git = place.open("w/.git");
    let settle = || std::thread::sleep(Duration::from_millis(60));
    place.sh("cd w/lib; git checkout -q .");
    for script in [
        "cd w/lib; git commit -q --allow-empty -m two",
        "cd w/lib; git branch x",
        "cd w/lib; git config user.name x",
        "cd w/lib; echo 3 > l; git add l",
        "cp -a w/.git/modules/lib w/.git/modules/other",
        "rm -rf w/.git/modules/other",
    ] {
        settle();
        let snapshot = Snapshot::take(&git).unwrap();
        assert!(snapshot.is_current(&git));
        place.sh(script);
        assert!(!snapshot.is_current(&git), "{script}");
    }
    // Git has looked at files again, and that is all.
    settle();
    let mut snapshot = Snapshot::take(&git).unwrap();
    place.sh("rm -rf upper; mkdir -p upper/modules/lib upper/objects/info upper/objects/pack
         cp w/.git/modules/lib/index upper/modules/lib/index; : > upper/objects/info/alternates");
    let upper = place.open("upper");
    assert!(!import::has_changes(&upper, &mut snapshot));
    assert!(import::is_quiet(&upper));
    place.sh("echo x > upper/modules/lib/index.lock");
    assert!(import::has_changes(&upper, &mut snapshot));
    assert!(!import::is_quiet(&upper));
    place.sh("rm upper/modules/lib/index.lock; mkdir -p upper/modules/new");
    assert!(!import::has_changes(&upper, &mut snapshot));
    place.sh("echo x > upper/modules/new/HEAD");
    assert!(import::has_changes(&upper, &mut snapshot));
}
