//! Caches of the user: commands find them as they are, and what they write there stays with them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use toolwright_exec::{ExecEnv, ExecRequest, Sandbox, run};
use toolwright_sandbox::plan::{Limits, Network, Plan};

struct Place {
    _temporary: tempfile::TempDir,
    home: PathBuf,
    plan: Plan,
}

impl Place {
    fn new() -> Self {
        // Commands have another `/tmp`.
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = temporary.path().canonicalize().unwrap();
        for directory in ["root", ".cache/pip/http", ".cache/hub", ".npm"] {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        fs::write(home.join(".cache/pip/http/kept"), "the person's\n").unwrap();
        fs::write(home.join(".cache/hub/token"), "secret\n").unwrap();
        let plan = Plan {
            root: home.join("root"),
            network: Network::PrivateLoopback,
            writable: vec![home.join("root")],
            caches: vec![home.join(".cache"), home.join(".npm")],
            closed: vec![home.join(".cache/hub/token")],
            hides_git_directories: true,
            looks_below: Some(home.join("root")),
            limits: Limits::DEFAULT,
            ..Plan::default()
        };
        Self { _temporary: temporary, home, plan }
    }

    fn sh(&self, line: &str) -> String {
        let args = ["-c".to_owned(), line.to_owned()];
        let path = std::env::var_os("PATH").unwrap();
        let variables: Vec<(OsString, OsString)> =
            vec![("PATH".into(), path), ("HOME".into(), self.home.clone().into())];
        let request = ExecRequest {
            cwd: &self.plan.root,
            env: ExecEnv::Exactly(variables.into()),
            sandbox: Some(Sandbox {
                plan: &self.plan,
                below: Path::new(""),
                required: true,
                isolated: false,
                on_open_files: |_| (),
            }),
            ..ExecRequest::new("sh", &args)
        };
        let finished = run(&request).unwrap();
        format!("{}{:?}", String::from_utf8_lossy(&finished.output.bytes), finished.exit)
    }

    fn holds(&self) -> bool {
        let report = toolwright_exec::report(&self.plan, false, &toolwright_exec::Cancel::new());
        report.files.level == toolwright_sandbox::report::Level::Kernel && {
            let written = self.sh("touch ~/.npm/probe");
            if !written.contains("Code(0)") {
                eprintln!("skipped: this machine makes no overlays: {written}");
            }
            written.contains("Code(0)")
        }
    }

    /// What the host has there.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut left = vec![self.home.join(".cache"), self.home.join(".npm")];
        while let Some(path) = left.pop() {
            for entry in fs::read_dir(&path).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(&self.home).unwrap().display().to_string());
                if path.is_dir() {
                    left.push(path);
                }
            }
        }
        names.sort();
        names
    }
}

#[test]
fn a_cache_takes_what_a_command_writes_and_the_host_keeps_its_own() {
    let place = Place::new();
    if !place.holds() {
        return;
    }
    let before = place.names();
    let written = place.sh(
        "cd ~/.cache && cat pip/http/kept && echo mine > pip/http/kept && mkdir -p new/a && echo x > new/a/b && mv new new2 \
         && rm -r pip && mkdir pip && echo again > pip/x && cd ~/.npm && mkdir _cacache && ln -s x y",
    );
    assert_eq!(written, "the person's\nCode(0)");
    // The next command has another worker and the same supervisor.
    let read =
        place.sh("cd ~/.cache && cat new2/a/b pip/x && ls pip && ls -a ~/.npm | grep cacache");
    assert_eq!(read, "x\nagain\nx\n_cacache\nCode(0)");
    assert_eq!(place.names(), before);
    assert_eq!(
        fs::read_to_string(place.home.join(".cache/pip/http/kept")).unwrap(),
        "the person's\n"
    );
    // What lies around them stays read-only.
    assert!(place.sh("touch ~/beside").contains("Read-only"));
    place.sh("mv ~/.npm ~/.npm2; rm -rf ~/.npm; rmdir ~/.npm");
    assert!(place.home.join(".npm").is_dir());
}

/// A command that fills all of them takes as much memory as one that fills one.
#[test]
fn caches_share_the_memory_for_their_changes() {
    let place = Place::new();
    if !place.holds() {
        return;
    }
    let script = "free() { stat -f -c %f ~/.npm; }; before=$(free); head -c 8000000 /dev/zero > ~/.cache/big; after=$(free); \
        echo $(((before - after) * $(stat -f -c %S ~/.npm) >= 8000000))";
    assert_eq!(place.sh(script), "1\nCode(0)");
}

#[test]
fn a_store_in_a_cache_stays_closed() {
    let place = Place::new();
    if !place.holds() {
        return;
    }
    let tried = place.sh(
        "cd ~/.cache; cat hub/token; cp hub/token x; cat x; mv hub hub2; cat hub2/token; cp -r hub hub3; cat hub3/token; ln hub/token y; cat y; \
         rm -rf hub; cat hub/token; mkdir -p hub; cat hub/token; mv ~/.cache/hub/token ~/.npm/t; cat ~/.npm/t",
    );
    assert!(!tried.contains("secret"), "{tried}");
    assert_eq!(fs::read_to_string(place.home.join(".cache/hub/token")).unwrap(), "secret\n");
}

#[test]
fn a_repository_in_a_cache_stays_there() {
    let place = Place::new();
    if !place.holds() {
        return;
    }
    let before = place.names();
    let cloned = place.sh(
        "git init -q r && git -C r -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git clone -q r ~/.cache/r \
         && git -C ~/.cache/r log --format=%s && git init -q --bare ~/.npm/b && git -C ~/.npm/b config core.fsmonitor x",
    );
    assert_eq!(cloned, "first\nCode(0)");
    assert_eq!(place.names(), before);
}

#[test]
fn a_socket_of_the_person_in_a_cache_is_not_reached() {
    let place = Place::new();
    if !place.holds() {
        return;
    }
    // A short name: the length of a socket's path is bounded.
    let path = place.home.join(".npm/s");
    let Ok(_listener) = UnixListener::bind(&path) else { return };
    let reached = place.sh(&format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"reached\")' 2>&1",
        path.display()
    ));
    assert!(!reached.contains("reached\n"), "{reached}");
}
