//! Git directories that commands make do not lie on the host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::fs::{AtFlags, statat};
use toolwright_sandbox::plan::Network;

use super::sandbox::Sandbox;

#[test]
fn a_repository_is_private() {
    for network in [Network::PrivateLoopback, Network::Nothing, Network::HostLoopback] {
        let mut sandbox = Sandbox::with(true, network);
        if !sandbox.holds() {
            return;
        }
        assert!(!sandbox.run("mkdir a; touch a/f; mv a b").made_git_directories);
        let ended = sandbox.run("git init -q sub && cd sub && echo x > f && git add . && git commit -qm one && git gc -q");
        assert!(ended.status.success() && ended.made_git_directories, "{ended:?}");
        assert_eq!(sandbox.visible(), ["sub/.git"]);
        assert_eq!(sandbox.private_paths(), ["sub/.git"]);
        // It is there for the next command, of this worker and of another.
        assert_eq!(sandbox.output("cd sub; git log --format=%s; git status --short"), "one\n");
        let former = sandbox.exchange_worker();
        assert_eq!(sandbox.output("cd sub; git log --format=%s; git fsck --strict"), "one\n");
        drop(former);
        // The host finds the content by descriptor, and no repository by name.
        let private = sandbox.private();
        let (path, content, covered) = &private[0];
        assert!(statat(content, "HEAD", AtFlags::empty()).is_ok());
        assert!(statat(covered, "HEAD", AtFlags::empty()).is_err());
        let status = Command::new("git")
            .args(["-C", path.parent().unwrap().to_str().unwrap(), "rev-parse", "--git-dir"])
            .env("GIT_CEILING_DIRECTORIES", &sandbox.root)
            .output()
            .unwrap();
        assert!(!status.status.success(), "{status:?}");
    }
}

#[test]
fn every_way_to_make_one() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output("git init -q one; cd one; echo x > f; git add f; git commit -qm one");
    sandbox.output("git clone -q file://$PWD/one two; git -C two log --format=%s");
    sandbox.output("mkdir deep; cp -a one deep/three; git -C deep/three status --short");
    sandbox.output(
        "tar cf t.tar one; mkdir four; tar xf t.tar -C four; git -C four/one log -1 --format=%s",
    );
    sandbox.output(
        "mkdir five; mkdir -p five/.GIT five/git~1 'five/.git. ' five/.git:x five/.g$'\\xe2\\x80\\x8c'it",
    );
    sandbox.output("mkdir six; mkdir six/g; echo x > six/g/f; mv six/g six/.git; cat six/.git/f; test ! -e six/g");
    sandbox.output(
        "python3 -c \"
import os
os.mkdir('seven'); d = os.open('seven', os.O_RDONLY)
os.mkdir('.git', dir_fd=d); open('seven/.git/config', 'w').write('x')
os.makedirs('/proc/self/cwd/eight/.git/hooks')
os.mkdir('/proc/thread-self/fd/%d/nine' % d); os.mkdir('/dev/fd/%d/nine/.git' % d)
open('/proc/self/cwd/seven/nine/.git/HEAD', 'w').write('x')
os.chdir('seven'); os.mkdir('../seven/./nine/../ten'); os.mkdir('ten/.git//')
open('ten/.git/HEAD', 'w').write('x')
try: os.rename('nine', 'ten/.Git'); print('renamed')
except OSError as error: assert error.errno == 18, error
\"",
    );
    // The host sees directories without content.
    let visible = sandbox.visible();
    for name in
        ["one", "two", "deep/three", "four/one", "six", "seven", "eight", "seven/nine", "seven/ten"]
    {
        assert!(visible.contains(&format!("{name}/.git")), "{name}: {visible:?}");
    }
    assert_eq!(fs::read_dir(sandbox.root.join("five")).unwrap().count(), 5);
    assert_eq!(sandbox.private_paths().len(), visible.len() + 4, "{:?}", sandbox.private_paths());
}

#[test]
fn they_are_removed_and_moved_as_others() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output("git init -q sub; rm -rf sub; test ! -e sub");
    assert!(sandbox.visible().is_empty() && sandbox.private_paths().is_empty());
    sandbox.output("mkdir -p a/.git; rmdir a/.git; test ! -e a/.git; mkdir a/.git; rm -r a/.git");
    let text =
        sandbox.output("mkdir a/.git; touch a/.git/f; rmdir a/.git || true; rm -r a/.git; rmdir a");
    assert!(text.contains("Directory not empty"), "{text}");
    // A clone that fails takes its directory with it.
    let ended = sandbox.run("git clone -q file:///nowhere/at/all failed; ls -a");
    assert!(!ended.output.contains("failed"), "{ended:?}");
    assert!(sandbox.private_paths().is_empty());
    // With the directory above, and by itself.
    sandbox.output("git init -q x; mv x y; git -C y rev-parse --git-dir; mkdir -p d/e; mv y d/e/z");
    assert_eq!(sandbox.private_paths(), ["d/e/z/.git"]);
    sandbox.output(
        "cd d/e/z; mv .git g; git --git-dir=g rev-parse; test ! -e .git; mv g .git; git rev-parse",
    );
    assert_eq!(sandbox.visible(), ["d/e/z/.git"]);
    assert!(!sandbox.root.join("d/e/z/g").exists());
    sandbox.output("git -C d/e/z rev-parse --git-dir; mv d/e/z /tmp/z; git -C /tmp/z rev-parse; mv /tmp/z z; git -C z rev-parse");
    assert_eq!(sandbox.visible(), ["z/.git"]);
    assert_eq!(sandbox.private_paths(), ["z/.git"]);
}

#[test]
fn other_kinds_are_refused() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let text = sandbox.output("python3 - <<'E'
import os, errno
open('f', 'w').write('gitdir: x'); os.symlink('f', 'l'); os.mkdir('d'); os.mkdir('d/s')
def error(call, *arguments, **more):
    try: call(*arguments, **more); return 'done'
    except OSError as error: return errno.errorcode[error.errno]
print(error(os.symlink, 'd', '.git'), error(os.link, 'f', '.git'), error(os.mkfifo, '.git'))
print(error(os.rename, 'l', '.git'), error(os.rename, 'd', '.git'), error(os.rename, 'd', 'd/s/.GIT'))
print(error(os.rename, 'f', '.git'), open('.git').read(), os.path.exists('f'))
open('f', 'w').write('again'); print(error(os.rename, 'f', '.git'), open('.git').read(), error(os.rename, '.git', 'f'))
print(error(os.rename, 'absent', '.git'), error(os.mkdir, 'absent/.git'), error(os.rmdir, '.git'))
E");
    assert_eq!(
        text,
        "EPERM EPERM EPERM\nEPERM EXDEV EXDEV\ndone gitdir: x False\ndone again done\nENOENT ENOENT ENOENT\n"
    );
    assert!(sandbox.visible().is_empty());
}

#[test]
fn permission_bits_are_those_asked_for() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let shared = sandbox.root.join("g");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o2775)).unwrap();
    let text = sandbox.output(
        "umask 027; mkdir g/a g/.git; mkdir -m 700 g/.Git; mkdir -m 1755 g/git~1
        stat -c %a g/a g/.git g/.Git g/git~1; touch g/.git/f; stat -c %a g/.git/f",
    );
    assert_eq!(text, "2750\n2750\n2700\n3755\n640\n");
    let mode = |name: &str| {
        fs::metadata(sandbox.root.join("g").join(name)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!([mode("a"), mode(".git"), mode(".Git")], [0o2750, 0o2750, 0o2700]);
}

#[test]
fn the_host_removes_and_discards() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output("mkdir -p a/.git b/.git c/.git; touch a/.git/f b/.git/f c/.git/f");
    fs::remove_dir(sandbox.root.join("a/.git")).unwrap();
    assert_eq!(sandbox.private_paths(), ["b/.git", "c/.git"]);
    let path = sandbox.root.join("b/.git");
    sandbox.discard(&path);
    assert_eq!(sandbox.private_paths(), ["b/.git", "c/.git"]);
    assert_eq!(
        sandbox.output("ls a/.git 2>&1 || true; ls b/.git; ls c/.git").lines().last(),
        Some("f")
    );
    // What the host has removed may be made anew.
    sandbox.output("mkdir a/.git; ls a/.git; rmdir b/.git; mkdir b/.git; touch b/.git/g");
    assert_eq!(sandbox.private_paths().len(), 3);
    // Another directory of that name, which is the host's, is no concern of this.
    fs::create_dir(sandbox.root.join("d")).unwrap();
    fs::create_dir(sandbox.root.join("d/.git")).unwrap();
    fs::write(sandbox.root.join("d/.git/HEAD"), "x").unwrap();
    assert_eq!(
        sandbox.output("cat d/.git/HEAD; mkdir d/.git 2>/dev/null || echo exists"),
        "xexists\n"
    );
}

#[test]
fn private_temporary_directories_need_nothing() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let ended = sandbox.run("git init -q /tmp/r && cd /tmp/r && touch f && git add f && git commit -qm x && rm -rf /tmp/r");
    assert!(ended.status.success() && !ended.made_git_directories, "{ended:?}");
    // Nor what lies in a private directory.
    sandbox.output("git init -q r; mkdir r/.git/modules; git init -q r/.git/modules/m; rm -rf r");
    assert!(sandbox.private_paths().is_empty());
}

/// What the host puts into a directory that commands have made is the host's.
#[test]
fn nothing_of_the_host_is_removed() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output("mkdir -p a/.git");
    let file = sandbox.root.join("a/.git/HEAD");
    fs::write(&file, "the host's").unwrap();
    let ended =
        sandbox.run("rmdir a/.git; ls -A a/.git; mkdir a/.git; echo x > a/.git/HEAD; rm -rf a");
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "the host's");
}

/// A task has one listener: connections and names are told apart by their calls.
#[test]
fn connections_and_names_wait_together() {
    let mut sandbox = Sandbox::with(true, Network::HostLoopback);
    if !sandbox.holds() {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let greets = std::thread::spawn(move || {
        for _ in 0..20 {
            std::io::Write::write_all(&mut server.accept().unwrap().0, b"hello\n").unwrap();
        }
    });
    let script = format!(
        "(for n in $(seq 99); do mkdir $n $n/.git; rm -rf $n; done) &
        for n in $(seq 20); do exec 3<>/dev/tcp/127.0.0.1/{port}; head -n 1 <&3; done; wait; ls"
    );
    assert_eq!(sandbox.output(&script), "hello\n".repeat(20));
    greets.join().unwrap();
}

#[test]
fn without_it_nothing_changes() {
    let mut sandbox = Sandbox::with(false, Network::Nothing);
    let ended = sandbox.run("git init -q sub");
    assert!(ended.status.success() && !ended.made_git_directories);
    assert!(sandbox.root.join("sub/.git/HEAD").exists() && sandbox.private().is_empty());
}
