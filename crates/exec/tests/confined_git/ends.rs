//! Ends of the host: whatever ends it while a command runs, the next host takes nothing of the command's for the
//! person's.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::process::Signal;
use toolwright_exec::{ExecEnv, ExecRequest, GitReport, GitReports, run};
use toolwright_sandbox::plan::Plan;

use super::has_namespaces;
use super::law::{Grounds, Numbers, none_of, seed, tree};
use super::support::place::{Place, signal, supervisors};
use super::support::{factor, soon, strings};

/// The root, the state directory and the script of a host that a test kills.
pub(super) const HOST: [&str; 3] =
    ["TOOLWRIGHT_KILLED_ROOT", "TOOLWRIGHT_KILLED_STATE", "TOOLWRIGHT_KILLED_SCRIPT"];

/// What a person has, each of a kind that is judged.
const PERSON: &str = "git init -q . && git commit -q --allow-empty -m x && git submodule --quiet add $BESIDE/lib sub && git commit -qm sub \
    && git worktree add -q wt && git init -q --bare b.git && git push -q ./b.git main && echo '#!/bin/sh' > b.git/hooks/pre-receive \
    && git init -q own && git -C own commit -q --allow-empty -m own && git init -q --separate-git-dir=sg sw \
    && mkdir -p deep/1/2/3 && ln -s $BESIDE/lib/.git deep/.git && git init -q --bare deep/1/bare && mkdir .vscode && echo '{}' > .vscode/settings.json";

/// What a command plants, and which names have to be gone afterwards.
pub(super) const PLANTS: &[(&str, &[&str])] = &[
    (
        "cp -r .git/. evil; git config -f evil/config core.fsmonitor %C; mkdir -p deep/1/2/3/4/5/6/7/8; echo gitdir: $PWD/evil > deep/1/2/3/4/5/6/7/8/.git",
        &["deep/1/2/3/4/5/6/7/8/.git"],
    ),
    (
        "mkdir -p d/bare/objects d/bare/refs; printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = %C\\n' > d/bare/config; echo ref: refs/heads/main > d/bare/HEAD",
        &["d/bare/HEAD"],
    ),
    (
        "mkdir -p .cursor .devcontainer; echo '{}' > .mcp.json; echo x > .cursor/mcp.json; echo x > .devcontainer/devcontainer.json",
        &[".mcp.json", ".cursor", ".devcontainer"],
    ),
    (
        "mkdir -p objects refs; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = %C\\n' > config; echo ref: refs/heads/x > HEAD",
        &["HEAD"],
    ),
    (
        "mkdir -p c/evil/objects c/evil/refs; git config -f c/evil/config core.fsmonitor %C; echo ref: refs/heads/x > c/evil/HEAD; mkdir c/w; echo gitdir: ../evil > c/w/.git; echo $PWD/c/evil > c/evil/commondir",
        &["c/evil/HEAD", "c/w/.git"],
    ),
];

/// The plan of a host that keeps marks, with the usual protection.
pub(super) fn plan_of(root: &Path, state: &Path) -> Plan {
    super::plan_of(root, &["@git", "@editors", "@agents", "@tools"], None, Some(state))
}

/// What a host runs, with the reports of it.
pub(super) fn run_as_host(root: &Path, state: &Path, script: &str) -> Vec<GitReport> {
    let mut place = Place::confined();
    place.plan = plan_of(root, state);
    let reports = GitReports::default();
    let args = strings(&["-c", script]);
    let variables = env::vars_os().filter(|(name, _)| name == "PATH");
    let variables: Vec<_> = variables.chain([("GIT_CONFIG_NOSYSTEM".into(), "1".into())]).collect();
    let request = ExecRequest {
        cwd: root,
        env: ExecEnv::Exactly(variables.into()),
        git: Some(&reports),
        ..place.request("sh", &args)
    };
    let _ = run(&request);
    reports.take()
}

/// Does nothing unless it is the process that a test kills.
#[test]
fn host_that_is_killed() {
    let [Some(root), Some(state), Some(script)] = HOST.map(env::var_os) else { return };
    let script = script.into_string().expect("a script");
    run_as_host(Path::new(&root), Path::new(&state), &script);
}

/// Starts such a process, and waits until its command says that it has begun.
pub(super) fn host(root: &Path, state: &Path, script: &str) -> Child {
    let begun = root.join("begun");
    let _ = fs::remove_file(&begun);
    let child = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", "--nocapture", "ends::host_that_is_killed"])
        .envs([(HOST[0], root), (HOST[1], state)])
        .env(HOST[2], format!("echo x > begun; {script}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let started = Instant::now();
    while !begun.exists() && started.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(begun.exists(), "the command begins");
    child
}

/// Ends a host, and waits for all that it has started.
pub(super) fn end(mut host: Child, how: Signal, with_supervisors: bool) {
    let started = supervisors(host.id());
    signal(host.id(), how);
    if with_supervisors {
        for supervisor in &started {
            let pid = rustix::process::Pid::from_raw(supervisor.cast_signed()).expect("a number");
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
    host.wait().expect("ended");
    let lives = |process: &u32| super::support::is_alive(*process);
    assert!(soon(|| !started.iter().any(lives)), "the supervisors end");
}

pub(super) fn state_of(grounds: &Grounds) -> PathBuf {
    grounds.scene.place.outside.join("state")
}

/// What a person sees of everything, with an editor's poll.
const LOOKS: &str = "for d in $(find . -type d -not -path '*/.git/*' -not -path './evil/*' | head -60); do (cd $d && timeout 5 git status --porcelain; timeout 5 git log -1) > /dev/null 2>&1; done";

#[test]
fn what_a_killed_host_leaves_is_not_taken_for_the_persons() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new(PERSON);
    let (root, state) = (grounds.root().to_owned(), state_of(&grounds));
    let mut numbers = Numbers(seed());
    let mut wrong = Vec::new();
    let rounds = 2 * factor();
    for round in 0..rounds {
        for (number, (plant, gone)) in PLANTS.iter().enumerate() {
            grounds.restore();
            let _ = fs::remove_dir_all(&state);
            let before = tree(&root);
            let (how, with_supervisors) = *numbers.one(&[
                (Signal::KILL, false),
                (Signal::KILL, true),
                (Signal::TERM, false),
                (Signal::INT, true),
            ]);
            let script = grounds.filled(&format!("{plant}; echo x > planted; sleep 20"));
            let child = host(&root, &state, &script);
            // Now and then in the middle of it.
            if round == 0 || numbers.below(3) > 0 {
                assert!(soon(|| root.join("planted").exists()), "it plants");
            } else {
                thread::sleep(Duration::from_micros(numbers.next() % 20_000));
            }
            end(child, how, with_supervisors);
            let was_there: Vec<&&str> =
                gone.iter().filter(|name| root.join(name).symlink_metadata().is_ok()).collect();
            let reports = run_as_host(&root, &state, "true");
            let case = format!("round {round}, plant {number}, {how:?} {with_supervisors}");
            for name in gone.iter().filter(|name| root.join(name).symlink_metadata().is_ok()) {
                wrong.push(format!("{case}: {name} is there: {reports:?}"));
            }
            if !was_there.is_empty() && reports.first() != Some(&GitReport::Killed) {
                wrong.push(format!("{case}: nothing is said: {reports:?}"));
            }
            let now = tree(&root);
            // Git writes its index when it looks.
            for (path, was) in &before {
                if path != &root && now.get(path) != Some(was) {
                    wrong.push(format!("{case}: {} has changed", path.display()));
                }
            }
            grounds.scene.on_host(&root, LOOKS);
            wrong.extend(grounds.effect().map(|effect| format!("{case}: {effect}")));
            // Only once.
            let again = run_as_host(&root, &state, "true");
            if !again.is_empty() {
                wrong.push(format!("{case}: again {again:?}"));
            }
        }
    }
    none_of(&wrong, usize::try_from(rounds).expect("small") * PLANTS.len());
}

/// What a person makes while no command runs is theirs, however the host ends then.
#[test]
fn what_is_made_while_no_command_runs_stays() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new("git init -q . && git commit -q --allow-empty -m x");
    let (root, state) = (grounds.root().to_owned(), state_of(&grounds));
    // It runs a command, says so, and waits for its end.
    let test = "ends::host_that_waits";
    let mut child = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", "--nocapture", test])
        .envs([(HOST[0], &root), (HOST[1], &state)])
        .env(HOST[2], "true")
        .env("TOOLWRIGHT_KILLED_WAITS", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("waits")), "it waits");
    let made = "git init -q --bare mine.git; echo gitdir: ../mine.git > d; mkdir e .vscode; mv d e/.git; echo x > .vscode/x";
    grounds.scene.on_host(&root, made);
    let before = tree(&root);
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(run_as_host(&root, &state, "true"), []);
    assert_eq!(tree(&root), before);
}

#[test]
#[expect(clippy::print_stdout, reason = "it is what the other process waits for")]
fn host_that_waits() {
    let [Some(root), Some(state), Some(_)] = HOST.map(env::var_os) else { return };
    if env::var_os("TOOLWRIGHT_KILLED_WAITS").is_none() {
        return;
    }
    run_as_host(Path::new(&root), Path::new(&state), "true");
    println!("waits");
    thread::sleep(Duration::from_secs(60));
}

/// Two hosts work in one root, and one of them is killed.
#[test]
fn the_other_host_in_a_root_judges_it() {
    if !has_namespaces() {
        return;
    }
    let grounds = Grounds::new(PERSON);
    let (root, state) = (grounds.root().to_owned(), state_of(&grounds));
    assert_eq!(run_as_host(&root, &state, "true"), []);
    let (plant, gone) = PLANTS[0];
    let child =
        host(&root, &state, &grounds.filled(&format!("{plant}; echo x > planted; sleep 20")));
    assert!(soon(|| root.join("planted").exists()), "it plants");
    // It runs, and is right about what it has made itself.
    run_as_host(&root, &state, "true");
    assert!(root.join(gone[0]).exists());
    end(child, Signal::KILL, true);
    assert_eq!(run_as_host(&root, &state, "true").first(), Some(&GitReport::Killed));
    assert!(!root.join(gone[0]).exists());
}
