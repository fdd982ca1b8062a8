//! Nobody reaches a socket of the host, whatever is exchanged meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::net::{SocketAddrUnix, SocketType};
use toolwright_sandbox::plan::{Network, Plan};

use super::host::Host;
use super::place::{Place, users};
use super::sandbox::Sandbox;
use super::sockets::with;

const REFUSED: i32 = -libc::EACCES;

/// How many connections a race has. A soak has ten thousand.
pub(super) fn rounds() -> usize {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|text| text.parse().ok());
    1000 * factor.unwrap_or(1)
}

/// A sandbox with servers of the host around it.
pub(super) struct Scene {
    place: Place,
    sandbox: Sandbox,
    program: String,
    host: Host,
    /// Outside of the root.
    outside: PathBuf,
    name: String,
}

impl Scene {
    pub(super) fn new(user: Option<u32>, network: Network) -> Option<Self> {
        let change = |plan: &mut Plan| plan.network = network;
        let (place, sandbox, program) = with(user, change)?;
        let host = Host::new();
        let above = place.root.parent().unwrap();
        for path in [place.root.join("h"), above.join("h")] {
            host.at(&path);
        }
        let outside = PathBuf::from("/run").join(above.file_name().unwrap());
        if fs::create_dir(&outside).is_ok() {
            host.at(&outside.join("h"));
        }
        let name = format!("toolwright-{}", above.file_name().unwrap().to_string_lossy());
        host.serve(
            SocketType::STREAM,
            &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap(),
        );
        Some(Self { place, sandbox, program, host, outside, name })
    }

    /// Servers of the host, by the names that a command can give them.
    fn targets(&self) -> Vec<String> {
        let above = self.place.root.parent().unwrap().display();
        let outside = self.outside.display();
        vec!["h".into(), format!("{above}/h"), format!("{outside}/h"), format!("@{}", self.name)]
    }

    /// A scene where processes may trace each other, and another program in it.
    pub(super) fn with_program(user: Option<u32>, name: &str) -> Option<(Self, String)> {
        let scene = Self::new(user, Network::PrivateLoopback)?;
        let program = scene.place.compile(name, &[])?.display().to_string();
        if !scene.sandbox.layers.tracing.holds() {
            eprintln!("skipped: {:?}", scene.sandbox.layers);
            return None;
        }
        Some((scene, program))
    }

    /// Puts the servers of the host back, and removes what a command has made.
    pub(super) fn furnish(&self) {
        let root = &self.place.root;
        for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else if path.extension().is_none_or(|extension| extension != "program") {
                fs::remove_file(path).unwrap();
            }
        }
        self.host.at(&root.join("h"));
        drop(std::os::unix::net::UnixListener::bind(root.join("gone")).unwrap());
        symlink(self.outside.join("h"), root.join("person")).unwrap();
        symlink(&self.outside, root.join("persons")).unwrap();
    }

    /// Runs a script that knows where the servers of the host are.
    pub(super) fn run(&mut self, script: &str, rounds: usize) -> String {
        let above = self.place.root.parent().unwrap().display();
        let (program, outside, name) = (&self.program, self.outside.display(), &self.name);
        let others = format!("{} {}", std::process::id(), std::os::unix::process::parent_id());
        self.sandbox
            .run(&format!(
                "exec 2>&1; export COUNT={rounds}; p={program} above={above} outside={outside} name={name} others='{others}'; {script}"
            ))
            .output
    }

    /// Has a command go on while others run.
    pub(super) fn keep(&mut self, script: &str) -> toolwright_sandbox::wire::Inbox {
        drop(self.sandbox.start(script));
        self.sandbox.exchange_worker()
    }

    #[track_caller]
    pub(super) fn assert_alone(&self, name: &str) {
        assert!(self.host.is_alone(), "{name}: a server of the host was reached");
    }

    /// Runs a script and returns the results of its connections.
    fn results(&mut self, script: &str) -> Vec<i32> {
        let output = self.sandbox.run(&format!("exec 2>&1; p={}; {script}", self.program)).output;
        let result = |line: &str| line.strip_prefix("connect ")?.parse().ok();
        output.lines().filter_map(result).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outside);
    }
}

fn scenes(check: impl Fn(&mut Scene)) {
    scenes_with(&[Network::PrivateLoopback], check);
}

fn scenes_with(networks: &[Network], check: impl Fn(&mut Scene)) {
    for user in users() {
        for &network in networks {
            let Some(mut scene) = Scene::new(user, network) else { return };
            check(&mut scene);
            scene.host.assert_alone();
        }
    }
}

const ALL: [Network; 5] = [
    Network::PrivateLoopback,
    Network::Nothing,
    Network::Names,
    Network::HostLoopback,
    Network::Open,
];

#[test]
fn by_its_name() {
    scenes_with(&ALL, |scene| {
        for target in scene.targets() {
            for kind in ["stream", "seqpacket", "dgram", "raw"] {
                let results = scene.results(&format!("$p connect {kind} '{target}'"));
                assert!(results.iter().all(|result| *result != 0), "{target}: {results:?}");
            }
        }
        assert_eq!(scene.results("$p connect stream h"), [REFUSED]);
    });
}

#[test]
fn by_a_link() {
    scenes_with(&ALL, |scene| {
        let outside = scene.outside.display().to_string();
        let results = scene.results(&format!(
            "ln -s h a; $p connect stream a; ln -s {outside} b; $p connect stream b/h; ln h c && $p connect stream c; \
             ln -s $PWD/h /tmp/d; $p connect stream /tmp/d; ln -s /proc/self/cwd/h e; $p connect stream e"
        ));
        // The system may not let another user make a hard link to it.
        assert!(results.len() >= 4, "{results:?}");
        assert!(results.iter().all(|result| *result != 0), "{results:?}");
    });
}

#[test]
fn by_another_name() {
    scenes(|scene| {
        let results = scene.results(
            "mv h m; $p connect stream m; mkdir d; mv m d/m; $p connect stream d/m; cd d; $p connect stream m; \
             mv m /tmp/m; $p connect stream /tmp/m; cp -a ../h /tmp/n 2>/dev/null; $p connect stream /tmp/n",
        );
        assert!(results.len() == 5 && results.iter().all(|result| *result != 0), "{results:?}");
    });
}

#[test]
fn by_a_descriptor_of_its_file() {
    scenes_with(&ALL, |scene| {
        for target in ["h".to_owned(), format!("{}/h", scene.outside.display())] {
            for form in [
                "/proc/self/fd/%d",
                "/proc/thread-self/fd/%d",
                "/dev/fd/%d",
                "/proc/self/task/../fd/%d",
            ] {
                let results = scene.results(&format!("$p descriptor {target} {form}"));
                assert!(results.iter().all(|result| *result != 0), "{target} {form}: {results:?}");
            }
        }
    });
}

/// The paths of the worker are not those of the caller.
#[test]
fn by_the_worker() {
    scenes(|scene| {
        let root = scene.place.root.display().to_string();
        let results = scene.results(&format!(
            "for at in /proc/1/root /proc/1/cwd /proc/1/task/1/root /proc/1/fd/3 /proc/1/fd/4 /proc/1/fd/5 /proc/1/fd/6; do \
             $p connect stream $at/h; $p connect stream $at{root}/h; done"
        ));
        assert!(results.len() >= 7 && results.iter().all(|result| *result != 0), "{results:?}");
    });
}

#[test]
fn by_a_socket_that_was_passed() {
    scenes(|scene| {
        assert_eq!(scene.results("$p passed h"), [REFUSED]);
    });
}

#[test]
fn by_sending_with_an_address() {
    scenes_with(&ALL, |scene| {
        let outside = scene.outside.display().to_string();
        scene.results(&format!("$p sends s h; $p sends s {outside}/h; $p sends s @{}", scene.name));
    });
}

#[test]
fn by_a_socket_of_packets_or_datagrams() {
    for user in users() {
        let Some((place, mut sandbox, program)) = with(user, |_| {}) else { return };
        let host = Host::new();
        for (name, kind) in [("p", SocketType::SEQPACKET), ("g", SocketType::DGRAM)] {
            host.serve(kind, &SocketAddrUnix::new(place.root.join(name)).unwrap());
            place.give(&place.root.join(name));
        }
        let output = sandbox.output(&format!(
            "for name in p g; do for kind in stream seqpacket dgram; do {program} connect $kind $name; done; done"
        ));
        assert_eq!(output.matches(&format!(" {REFUSED}\n")).count(), 6, "{output}");
        host.assert_alone();
    }
}

#[test]
fn as_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    scenes(|scene| {
        let results = scene.results("$p as connect h 65534; $p as connect h 1000; $p undumpable h");
        assert!(results.iter().all(|result| *result == REFUSED), "{results:?}");
    });
}

/// A socket that is bound while commands run is a person's as well.
#[test]
fn that_was_bound_later() {
    scenes(|scene| {
        let root = scene.place.root.clone();
        scene.host.at(&root.join("later"));
        assert_eq!(scene.results("$p connect stream later"), [REFUSED]);
        // In the place of an own one that was just reached.
        let own = scene.results("$p serve stream s; $p connect stream s");
        assert_eq!(own, [0]);
        fs::remove_file(root.join("s")).unwrap();
        scene.host.at(&root.join("s"));
        assert_eq!(scene.results("$p connect stream s"), [REFUSED]);
    });
}

#[test]
fn in_the_place_of_an_own_one() {
    scenes(|scene| {
        let results = scene.results(
            "$p serve stream s; $p connect stream s; mv s t; mv h s; $p connect stream s; mv s h; mv t s; $p connect stream s",
        );
        assert_eq!(results, [0, REFUSED, 0]);
    });
}

/// The directory for temporary files of the host is not that of commands, also where a part of it is granted.
#[test]
fn in_a_granted_directory_below_a_private_one() {
    for user in users() {
        let granted = Place::new(user);
        let host = Host::new();
        host.at(&granted.root.join("h"));
        let path = granted.root.clone();
        let change = |plan: &mut Plan| plan.writable.push(path.clone());
        let Some((_place, mut sandbox, program)) = with(user, change) else { return };
        let target = granted.root.join("h").display().to_string();
        let output = sandbox.output(&format!(
            "{program} connect stream {target}; ln -s {target} /tmp/l; {program} connect stream /tmp/l"
        ));
        assert_eq!(output, format!("connect {REFUSED}\n").repeat(2));
        host.assert_alone();
    }
}

/// A directory for temporary files that is given to commands is the host's.
#[test]
fn where_the_hosts_temporary_files_are_granted() {
    for readable in [true, false] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let host = Host::new();
        host.at(&path.join("h"));
        let change = |plan: &mut Plan| {
            let granted = if readable { &mut plan.readable } else { &mut plan.writable };
            granted.push("/tmp".into());
        };
        let Some((_place, mut sandbox, program)) = with(None, change) else { return };
        let target = path.join("h").display().to_string();
        let output = sandbox.run(&format!("{program} connect stream {target}")).output;
        assert_eq!(output, format!("connect {REFUSED}\n"), "{readable}");
        host.assert_alone();
    }
}

#[test]
fn by_a_link_of_the_person() {
    scenes(|scene| {
        symlink(scene.outside.join("h"), scene.place.root.join("link")).unwrap();
        symlink(&scene.outside, scene.place.root.join("dir")).unwrap();
        let results = scene.results("$p connect stream link; $p connect stream dir/h");
        assert!(results.iter().all(|result| *result != 0), "{results:?}");
    });
}

/// Runs a race, and returns how many connections were made, refused, and something else.
fn race(scene: &mut Scene, what: &str, own: &str, foreign: &str, before: &str) -> [usize; 3] {
    let script = format!(
        "exec 2>&1; export COUNT={}; {before}; {} race {what} {own} {foreign}",
        rounds(),
        scene.program
    );
    let output = scene.sandbox.run(&script).output;
    assert!(!output.contains("FOREIGN"), "{what}: {output}");
    let counts = output.lines().find_map(|line| line.strip_prefix("race "));
    let counts: Vec<usize> = counts
        .unwrap_or_else(|| panic!("{what}: {output}"))
        .split(' ')
        .map(|count| count.parse().unwrap())
        .collect();
    counts.try_into().unwrap()
}

#[test]
fn by_exchanging_names() {
    scenes(|scene| {
        let [reached, refused, _] = race(scene, "exchange", "s", "h", ":");
        assert!(reached > 0 && refused > 0, "{reached} {refused}");
    });
}

#[test]
fn by_exchanging_links() {
    scenes(|scene| {
        let [reached, refused, _] = race(scene, "symlink", "s", "h", "ln -s s flip");
        assert!(reached > 0 && refused > 0, "{reached} {refused}");
    });
}

#[test]
fn by_exchanging_links_to_elsewhere() {
    scenes(|scene| {
        let outside = scene.outside.join("h").display().to_string();
        race(scene, "symlink", "s", &outside, "ln -s s flip");
    });
}

#[test]
fn by_exchanging_hard_links() {
    scenes(|scene| {
        let [reached, ..] = race(scene, "link", "s", "h", ":");
        assert!(reached > 0);
    });
}

#[test]
fn by_exchanging_directories() {
    scenes(|scene| {
        let before = "mkdir mine theirs; mv h theirs/s";
        let [reached, refused, _] = race(scene, "directories", "mine/s", "theirs/s", before);
        assert!(reached > 0 && refused > 0, "{reached} {refused}");
    });
}

#[test]
fn by_rewriting_the_address() {
    scenes_with(&[Network::PrivateLoopback, Network::Names, Network::Open], |scene| {
        let [reached, refused, _] = race(scene, "memory", "/dev/shm/s", "h", "rm -f /dev/shm/s");
        assert!(reached > 0 && refused > 0, "{reached} {refused}");
    });
}

#[test]
fn by_rewriting_to_an_abstract_name() {
    scenes(|scene| {
        let name = format!("@{}", scene.name);
        race(scene, "memory", "s", &name, ":");
    });
}

#[test]
fn by_exchanging_the_descriptor() {
    scenes(|scene| {
        race(scene, "descriptor", "s", "h", ":");
    });
}

#[test]
fn by_exchanging_a_socket_of_another_family() {
    scenes_with(&[Network::PrivateLoopback, Network::Names], |scene| {
        race(scene, "family", "s", "h", ":");
    });
}

#[test]
fn by_binding_again_and_again() {
    scenes(|scene| {
        race(scene, "rebind", "s", "h", ":");
    });
}
