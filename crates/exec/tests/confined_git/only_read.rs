//! The host reads what commands have made, waits for none of it, and changes nothing by its word.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::flows::REPOSITORY;
use super::support::factor;
use super::{Scene, has_namespaces};

/// The root of a person who has it as home directory: a closed store, a directory that commands may not
/// write, and a repository of its own far below.
const HOME: &str = "mkdir -p .ssh/hooks .aws/remotes keep/hooks keep/remotes deep/a/b/c/own \
    && echo 'Host *' > .ssh/config && echo x > .ssh/hooks/key && printf '[default]\\nregion=x\\n' > .aws/config \
    && echo text > keep/config && echo x > keep/hooks/a && echo x > keep/commondir && echo x > keep/remotes/r \
    && (cd deep/a/b/c/own && git init -q && git config alias.x '!true' && echo x > .git/hooks/pre-commit) \
    && git config alias.st status && git config core.sshCommand ssh && echo x > .git/hooks/pre-commit";

/// What commands may not change there, and for the last one: what a lead to it is no reason to change.
const NOT_THEIRS: [&str; 6] =
    [".ssh", ".aws", "keep", ".git/hooks", ".git/config", "deep/a/b/c/own/.git"];

/// Every file below a path, with all that a change would show.
fn state(path: &Path, shown: &mut String) {
    let found = fs::symlink_metadata(path).expect("there");
    let (inode, mode, changed) = (found.ino(), found.mode(), (found.ctime(), found.ctime_nsec()));
    let mut content = DefaultHasher::new();
    content.write(&if found.is_file() { fs::read(path).expect("read") } else { Vec::new() });
    let content = content.finish();
    writeln!(shown, "{} {inode} {mode:o} {changed:?} {content:x}", path.display()).expect("shown");
    if found.is_dir() {
        let mut below: Vec<_> =
            fs::read_dir(path).expect("listed").flatten().map(|entry| entry.path()).collect();
        below.sort_unstable();
        for path in &below {
            state(path, shown);
        }
    }
}

fn not_theirs(root: &Path) -> String {
    let mut shown = String::new();
    for path in NOT_THEIRS {
        state(&root.join(path), &mut shown);
    }
    shown
}

/// Runs a script that leads the host elsewhere, and what it had the host say and change.
fn check(scene: &Scene, script: &str, protected: &[&str]) {
    let root = &scene.place.root;
    let before = not_theirs(root);
    for script in [script, "true"] {
        let (printed, reports) = scene.confined_with(script, |plan| {
            plan.protected.extend(protected.iter().map(|path| root.join(path)));
            plan.closed.extend([root.join(".ssh"), root.join(".aws")]);
        });
        assert_eq!(not_theirs(root), before, "{script}\n{printed}");
        let reports = format!("{:?}", reports.take());
        for word in
            ["Host", "region", "default", "\"key\"", "alias.st", "core.sshcommand", ".disabled"]
        {
            assert!(!reports.contains(word), "{script}\n{reports}");
        }
    }
}

#[test]
fn where_a_command_leads_the_host_nothing_changes() {
    if !has_namespaces() {
        return;
    }
    let leads = ["../keep", "../.ssh", "../.aws", "../.git", "..", "../deep/a/b/c/own/.git"];
    let scene = Scene::new(&format!("{REPOSITORY} && {HOME}"));
    let check = |script: &str| self::check(&scene, script, &["keep"]);
    for lead in leads {
        check(&format!("rm -rf sub; mkdir sub; echo 'gitdir: {lead}' > sub/.git"));
        check(&format!("rm -rf sub; mkdir sub; ln -s {lead} sub/.git"));
        check(&format!("rm -rf sub; mkdir sub; echo \"gitdir: $PWD/sub/{lead}\" > sub/.git"));
        let target = lead[1..].trim_start_matches("./");
        check(&format!("rm -rf sub x; ln -s ./{target} x; mkdir sub; ln -s ../x sub/.git"));
        check(&format!(
            "rm -rf sub; git init -q sub; echo ../{lead} > sub/.git/commondir; ln -sfT ../{lead} sub/.git/modules"
        ));
        check(&format!(
            "rm -rf sub; git init -q sub; rm -r sub/.git/hooks; ln -s ../{lead}/hooks sub/.git/hooks; ln -sf ../{lead}/config sub/.git/config"
        ));
    }
}

/// The law of it, over random trees of leads.
#[test]
fn whatever_leads_there_nothing_changes() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(&format!("{REPOSITORY} && {HOME}"));
    let target = prop::sample::select(
        &["keep", ".ssh", ".aws", ".git", "deep/a/b/c/own/.git", "p/.git", "q", "q/r/.git", ""][..],
    );
    let place = prop::sample::select(&["p", "q", "q/r", "p/s", "q/r/t"][..]);
    let step = (place, target, 0..9_u8).prop_map(|(place, target, kind)| {
        let line = match kind {
            0 | 1 => format!("echo \"gitdir: $R/{target}\" > {place}/.git"),
            2 => format!("rm -rf {place}/.git; ln -s $R/{target} {place}/.git"),
            3 => format!("git init -q {place}; rm -rf {place}/.git/hooks; ln -s $R/{target}/hooks {place}/.git/hooks"),
            4 => format!("git init -q {place}; ln -sf $R/{target}/config {place}/.git/config"),
            5 => format!("git init -q {place}; echo $R/{target} > {place}/.git/commondir"),
            6 => format!("git init -q --bare {place}; rm -rf {place}/hooks; ln -s $R/{target}/hooks {place}/hooks"),
            7 => format!("git init -q {place}; git -C {place} config core.worktree $R/{target}; rm -rf {place}/.git/modules; ln -s $R/{target} {place}/.git/modules"),
            _ => format!("rm -rf {place}; ln -s $R/{target} {place}"),
        };
        format!("mkdir -p {place}; {line}")
    });
    let steps = prop::collection::vec(step, 1..6);
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24 * u32::try_from(factor()).unwrap_or(1))
    });
    let ran = runner.run(&steps, |steps| {
        check(
            &scene,
            &format!("R=$PWD; rm -rf p q; {}; true", steps.join("; ")),
            &["keep", "deep"],
        );
        Ok(())
    });
    ran.expect("nothing changes");
}

/// What waits, or never ends, in each place that the host reads.
const PLACES: &[(&str, &str)] = &[
    ("a/.git", "mkdir a"),
    (
        "t/.git",
        "git init -q r; printf '[core]\nrepositoryformatversion=0\nworktree=../../t\n' > r/.git/config; mkdir t",
    ),
    ("b/.git/config", "git init -q b"),
    ("b/.git/config.worktree", "true"),
    ("c/.git/commondir", "git init -q c"),
    ("c/.git/branches", "true"),
    ("d/.git/hooks", "git init -q d"),
    ("d/.git/modules", "true"),
    ("e/.git/hooks/pre-commit", "git init -q e"),
    (
        "e/.git/modules/x/HEAD",
        "mkdir -p e/.git/modules/x/objects e/.git/modules/x/refs e/.git/modules/x/hooks",
    ),
    ("e/.git/modules/x/config", "true"),
    ("HEAD", "mkdir -p objects refs"),
    ("config", "true"),
    (".gitconfig", "true"),
    ("h/pre-commit", "true"),
    ("h/more", "true"),
    (".git/worktrees/x/gitdir", "mkdir -p .git/worktrees/x"),
    (".git/modules/x/commondir", "mkdir -p .git/modules/x; touch .git/modules/x/HEAD"),
];

#[test]
fn nothing_that_a_command_leaves_makes_the_host_wait() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    for made in [
        "mkfifo $F",
        "ln -s /dev/zero $F",
        "truncate -s 10G $F",
        "ln -s $F $F",
        "ln -s /dev/tty $F",
        "mkfifo p$N; ln -s $PWD/p$N $F",
    ] {
        scene.prepare(&format!("{REPOSITORY} && mkdir h && git config core.hooksPath h && git config include.path ../.gitconfig"));
        let mut script = String::new();
        for (number, (file, prepare)) in PLACES.iter().enumerate() {
            writeln!(script, "{prepare}; N={number}; F={file}; rm -rf $F; {made}")
                .expect("written");
        }
        let started = Instant::now();
        let (printed, _) = scene.confined(&format!("{script} ls -A"));
        for _ in 0..2 {
            let (still, _) = scene.confined("echo still");
            assert_eq!(still, "still\n[Some(0)]", "{made}: {printed}");
        }
        let took = started.elapsed();
        assert!(took < Duration::from_secs(6), "{made}: {took:?}\n{printed}");
    }
}

/// A command that runs exchanges what the host reads after another one.
#[test]
fn an_exchange_while_the_host_reads_is_no_way_to_make_it_wait() {
    if !has_namespaces() {
        return;
    }
    let exchange = "mkdir sub z; mkfifo z/pipe; ln -s /dev/zero z/zero; echo gitdir: ../z > z/file; : > ready; \
        until [ -e stop ]; do for k in pipe zero file; do cp -a z/$k z/x; mv -T z/x sub/.git; done; done";
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| scene.confined(exchange));
        threads.spawn(|| {
            let started = Instant::now();
            while !is_over.load(Ordering::Relaxed) {
                assert!(started.elapsed() < Duration::from_secs(60), "the host waits");
                thread::sleep(Duration::from_millis(20));
            }
        });
        while !root.join("ready").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..60 {
            let (printed, _) = scene.confined("echo still; touch sub/x; rm sub/x");
            assert_eq!(printed, "still\n[Some(0)]");
        }
        is_over.store(true, Ordering::Relaxed);
        fs::write(root.join("stop"), "").expect("written");
    });
}
