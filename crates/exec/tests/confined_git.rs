//! Git in a confined command: it works as outside, and leaves nothing that runs a program later.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::place::{Place, has_namespaces};
use support::{scene, strings, text};
use toolwright_exec::{
    ExecEnv, ExecError, ExecRequest, Finished, GitNote, GitReport, GitReports, run,
};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::{Options, plan};

#[path = "confined_git/ends.rs"]
mod ends;
#[path = "confined_git/flows.rs"]
mod flows;
#[path = "confined_git/forks.rs"]
mod forks;
#[path = "confined_git/law/mod.rs"]
mod law;
#[path = "confined_git/layouts.rs"]
mod layouts;
#[path = "confined_git/led_to.rs"]
mod led_to;
#[path = "confined_git/limited.rs"]
mod limited;
#[path = "confined_git/marks.rs"]
mod marks;
#[path = "confined_git/new_repository.rs"]
mod new_repository;
#[path = "confined_git/only_read.rs"]
mod only_read;
#[path = "confined_git/plants.rs"]
mod plants;
#[path = "confined_git/strict.rs"]
mod strict;

/// Settings that a person has for all repositories.
const SETTINGS: [(&str, &str); 6] = [
    ("user.name", "A U Thor"),
    ("user.email", "author@localhost"),
    ("protocol.file.allow", "always"),
    ("init.defaultBranch", "main"),
    ("advice.detachedHead", "false"),
    ("gc.auto", "0"),
];

/// The plan of a host for a root. `state` is where it keeps marks, if it does.
fn plan_of(root: &Path, deny_write: &[&str], home: Option<&Path>, state: Option<&Path>) -> Plan {
    let deny_write: Vec<PathBuf> = deny_write.iter().map(PathBuf::from).collect();
    plan(&Options { home, state, ..scene::options(&scene::resolved(root), &deny_write) })
}

/// A root with a repository or without one, and another repository beside it that commands read.
struct Scene {
    place: Place,
    /// Beside the root.
    beside: PathBuf,
}

impl Scene {
    fn new(prepare: &str) -> Self {
        let place = Place::confined();
        let beside = place.outside.join("beside");
        let scene = Self { place, beside };
        scene.prepare(prepare);
        scene
    }

    /// Makes both anew, in the same places.
    fn prepare(&self, prepare: &str) {
        let _ = fs::remove_dir_all(&self.beside);
        fs::create_dir(&self.beside).expect("made");
        for entry in fs::read_dir(&self.place.root).expect("listed").flatten() {
            let path = entry.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.expect("removed");
        }
        let library = "git init -q lib && cd lib && echo lib > l && git add l && git commit -qm lib \
            && git branch feature && git tag v1 && cd .. && git clone -q --bare lib up.git";
        self.on_host(&self.beside, library);
        self.on_host(&self.place.root, prepare);
    }

    fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("HOME".to_owned(), self.place.outside.join("home").display().to_string()),
            ("PATH".to_owned(), std::env::var("PATH").expect("a path")),
            ("BESIDE".to_owned(), self.beside.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("GIT_AUTHOR_DATE".to_owned(), "2024-01-01T00:00:00Z".to_owned()),
            ("GIT_COMMITTER_DATE".to_owned(), "2024-01-01T00:00:00Z".to_owned()),
            ("GIT_EDITOR".to_owned(), "true".to_owned()),
            ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ];
        for (number, (key, value)) in SETTINGS.iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
        }
        variables.sort();
        variables
    }

    /// What a script prints, and how it ends, as a person runs it.
    fn on_host(&self, directory: &Path, script: &str) -> String {
        let variables = self.variables();
        let (shown, code) =
            scene::on_host(directory, script, |shell| shell.env_clear().envs(variables));
        self.without_paths(&format!("{shown}[{code:?}]"))
    }

    /// The same in the sandbox, behind the plan of this moment.
    fn confined(&self, script: &str) -> (String, GitReports) {
        self.confined_with(script, |_| ())
    }

    /// The same behind a plan that is changed.
    fn confined_with(&self, script: &str, change: impl FnOnce(&mut Plan)) -> (String, GitReports) {
        let (finished, reports) = self.try_confined(script, change);
        let finished = finished.expect("it runs");
        let code = scene::code(&finished.exit);
        (self.without_paths(&format!("{}[{code:?}]", text(&finished))), reports)
    }

    /// Why a command is not run behind a plan that is changed.
    fn refused_with(&self, script: &str, change: impl FnOnce(&mut Plan)) -> String {
        format!("{:?}", self.try_confined(script, change).0.expect_err("it is refused"))
    }

    fn try_confined(
        &self,
        script: &str,
        change: impl FnOnce(&mut Plan),
    ) -> (Result<Finished, ExecError>, GitReports) {
        let root = &self.place.root;
        let mut plan = plan_of(root, &[".git/hooks", ".git/config"], None, None);
        plan.readable.push(self.beside.clone());
        change(&mut plan);
        let mut place = Place::confined();
        place.plan = plan;
        let reports = GitReports::default();
        let args = strings(&["-c", &format!("exec 2>&1; {script}")]);
        let variables =
            self.variables().into_iter().map(|(name, value)| (name.into(), value.into()));
        let request = ExecRequest {
            cwd: root,
            env: ExecEnv::Exactly(variables.collect::<Vec<_>>().into()),
            git: Some(&reports),
            // A look at many repositories waits two seconds for each git that a pipe holds.
            timeout: Duration::from_secs(150),
            ..place.request("sh", &args)
        };
        let finished = run(&request);
        (finished, reports)
    }

    fn without_paths(&self, text: &str) -> String {
        text.replace(&*self.place.outside.to_string_lossy(), "PLACE")
    }

    /// All that a person sees of the repository afterwards.
    fn state(&self) -> String {
        let commands = [
            "git config --local --list | sort",
            "for d in .git/modules/*; do test -d $d && git --git-dir=$d config --list --local | sort; done",
            "git for-each-ref; git symbolic-ref -q HEAD; git stash list",
            "git status --porcelain --branch",
            "git ls-files -s; git log --format='%H %s' -5",
            // A host writes the objects of a new repository anew, and no hooks that do nothing.
            "find . -name .git -prune -o -path './*.git/objects' -prune -o -path './*.git/hooks' -prune -o -type f -print | sort | xargs sha1sum",
            "git worktree list --porcelain; git submodule status",
            "git reflog --all",
        ];
        commands.map(|line| self.on_host(&self.place.root, line)).join("\n")
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.place.root.join(path);
        fs::create_dir_all(path.parent().expect("above")).expect("made");
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    }
}

/// What a command was told of repositories.
fn notes(reports: &GitReports) -> Vec<GitNote> {
    let of_repository = |report| match report {
        GitReport::Repository { note, .. } => note,
        other => panic!("{other:?}"),
    };
    reports.take().into_iter().map(of_repository).collect()
}

/// The names that are set aside.
fn set_aside(reports: &GitReports) -> Vec<String> {
    let names = |report| match report {
        GitReport::SetAside { names, .. } => names,
        _ => Vec::new(),
    };
    reports.take().into_iter().flat_map(names).collect()
}

#[test]
fn a_setting_that_runs_a_program_does_not_outlive_its_command() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(flows::REPOSITORY);
    let (printed, reports) =
        scene.confined("git config alias.x '!echo aliased'; git config pull.rebase true; git x");
    assert_eq!(printed, "aliased\n[Some(0)]");
    assert_eq!(notes(&reports), [GitNote::SettingsRefused(vec!["alias.x".into()])]);
    assert!(!scene.place.root.join(".git/config.lock").exists());
    let (printed, reports) = scene.confined("git x; git config pull.rebase");
    assert!(printed.contains("'x' is not a git command") && printed.ends_with("true\n[Some(0)]"));
    assert_eq!(reports.take(), []);
    assert_eq!(
        scene.on_host(&scene.place.root, "git config --get-regexp 'alias|pull'"),
        "pull.rebase true\n[Some(0)]"
    );
}

#[test]
fn init_where_there_is_a_repository_changes_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(flows::REPOSITORY);
    let before = scene.state();
    let (printed, reports) = scene.confined("git init");
    assert_eq!(printed, "Reinitialized existing Git repository in PLACE/root/.git/\n[Some(0)]");
    assert_eq!(reports.take(), []);
    assert_eq!(scene.state(), before);
}

#[test]
fn what_the_host_changes_meanwhile_stays() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(flows::REPOSITORY);
    let root = &scene.place.root;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !root.join("ready").exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            scene.on_host(root, "git config user.name host; git config user.email h@h; : > go");
        });
        let script = ": > ready; until [ -e go ]; do sleep 0.01; done; \
            git config user.name command; git config init.defaultBranch x; rm ready go";
        let (printed, reports) = scene.confined(script);
        assert_eq!(printed, "[Some(0)]");
        assert_eq!(notes(&reports), [GitNote::SettingsMeanwhile(vec!["user.name".into()])]);
    });
    let state = scene.on_host(root, "git config --local --get-regexp 'user|init'");
    assert_eq!(state, "user.name host\nuser.email h@h\ninit.defaultbranch x\n[Some(0)]");
}

/// The kernel reports what is made in a directory, not what is made in another one with its name.
#[test]
fn a_root_that_is_made_again_is_looked_at() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let root = &scene.place.root;
    let plant = "mkdir sub; echo gitdir: ../evil > sub/.git";
    for again in ["mv root old1; mkdir root", "rm -rf root; mkdir root"] {
        scene.confined("true");
        scene.on_host(&scene.place.outside, again);
        let (_, reports) = scene.confined(plant);
        assert_eq!(set_aside(&reports), [".git"], "{again}");
        assert!(!root.join("sub/.git").exists(), "{again}");
    }
}
