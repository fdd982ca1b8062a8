//! Attacks on what the processes of a command may do to each other: on unix sockets, tracing and modes. Each is a row, which
//! each user that there is runs. None has an effect.

use std::collections::BTreeSet;

use toolwright_sandbox::plan::Network;
use toolwright_sandbox::wire::{kill_frame, send};

use super::attacks::{Scene, rounds};
use super::modes::lending;
use super::place::users;
use super::sandbox::Sandbox;
use super::sockets::with;

/// A name, and what a shell runs.
type Row = (&'static str, &'static str);

/// `$p` connects and says how that ends. `h` in the root, `$above/h` beside it and `$outside/h` are sockets of the host, and
/// so is the abstract `@$name`. `gone` was one.
const SOCKETS: &[Row] = &[
    ("a stream by its name", "$p connect stream h"),
    ("a sequence of packets by its name", "$p connect seqpacket h"),
    ("datagrams by its name", "$p connect dgram h"),
    ("a raw socket by its name", "$p connect raw h"),
    ("a slash behind its name", "$p connect stream h/"),
    ("an absolute path", "$p connect stream $PWD/h"),
    ("beside the root", "$p connect stream $above/h; $p connect stream ../h"),
    ("in a directory of the system", "$p connect stream $outside/h"),
    ("an abstract name", "$p connect stream @$name; $p connect seqpacket @$name"),
    ("a link", "ln -s h a; $p connect stream a"),
    (
        "a chain of links",
        "ln -s h a; ln -s a b; ln -s $PWD/b /tmp/c; $p connect stream /tmp/c; rm /tmp/c",
    ),
    ("a link to a directory", "ln -s $outside d; $p connect stream d/h"),
    ("a link among temporary files", "ln -s $PWD/h /tmp/l; $p connect stream /tmp/l; rm /tmp/l"),
    ("a link of the person", "$p connect stream person; $p connect stream persons/h"),
    ("a hard link", "ln h c 2>/dev/null; $p connect stream c"),
    ("a hard link among temporary files", "ln h /tmp/c 2>/dev/null; $p connect stream /tmp/c"),
    ("another name", "mv h m; $p connect stream m; mv m h"),
    ("another directory", "mkdir d; mv h d/h; (cd d; $p connect stream h); mv d/h h"),
    ("a directory of another name", "mkdir d; mv h d/h; mv d e; $p connect stream e/h; mv e/h h"),
    (
        "a move among temporary files",
        "mv h /tmp/m 2>/dev/null; $p connect stream /tmp/m; mv /tmp/m h",
    ),
    ("a copy", "cp -a h n; $p connect stream n"),
    (
        "the place of an own one",
        "$p serve stream s >/dev/null; mv h s; $p connect stream s; mv s h",
    ),
    (
        "a name in /proc/self/cwd",
        "$p connect stream /proc/self/cwd/h; $p connect stream /proc/$$/cwd/h",
    ),
    ("a name in /proc/self/root", "$p connect stream /proc/self/root$PWD/h"),
    ("a descriptor in /proc/self/fd", "$p descriptor h /proc/self/fd/%d"),
    ("a descriptor in /proc/thread-self/fd", "$p descriptor h /proc/thread-self/fd/%d"),
    ("a descriptor in /dev/fd", "$p descriptor h /dev/fd/%d"),
    ("a descriptor by a detour", "$p descriptor h /proc/self/task/../fd/%d"),
    (
        "a descriptor of a directory",
        "exec 9<.; $p connect stream /proc/self/fd/9/h; exec 8<$outside; $p connect stream /dev/fd/8/h",
    ),
    ("the root of the worker", "$p connect stream /proc/1/root$PWD/h"),
    (
        "the directory of the worker",
        "$p connect stream /proc/1/cwd/h; $p connect stream /proc/1/cwd$PWD/h",
    ),
    (
        "the descriptors of the worker",
        "for n in 3 4 5 6 7 8 9; do $p connect stream /proc/1/fd/$n/h; done",
    ),
    ("a thread of the worker", "for t in /proc/1/task/*; do $p connect stream $t/root$PWD/h; done"),
    ("a socket that was passed", "$p passed h"),
    ("a socket that a child shares", "$p forked h"),
    ("a thread with descriptors of its own", "$p unshared h"),
    ("a process that cannot be dumped", "$p undumpable h"),
    ("a process that cannot be dumped, in /proc", "$p undumpable /proc/self/cwd/h"),
    (
        "sending with an address",
        "$p sends s h; $p sends s $outside/h; $p sends s @$name; echo connect -1",
    ),
    ("a socket whose process has ended", "$p connect stream gone; test -S gone"),
    ("an empty address", "$p connect stream ''"),
    (
        "a mount over an own one",
        "touch t; mount --bind h t 2>/dev/null; $p connect stream t; unshare -rm true 2>/dev/null && echo connect 0",
    ),
    ("a filter of its own that lets it", "$p filtered allow h"),
    ("a filter of its own that logs it", "$p filtered log h"),
    ("a filter of its own with a tracer", "$p filtered trace h"),
    ("a filter of its own that notifies nobody", "$p filtered notify h"),
    ("a listener of its own", "$p filtered listener h"),
    ("names that are exchanged", "$p race exchange s h"),
    ("links that are exchanged", "ln -s s flip; $p race symlink s h"),
    ("links to elsewhere that are exchanged", "ln -s s flip; $p race symlink s $outside/h"),
    ("hard links that are exchanged", "$p race link s h"),
    (
        "directories that are exchanged",
        "mkdir mine theirs; mv h theirs/s; $p race directories mine/s theirs/s; mv -f theirs/s h 2>/dev/null || mv mine/s h",
    ),
    ("an address that is rewritten", "$p race memory s h"),
    ("an address that becomes an abstract name", "$p race memory s @$name"),
    ("a descriptor that is exchanged", "$p race descriptor s h"),
    ("a socket of another family that is exchanged", "$p race family s h"),
    ("a socket that is bound again and again", "$p race rebind s h"),
];

/// `$p` says names and results. What has an effect says so.
const TRACING: &[Row] = &[
    ("attaching to the worker", "$p to-worker attach"),
    ("seizing the worker", "$p to-worker seize"),
    ("reading the memory of the worker", "$p to-worker read"),
    ("writing the memory of the worker", "$p to-worker write"),
    ("the file of its memory", "$p to-worker mem"),
    ("the file of its memory, by a thread", "$p to-worker thread-mem"),
    ("attaching to a thread of the worker", "$p to-worker thread-attach"),
    ("its map and its variables", "$p to-worker maps"),
    ("a descriptor of the worker", "$p to-worker getfd"),
    ("comparing with the worker", "$p to-worker kcmp"),
    ("its limits and its place in turns", "$p to-worker limits"),
    ("stopping and killing the worker", "$p to-worker signals"),
    ("entering its namespaces", "$p to-worker setns"),
    ("advising on its memory", "$p to-worker madvise"),
    ("moving its pages", "$p to-worker pages"),
    ("having the worker trace", "$p to-worker traceme"),
    ("the supervisor and the host by their numbers", "for n in $others; do $p to $n; done"),
    ("another command of the same supervisor", "$p to-others $$"),
    ("a set-user program that is traced", "$p set-user"),
    ("suspending filters", "$p suspends"),
    ("a tracee that waits for a connection: its memory", "$p waiting memory h"),
    ("a tracee that waits for a connection: its registers", "$p waiting registers h"),
    ("a tracee that waits for a connection: its descriptor", "$p waiting descriptor h"),
    ("a tracee that waits: killed and made again", "$p waiting killed h"),
];

/// Files that lend rights are an effect, wherever they are. `f` is a file, and `d` a directory.
const MODES: &[Row] = &[
    ("the bit alone", "chmod g+s f"),
    ("with execution", "chmod 2755 f"),
    ("without execution", "chmod 2640 f"),
    ("the user's bit", "chmod u+s f"),
    ("both", "chmod 6755 f"),
    ("the user's bit of a directory", "chmod 4755 d"),
    ("by a link", "ln -s f l; chmod 2755 l"),
    ("by an absolute path", "chmod 2755 $PWD/f"),
    ("by another directory", "cd d && chmod 2755 ../f"),
    ("in /proc/self/cwd", "chmod 2755 /proc/self/cwd/f"),
    ("in /proc/self/fd", "exec 9<f; chmod 2755 /proc/self/fd/9"),
    ("in /dev/fd", "exec 9<f; chmod 2755 /dev/fd/9"),
    ("among temporary files", "cp f /tmp/f; chmod 2755 /tmp/f"),
    ("of the system", "chmod 2755 /etc; chmod 2777 /usr/bin; chmod g+s /bin/sh"),
    ("by install", "install -m 2755 f g; install -m 4755 f g"),
    ("of a pipe", "mkfifo -m 2600 p"),
    ("of a socket", "$p serve stream s >/dev/null; chmod 2777 s"),
    ("by an archive", "tar --mode=2755 -cf a.tar f; mkdir x; tar -xpf a.tar -C x"),
    ("by a copy", "cp -p /usr/bin/wall g 2>/dev/null; cp -p /usr/bin/chage g; cp -a /usr/bin/su g"),
    ("a mask of nothing", "umask 0; install -m 2777 f g; $c open creat"),
    ("opening", "$c open openat"),
    ("making", "$c creat mknod mknodat"),
    ("a file without a name", "$c tmpfile"),
    ("openat2", "$c openat2"),
    ("fchmod", "$c fchmod"),
    ("fchmodat", "$c fchmodat"),
    ("fchmodat2", "$c fchmodat2"),
    ("fchmodat2 of a link itself", "ln -s f l; $c fchmodat2-link"),
    ("fchmodat2 of a descriptor", "$c fchmodat2-empty"),
    ("fchmod of a place", "$c fchmod-path"),
    ("bits that the kernel does not know", "$c wide"),
    (
        "a directory with the bit, and a file in it",
        "chmod 2775 d; touch d/f; cp f d/g; chmod 777 d/f d/g; mv f d/h; cp d/h f",
    ),
    (
        "a directory that becomes a file's name",
        "chmod 2775 d; mv d e; mv f d; chmod g+x d; mv d f; mv e d",
    ),
    ("an access list", "$c acl"),
    ("an access list that directories hand on", "chmod 2775 d; $c default-acl; touch d/f"),
    (
        "capabilities of a file",
        "$c capability; getcap f | grep -q . && cp /bin/sh g && echo EFFECT",
    ),
    ("another owner afterwards", "chmod 2775 d; chgrp 0 d; touch d/f; chmod 777 d/f"),
    ("a descriptor that is exchanged", "rm -rf d f; COUNT=$COUNT $p modes"),
    ("a name that is exchanged", "rm -rf d f; COUNT=$COUNT $p names"),
    ("a link that is exchanged", "rm -rf d f; COUNT=$COUNT $p mode-links"),
    ("a hard link that is exchanged", "rm -rf d f; COUNT=$COUNT $p mode-hard-links"),
];

/// Names that tell attacks apart.
#[test]
fn each_row_is_another_attack() {
    for rows in [SOCKETS, TRACING, MODES] {
        for kind in [0, 1] {
            let all: BTreeSet<_> =
                rows.iter().map(|row| if kind == 0 { row.0 } else { row.1 }).collect();
            assert_eq!(all.len(), rows.len());
        }
    }
    assert!(SOCKETS.len() + TRACING.len() + MODES.len() >= 120);
}

#[test]
fn no_socket_of_the_host_is_reached() {
    for user in users() {
        let Some(mut scene) = Scene::new(user, Network::PrivateLoopback) else { return };
        for (name, script) in SOCKETS {
            scene.furnish();
            let output = scene.run(script, rounds());
            let results: Vec<&str> =
                output.lines().filter_map(|line| line.strip_prefix("connect ")).collect();
            let was_tried = ["connect ", "socket ", "open ", "race "];
            let was_tried =
                output.lines().any(|line| was_tried.iter().any(|one| line.starts_with(one)));
            assert!(was_tried, "{name}: {output}");
            assert!(!results.contains(&"0") && !output.contains("FOREIGN"), "{name}: {output}");
            scene.assert_alone(name);
        }
    }
}

#[test]
fn nobody_is_traced_but_own_processes() {
    for user in users() {
        let Some((mut scene, program)) = Scene::with_program(user, "trace_attacks") else { return };
        let mut kept = scene.keep("exec sleep 100");
        for (name, script) in TRACING {
            let output = scene.run(&format!("p={program}; {script}"), rounds());
            assert!(output.contains("tried"), "{name}: {output}");
            assert!(!output.contains("EFFECT"), "{name} {user:?}: {output}");
            scene.assert_alone(name);
            // The worker goes on.
            assert_eq!(scene.run("echo there", 1), "there\n", "{name}");
        }
        send(&kept, &kill_frame(), &[]).unwrap();
        Sandbox::end_on(&mut kept);
    }
}

#[test]
fn no_file_lends_rights() {
    for user in users() {
        let Some((place, mut sandbox, program)) = with(user, |_| {}) else { return };
        let Some(calls) = place.compile("mode_calls", &[]) else { return };
        let calls = calls.display();
        for (name, script) in MODES {
            let script = format!(
                "exec 2>&1; rm -rf d e f g l p s x a.tar new-* /tmp/f; p={program} c={calls}; COUNT={}; mkdir d; touch f; chmod 755 f; ({script}); \
                 find /tmp /dev/shm /var/tmp . -xdev -type f -perm /6000 -exec echo EFFECT {{}} \\;",
                rounds()
            );
            let output = sandbox.run(&script).output;
            assert!(!output.contains("EFFECT"), "{name} {user:?}: {output}");
            assert_eq!(lending(&place.root), Vec::<std::path::PathBuf>::new(), "{name}: {output}");
        }
    }
}
