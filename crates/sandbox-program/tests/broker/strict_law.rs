//! Under a strict plan the host sees nothing at any moment that git would obey.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use toolwright_git::name::{is_git_directory_name, makes_git_directory};
use toolwright_sandbox::plan::{Files, Network};
use toolwright_sandbox::refused_git::RefusedGit;

use super::sandbox::Sandbox;

/// Whether git would find something at a directory of the host, or below it.
fn obeyed(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let entries: Vec<_> = entries.filter_map(Result::ok).collect();
    let there = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
    let makes = makes_git_directory(|mark| Ok::<_, ()>(there(mark.name())));
    if makes == Ok(true) {
        found.insert(directory.to_owned());
    }
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if !kind.is_dir() && is_git_directory_name(name.as_encoded_bytes()) {
            found.insert(entry.path());
        } else if kind.is_dir() {
            obeyed(&entry.path(), found);
        }
    }
}

/// Runs a script while the host looks for what git would obey.
fn watched(sandbox: &mut Sandbox, script: &str) -> (String, BTreeSet<PathBuf>) {
    let (root, ends) = (sandbox.root.clone(), AtomicBool::new(false));
    thread::scope(|threads| {
        let looks = threads.spawn(|| {
            let mut found = BTreeSet::new();
            while !ends.load(Ordering::Relaxed) {
                obeyed(&root, &mut found);
            }
            obeyed(&root, &mut found);
            found
        });
        let output = sandbox.output(script);
        ends.store(true, Ordering::Relaxed);
        (output, looks.join().unwrap())
    })
}

/// Each way to make an entry of a name, and what comes of it.
const WAYS: &str = r"
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('w'); os.chdir('w'); open('f', 'w').write('gitdir: /x'); os.mkdir('d'); os.symlink('f', 'l')
def raw(number, *arguments):
    arguments = [os.fsencode(one) if isinstance(one, str) else ctypes.c_long(one) for one in arguments]
    if libc.syscall(ctypes.c_long(number), *arguments) < 0: raise OSError(ctypes.get_errno(), '')
def temporary(name):
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(fd, b'gitdir: /x')
    os.link(f'/proc/self/fd/{fd}', name, src_dir_fd=None, follow_symlinks=True)
def empty_path(name):
    fd = os.open('f', os.O_RDONLY); raw(265, fd, '', -100, name, 0x1000)
def through(name):
    os.symlink(name, 'through')
    try: open('through', 'w').write('x')
    finally: os.unlink('through')
def open2(name):
    how = (ctypes.c_ulonglong * 3)(os.O_CREAT | os.O_WRONLY, 0o644, 0)
    if libc.syscall(437, -100, os.fsencode(name), how, 24) < 0: raise OSError(ctypes.get_errno(), '')
def x32(name): raw(0x40000000 | 2, name, os.O_CREAT | os.O_WRONLY, 0o644)
def proc(name): open('/proc/self/cwd/' + name, 'w')
def descriptor(name): open(f'/dev/fd/{os.open(chr(46), os.O_RDONLY)}/{name}', 'w')
def bound(name): socket.socket(socket.AF_UNIX).bind(name)
def pair(name): socket.socketpair()[0].bind(name)
def copied(name): os.rename('f', 'g'); os.link('g', 'f'); os.rename('g', name)
ways = {
    'open': lambda name: open(name, 'w'), 'append': lambda name: open(name, 'a'), 'exclusive': lambda name: open(name, 'x'),
    'read': lambda name: os.open(name, os.O_RDONLY | os.O_CREAT), 'three': lambda name: os.open(name, 3 | os.O_CREAT),
    'openat': lambda name: os.open(name, os.O_CREAT | os.O_RDWR, dir_fd=os.open('.', os.O_PATH)),
    'creat': lambda name: raw(85, name, 0o644), 'openat2': open2, 'x32': x32, 'link': lambda name: os.link('f', name),
    'symlink': lambda name: os.symlink('f', name), 'mknod': lambda name: os.mknod(name), 'fifo': lambda name: os.mkfifo(name),
    'rename': copied, 'rename a link': lambda name: os.rename('l', name), 'temporary': temporary, 'empty path': empty_path,
    'through': through, 'proc': proc, 'descriptor': descriptor, 'bound': bound, 'bound pair': pair,
    'exchange': lambda name: raw(316, -100, 'f', -100, name, 2), 'directory': lambda name: os.rename('d', name),
}
def attempt(way, name):
    try: ways[way](name)
    except OSError as error: return errno.errorcode[error.errno]
    return 'done'
";

fn script(after: &str) -> String {
    format!("python3 - <<'E'\n{WAYS}\n{after}\nE")
}

/// The look of the host does see what another plan leaves until a command has ended.
#[test]
fn what_is_not_strict_is_seen() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let (_, found) = watched(
        &mut sandbox,
        "mkdir a b b/objects b/refs; echo x > a/.git; echo x > b/HEAD; sleep .3; rm a/.git b/HEAD",
    );
    assert_eq!(found, ["a/.git", "b"].map(|path| sandbox.root.join(path)).into());
}

#[test]
fn no_way_makes_a_git_file() {
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let script = script(
        "for name in ('.git', '.GIT', 'git~1', '.g\\u200cit', '.git. ', '.git::\\$DATA'.replace(chr(92), '')):
    for way in ways:
        result = attempt(way, name)
        if result == 'done' or os.path.lexists(name): print(way, name, result)",
    );
    let (output, found) = watched(&mut sandbox, &script);
    assert_eq!((&*output, found), ("", BTreeSet::new()));
}

#[test]
fn no_way_completes_a_bare_repository() {
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let script = script(
        "for order in (('HEAD', 'objects', 'refs'), ('objects', 'refs', 'HEAD'), ('refs', 'HEAD', 'objects'), ('HEAD', 'commondir'),
    ('commondir', 'HEAD'), ('objects', 'refs', 'head'), ('HEAD', 'refs', 'Objects.')):
    os.makedirs('bare'); os.chdir('bare'); open('f', 'w').write('ref: x'); os.symlink('f', 'l'); os.mkdir('d')
    for name in order[:-1]: (open(name, 'w') if name in ('HEAD', 'commondir') else os.mkdir(name))
    for way in ways:
        if way == 'exchange': continue
        result = attempt(way, order[-1])
        if result == 'done' or os.path.lexists(order[-1]): print(order, way, result)
    try: os.mkdir(order[-1]); print(order, 'mkdir')
    except OSError: pass
    # What is there already stays what it is, and what is removed can be made again.
    open(order[0], 'a').close() if order[0] in ('HEAD', 'commondir') else os.rename(order[0], order[0])
    os.chdir('..'); os.system('rm -rf bare')",
    );
    let (output, found) = watched(&mut sandbox, &script);
    assert_eq!((&*output, found), ("", BTreeSet::new()));
}

/// The command learns what was refused, each once.
#[test]
fn refusals_are_reported() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let ended = sandbox.run(
        "exec 2>/dev/null; mkdir a b; for n in 1 2 3; do echo 'gitdir: /x' > a/.git; done
        mkdir b/objects b/refs; echo x > b/HEAD; mkdir -p /tmp/c/objects /tmp/c/refs; echo x > /tmp/c/HEAD; echo x > /tmp/c/.git
        cat /tmp/c/HEAD /tmp/c/.git",
    );
    let at = |path: &str| sandbox.root.join(path);
    assert_eq!(ended.refused, [RefusedGit::Link(at("a/.git")), RefusedGit::Form(at("b/HEAD"))]);
    assert_eq!(ended.output, "x\nx\n");
}

/// A file of a person that leads git elsewhere is read, and neither written nor cut off.
#[test]
fn a_link_of_a_person_stays_as_it_is() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    fs::create_dir(sandbox.root.join("sub")).unwrap();
    let text = "gitdir: ../store/modules/sub\n";
    fs::write(sandbox.root.join("sub/.git"), text).unwrap();
    let output = sandbox.output(
        "cd sub; ln -s .git l; cat .git l
        python3 - <<'E'
import os
def held(call):
    try: call()
    except OSError: return
    print('written')
for path in ('.git', 'l', '/proc/self/cwd/.git', './../sub/.git', f'/proc/self/fd/{os.open(chr(46) + \"git\", os.O_RDONLY)}',
    f'/proc/self/fd/{os.open(chr(46) + \"git\", os.O_PATH)}'):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_APPEND, 3):
        held(lambda: os.open(path, flags))
    held(lambda: os.truncate(path, 10))
    if path != 'l': held(lambda: os.link(path, 'other'))
held(lambda: os.link('.git', 'other')); held(lambda: os.rename('l', '.git'))
held(lambda: os.close(os.open('.git', os.O_CREAT | os.O_RDONLY | os.O_EXCL)))
os.close(os.open('.git', os.O_CREAT | os.O_RDONLY))
E",
    );
    assert_eq!(output, text.repeat(2));
    assert_eq!(fs::read_to_string(sandbox.root.join("sub/.git")).unwrap(), text);
}

/// While threads exchange texts of paths, directories, links and descriptors, nothing comes to lie there.
#[test]
fn races_leave_nothing() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let script = "python3 - <<'E'
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('w'); os.chdir('w'); os.mkdir('s'); os.mkdir('t'); open('f', 'w').write('gitdir: /x'); os.mkdir('b')
name = ctypes.create_string_buffer(b'other', 16); mark = ctypes.create_string_buffer(b'other', 16)
stop = time.time() + 3
def exchange():
    while time.time() < stop:
        name.value = b'.git'; mark.value = b'HEAD'; name.value = b'other'; mark.value = b'objects'; mark.value = b'refs'
def move():
    while time.time() < stop:
        for a, b in (('s', 'u'), ('u', 's')): libc.rename(a.encode(), b.encode())
def links():
    while time.time() < stop:
        for to in ('.git', 'other'):
            try: os.symlink(to, 'new'); os.rename('new', 'leads')
            except OSError: pass
def write():
    while time.time() < stop:
        for path in ('leads', 's/.git', 'u/.git', '.git', '.git/HEAD'):
            try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
            except OSError: pass
        libc.syscall(2, name, os.O_CREAT | os.O_WRONLY, 0o644); libc.creat(name, 0o644)
        fd = libc.openat(-100, name, os.O_CREAT | os.O_RDWR, 0o644)
        if fd >= 0: libc.write(fd, b'gitdir: /x', 10)
        libc.unlink(name)
        for fd in range(20, 200): libc.close(fd)
def marks():
    while time.time() < stop:
        for path in (b'b/HEAD', b'b/objects', b'b/refs', b'b/commondir'):
            fd = libc.creat(path, 0o644)
            if fd >= 0: libc.close(fd)
            libc.unlink(path); libc.mkdir(path, 0o755); libc.rmdir(path)
            libc.rename(b'f', path); libc.rename(path, b'f'); libc.symlink(b'f', path); libc.unlink(path)
        libc.mkdir(b'.git', 0o755); libc.rmdir(b'.git')
        libc.rename(b'f', name); libc.rename(name, b'f'); libc.link(b'f', name); libc.unlink(name)
        libc.renameat2(-100, b'f', -100, name, 2)
threads = [threading.Thread(target=one) for one in (exchange, move, links, write, write, marks, marks)]
[one.start() for one in threads]; [one.join() for one in threads]
E";
    // Two brokers at once, of which each may complete what the other one has begun.
    let mut other = sandbox.exchange_worker();
    let again = script
        .replace(
            "os.mkdir('w'); os.chdir('w'); os.mkdir('s'); os.mkdir('t');",
            "time.sleep(.5); os.chdir('w');",
        )
        .replace("os.mkdir('b')", "");
    let reader = Sandbox::start_on(&other, &again);
    let (_, found) = watched(&mut sandbox, script);
    drop(reader);
    Sandbox::end_on(&mut other);
    assert_eq!(found, BTreeSet::new());
}

/// Writes that are not confined are held as well, wherever they go.
#[test]
fn it_holds_where_writes_are_not_confined() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let mut sandbox = Sandbox::start_at(&root, |plan| {
        plan.is_git_strict = true;
        plan.files = Files::Full;
        plan.network = Network::Open;
    });
    if !sandbox.holds() {
        return;
    }
    let script = script(
        "for name in ('.git', '../.git', '/tmp/.git'):
    for way in ways:
        result = attempt(way, name)
        if result == 'done' or os.path.lexists(name): print(way, name, result)",
    );
    let (output, found) = watched(&mut sandbox, &script);
    assert_eq!((&*output, found), ("", BTreeSet::new()));
}
