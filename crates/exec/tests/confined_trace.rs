//! Nothing of a sandbox shows in a root, neither to programs on the host nor to commands, whatever is protected there and
//! absent. A command that makes a `.git` is the only exception.
#![cfg(target_os = "linux")]

mod support;

#[path = "confined_trace/watch.rs"]
mod watch;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{env, fs, thread};

use rustix::process::Signal;
use support::place::{Place, has_namespaces, signal, supervisors};
use support::{all_as_another_user, factor, is_alive, scene, soon, text};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::{Options, Resolved, plan, presets};
use watch::Watch;

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// What a root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Without,
    With,
    Below,
    Bare,
    Linked,
    /// Without a repository, with absent paths of its own that may not be written.
    Denied,
    /// The home directory of the user.
    Home,
}

const KINDS: [Kind; 7] =
    [Kind::Without, Kind::With, Kind::Below, Kind::Bare, Kind::Linked, Kind::Denied, Kind::Home];

/// Absent paths that a caller denies: a name, one below directories that are absent too, and one that a link leads to.
const DENIED: [&str; 4] = [".env", "config/secret/key", "led", "kept/.npmrc"];

fn plan_of(root: &Path, kind: Kind) -> Plan {
    // The directory for temporary files is private, and with it what lies around the root.
    let is_of_outside = matches!(kind, Kind::Below | Kind::Linked);
    let readable =
        root.parent().filter(|_| is_of_outside).map(Path::to_owned).into_iter().collect();
    let resolved = Resolved { readable, ..scene::resolved(root) };
    let mut deny_write: Vec<PathBuf> = presets::DEFAULT.map(PathBuf::from).to_vec();
    if kind == Kind::Denied {
        deny_write.extend(DENIED.map(PathBuf::from));
    }
    let home = root.with_file_name("home");
    let home = Some(if kind == Kind::Home { root } else { &*home });
    plan(&Options { home, ..scene::options(&resolved, &deny_write) })
}

/// Has a person do something.
fn on_host(directory: &Path, script: &str) -> String {
    let (output, code) = scene::on_host(directory, script, |shell| {
        // A lock of the index is none of the person's.
        shell.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_OPTIONAL_LOCKS", "0");
        shell.env("HOME", directory.with_file_name("home"))
    });
    shown(&output, code)
}

/// What has been printed, and how it ended. Where git has stopped to look differs.
fn shown(output: &str, code: Option<i32>) -> String {
    const NONE: &str = "fatal: not a git repository";
    let output = if output.starts_with(NONE) { NONE } else { output };
    format!("{output}[{code:?}]")
}

const COMMIT: &str = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main";

struct Scene {
    place: Place,
    kind: Kind,
}

impl Scene {
    fn new(kind: Kind) -> Self {
        let place = Place::confined();
        let commit = format!("{COMMIT} init -q . && {COMMIT} commit -q --allow-empty -m first");
        let made = match kind {
            Kind::Without | Kind::Home => "true".to_owned(),
            Kind::Denied => "mkdir kept; ln -s nowhere led".to_owned(),
            Kind::With => commit,
            Kind::Below => format!("cd ..; {commit}"),
            Kind::Bare => format!("{COMMIT} init -q --bare --template= . "),
            Kind::Linked => {
                format!("mkdir ../main; cd ../main; {commit} && git worktree add -q -f ../root")
            }
        };
        let shown = on_host(&place.root, &made);
        assert!(shown.ends_with("[Some(0)]"), "{kind:?}: {shown}");
        fs::write(place.root.join("own"), "needle\n").expect("written");
        if kind != Kind::Bare {
            fs::write(place.root.join("go.mod"), "module m\n\ngo 1.19\n").expect("written");
            fs::write(place.root.join("main.go"), "package main\n\nfunc main() {}\n")
                .expect("written");
        }
        Self { place, kind }
    }

    fn root(&self) -> &Path {
        &self.place.root
    }

    /// What a command prints, and how it ends.
    fn confined(&mut self, script: &str) -> String {
        self.place.plan = plan_of(&self.place.root, self.kind);
        let finished = self.place.sh(&format!("exec 2>&1; {script}")).expect("runs");
        shown(&text(&finished), scene::code(&finished.exit))
    }
}

/// Everything below a directory.
fn names(directory: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut left = vec![directory.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
            all.insert(entry.path().strip_prefix(directory).expect("below").to_owned());
        }
    }
    all
}

/// What commands do, and the names that they make meanwhile.
const SCRIPTS: [&str; 8] = [
    "ls -A",
    "find . -path ./.git -prune -o -print | sort",
    "grep -r --exclude-dir=.git -l needle . | sort",
    "git status --porcelain | sort",
    "echo x > made; rm made; mkdir dir; echo x > dir/made; mv dir other; rm -r other",
    "git rev-parse --show-toplevel HEAD; true",
    "cat own; touch own",
    "sh -c 'echo | cat' && printf %s \"$PWD\"",
];
const MADE: [&str; 4] = ["made", "dir", "dir/made", "other"];

/// What programs of a person say while commands run.
const LOOKS: [&str; 3] = ["find . | sort", "git status --porcelain | sort", "ls -A"];

/// Ends the thread of the person, also when this one panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_shows() {
    if !has_namespaces() {
        return;
    }
    for kind in KINDS {
        let mut scene = Scene::new(kind);
        let root = scene.root().to_owned();
        let expected = SCRIPTS.map(|script| on_host(&root, script));
        let looks = LOOKS.map(|script| on_host(&root, script));
        let before = names(&root);
        let watch = Watch::begin(&root);
        let (is_over, looked) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                let expected = |line: &str| {
                    let name = line.trim_start_matches("./").trim_start_matches("?? ");
                    MADE.iter()
                        .any(|made| name.trim_end_matches('/') == *made || name == "other/made")
                };
                while !is_over.load(Ordering::Relaxed) {
                    for (script, before) in LOOKS.iter().zip(&looks) {
                        let shown = on_host(&root, script);
                        // A file that goes while it is looked at is said to be gone.
                        let shown: Vec<&str> = shown
                            .lines()
                            .filter(|line| !expected(line) && !line.contains("No such file"))
                            .collect();
                        let before: Vec<&str> = before.lines().collect();
                        let is_same = shown[..shown.len() - 1] == before[..before.len() - 1];
                        assert!(is_same, "{kind:?} {script}: {shown:?} {before:?}");
                    }
                    looked.fetch_add(1, Ordering::Relaxed);
                }
            });
            let over = Over(&is_over);
            // A thousand commands at a factor of 18.
            for round in 0..factor() {
                for (script, expected) in SCRIPTS.iter().zip(&expected) {
                    let shown = scene.confined(script);
                    assert_eq!(&shown, expected, "{kind:?} {round} {script}");
                }
            }
            assert!(soon(|| looked.load(Ordering::Relaxed) > 0));
            drop(over);
        });
        let mut seen = watch.end();
        seen.retain(|name| !before.contains(name));
        seen.retain(|name| !MADE.iter().any(|made| name == Path::new(made)));
        seen.remove(Path::new("other/made"));
        assert!(seen.is_empty(), "{kind:?}: {seen:?}");
        assert_eq!(names(&root), before, "{kind:?}");
    }
}

/// Programs that look for a repository, inside and outside meanwhile.
#[test]
fn builders_find_what_they_found() {
    let has = |program: &str| on_host(Path::new("/usr/bin"), &format!("command -v {program}"));
    if !has_namespaces() {
        return;
    }
    let go = "export HOME=/tmp GOCACHE=$CACHE GOPATH=/tmp/go GOBIN=/tmp/bin GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPROXY=off; \
        go build -o /tmp/app . && /tmp/app && go install . && /tmp/bin/m";
    // Of an npm that runs the tests, a user's npm would take the cache.
    let pack = "for n in $(env | grep -o '^npm_[^=]*'); do unset $n; done; export HOME=/tmp npm_config_update_notifier=false; npm pack --silent --ignore-scripts --pack-destination /tmp";
    for (program, script) in [("go", go), ("npm", pack)] {
        if !has(program).ends_with("[Some(0)]") {
            eprintln!("skipped: there is no {program}");
            continue;
        }
        for kind in [Kind::Without, Kind::Denied, Kind::Below] {
            let mut scene = Scene::new(kind);
            let root = scene.root().to_owned();
            fs::write(root.join("package.json"), r#"{"name":"m","version":"1.0.0"}"#)
                .expect("written");
            let cache = root.with_file_name("cache");
            let script = script.replace("$CACHE", &cache.display().to_string());
            let host = script.replace("/tmp", &root.with_file_name("tmp").display().to_string());
            fs::create_dir_all(root.with_file_name("tmp")).expect("made");
            let before = on_host(&root, &host);
            assert!(before.ends_with("[Some(0)]"), "{kind:?}: {before}");
            let watch = Watch::begin(&root);
            let meanwhile = thread::scope(|threads| {
                let meanwhile = threads.spawn(|| on_host(&root, &host));
                let script = script.replace(&*cache.to_string_lossy(), "/tmp/cache");
                assert_eq!(scene.confined(&script), before, "{kind:?} {program}");
                meanwhile.join().expect("joined")
            });
            assert_eq!(meanwhile, before, "{kind:?} {program}");
            assert_eq!(watch.end(), BTreeSet::new(), "{kind:?} {program}");
        }
    }
}

/// What is denied and absent cannot be made, in any way, and nobody sees that.
#[test]
fn what_is_denied_stays_absent() {
    if !has_namespaces() {
        return;
    }
    let mut scene = Scene::new(Kind::Denied);
    let root = scene.root().to_owned();
    let before = names(&root);
    let watch = Watch::begin(&root);
    for attempt in [
        "echo x > .env",
        "echo x >> .env",
        "mkdir .env",
        "ln -s own .env",
        "ln own .env",
        "mkfifo .env",
        "cp own .env",
        "mv own .env",
        "cd kept && echo x > ../.env",
        "echo x > $PWD/.env",
        "echo x > /proc/self/cwd/.env",
        "exec 9< . && echo x > /dev/fd/9/.env",
        "python3 -c \"import os; os.open('.env', os.O_CREAT | os.O_WRONLY)\"",
        "python3 -c \"import os; os.open('.env', os.O_CREAT)\"",
        "python3 -c \"import os; f = os.open('.', os.O_TMPFILE | os.O_WRONLY); os.link(f'/proc/self/fd/{f}', '.env', follow_symlinks=True)\"",
        "ln -s .env link && echo x > link",
        "echo x > led",
        "echo x > nowhere",
        "rm led",
        "mv led x",
        "ln -sfn own led",
        "echo x > kept/.npmrc",
        "mv kept x",
        "mkdir -p config/secret && echo x > config/secret/key",
        "mkdir -p config/secret/key",
        "mkdir -p a/secret && echo x > a/secret/key && mv -T a config && test -e config/secret/key",
        "mkdir -p a/secret && echo x > a/secret/key && ln -s a config",
        "mkdir -p config b && echo x > b/key && mv -T b config/secret && test -e config/secret/key",
        "mkdir -p config b && echo x > b/key && ln -s ../b config/secret",
        "mkdir -p config/secret b && echo x > b/key && python3 -c \"import ctypes; l = ctypes.CDLL(None, use_errno=True); \
         import sys; sys.exit(l.renameat2(-100, b'b', -100, b'config/secret', 2) != 0)\"",
        "mkdir -p config/secret b && echo x > b/key && python3 -c \"import ctypes; l = ctypes.CDLL(None, use_errno=True); \
         import sys; sys.exit(l.renameat2(-100, b'config/secret', -100, b'b', 2) != 0)\"",
    ] {
        let shown = scene.confined(&format!("({attempt})"));
        assert!(!shown.ends_with("[Some(0)]"), "{attempt}: {shown}");
        let cleaned = scene.confined("rm -rf config a b link");
        assert_eq!(cleaned, "[Some(0)]", "{attempt}");
        assert_eq!(names(&root), before, "{attempt}: {shown}");
    }
    let seen = watch.end();
    let is_denied = |name: &PathBuf| {
        [".env", "config/secret/key", "nowhere", "kept/.npmrc"]
            .iter()
            .any(|denied| name == Path::new(denied))
    };
    assert!(!seen.iter().any(is_denied), "{seen:?}");
    // What a person makes is protected from the next command on, and not written by one that runs.
    let went_on = thread::scope(|threads| {
        threads.spawn(|| {
            assert!(soon(|| root.join("ready").exists()));
            fs::write(root.join(".env"), "person").expect("written");
        });
        scene.confined("echo > ready; until [ -e .env ]; do sleep 0.01; done; echo x > .env; cat .env; rm ready")
    });
    assert!(went_on.contains("person"), "{went_on}");
    let shown = scene.confined("echo x > .env; rm -f .env; mv .env x; cat .env");
    assert!(shown.contains("person"), "{shown}");
    assert_eq!(fs::read_to_string(root.join(".env")).expect("there"), "person");
}

/// A command that makes a repository is seen to do so.
#[test]
fn a_command_may_make_a_repository_where_none_is() {
    if !has_namespaces() {
        return;
    }
    for kind in [Kind::Without, Kind::Denied, Kind::Home] {
        let mut scene = Scene::new(kind);
        let shown = scene.confined(&format!("{COMMIT} init -q . && git status --porcelain -uno"));
        assert_eq!(shown, "[Some(0)]", "{kind:?}");
        assert!(scene.root().join(".git/HEAD").exists(), "{kind:?}");
    }
}

const ROOT: &str = "TOOLWRIGHT_EXEC_ROOT";
const KIND: &str = "TOOLWRIGHT_EXEC_KIND";

/// Runs commands until it is killed. The test is about what is left.
#[test]
#[ignore = "a host for the test below"]
fn host() {
    let root = PathBuf::from(env::var_os(ROOT).expect("a root"));
    let kind: usize = env::var(KIND).expect("a kind").parse().expect("a number");
    let mut place = Place::confined();
    place.plan = plan_of(&root, KINDS[kind]);
    place.root.clone_from(&root);
    loop {
        place.output("true");
        fs::write(root.with_file_name("ready"), "").expect("written");
        place.output("sleep 0.02");
    }
}

#[test]
fn nothing_is_left_by_a_kill() {
    if !has_namespaces() {
        return;
    }
    for (number, kind) in KINDS.into_iter().enumerate() {
        for kills_supervisor in [false, true] {
            let scene = Scene::new(kind);
            let root = scene.root();
            let before = names(root);
            let watch = Watch::begin(root);
            let mut host = Command::new(env::current_exe().expect("path"))
                .args(["--exact", "--ignored", "--test-threads=1", "host"])
                .env(ROOT, root)
                .env(KIND, number.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("started");
            assert!(soon(|| root.with_file_name("ready").exists()));
            let all = supervisors(host.id());
            if kills_supervisor {
                for one in &all {
                    signal(*one, Signal::KILL);
                }
                // The next commands have another one.
                thread::sleep(std::time::Duration::from_millis(50));
            }
            host.kill().expect("killed");
            assert_eq!(host.wait().expect("waited").signal(), Some(9));
            assert!(soon(|| all.iter().all(|one| !is_alive(*one))));
            assert_eq!(watch.end(), BTreeSet::new(), "{kind:?}");
            assert_eq!(names(root), before, "{kind:?}");
        }
    }
}
