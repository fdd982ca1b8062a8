//! Calls on names end as the kernel ends them, whoever makes them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::sandbox::{Sandbox, VARIABLES, find};

/// Makes random calls on few names, and prints what each has returned. The same number makes the same calls.
const CALLS: &str = r"
import ctypes, errno, os, random, sys
libc = ctypes.CDLL(None, use_errno=True)
r = random.Random(int(sys.argv[1]))
names = ['a', 'b', 'c', 'd', 'l', 'm', 'f', 'g']
def name():
    parts = [r.choice(names) for _ in range(r.choice([1, 1, 1, 2, 2, 3]))]
    if r.random() < .15: parts.insert(r.randrange(len(parts)) + 1, r.choice(['.', '..', '', 'l']))
    path = '/'.join(parts) + r.choice([''] * 8 + ['/', '//', '/.', '/..'])
    if r.random() < .03: path = r.choice(['', '.', '..', './', 'x' * 256, 'y/' * 2050 + 'y', '/proc/self/cwd/' + path])
    return path
def place():
    kind = r.random()
    path = name()
    if kind < .6: return -100, path
    if kind < .7: return -100, os.getcwd() + '/' + path
    if kind < .93: return r.choice(directories), path
    return r.choice([-1, 999, 0, -100]), path
os.mkdir('a'); os.mkdir('b'); os.mkdir('a/b'); open('f', 'w').close(); os.symlink('a', 'l'); os.symlink('nowhere', 'm')
os.symlink('g', 'g')
directories = [os.open(path, os.O_RDONLY) for path in ['.', 'a', 'b', 'a/b', 'f']]
def call(*arguments):
    ctypes.set_errno(0)
    arguments = [os.fsencode(one) if isinstance(one, str) else ctypes.c_long(one) for one in arguments]
    result = libc.syscall(*arguments)
    return errno.errorcode.get(ctypes.get_errno(), 'E?') if result < 0 else 'ok'
numbers = {'x86_64': (83, 258, 84, 263, 82, 264, 316, 86, 265, 88, 266, 133, 259)}[os.uname().machine]
MKDIR, MKDIRAT, RMDIR, UNLINKAT, RENAME, RENAMEAT, RENAMEAT2, LINK, LINKAT, SYMLINK, SYMLINKAT, MKNOD, MKNODAT = numbers
mode = lambda: r.choice([0o777, 0o755, 0o700, 0o1777, 0o2775, 0o644, 0, 0o100777])
for _ in range(int(sys.argv[2])):
    kind = r.randrange(15)
    if kind == 0: os.umask(r.choice([0, 0o22, 0o27, 0o77])); continue
    if kind in (1, 2): what = (MKDIRAT, *place(), mode())
    elif kind == 3: what = (MKDIR, name(), mode())
    elif kind == 4: what = (RMDIR, name())
    elif kind == 5: what = (UNLINKAT, *place(), r.choice([0x200, 0x200, 0x200, 0x300]))
    elif kind == 6: what = (RENAME, name(), name())
    elif kind == 7: what = (RENAMEAT, *place(), *place())
    elif kind in (8, 9): what = (RENAMEAT2, *place(), *place(), r.choice([0, 0, 1, 1, 2, 2, 3, 8, 0x10]))
    elif kind == 10: what = (LINKAT, *place(), *place(), r.choice([0, 0, 0x400, 0x400, 0x800]))
    elif kind == 11: what = (SYMLINKAT, r.choice([name() or 'x', 'a', 'f', '../a']), *place())
    elif kind == 12: what = (MKNODAT, *place(), r.choice([0o100644, 0o10600, 0o140600, 0o644, 0o40700, 0o30600]), 0)
    elif kind == 13: what = (LINK, name(), name())
    else: what = (SYMLINK, r.choice(['a', 'b', 'c', 'm', '..']), name())
    print(what[0], *[str(one)[:40] for one in what[1:]], call(*what))
";

/// What lies below a directory: kinds, modes and links. Directories are opened for it.
fn outline(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    find(root, &mut |path| {
        let metadata = fs::symlink_metadata(path).unwrap();
        let target = fs::read_link(path).unwrap_or_default();
        let mode = metadata.permissions().mode();
        let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
        let below = path.strip_prefix(root).unwrap();
        if metadata.is_dir() {
            // What lies in it is looked at, and removed, by whoever made it.
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        all.push(format!("{} {mode:o} {links} {}", below.display(), target.display()));
    });
    all.sort();
    all
}

fn cases(few: usize) -> usize {
    let more = std::env::var("TOOLWRIGHT_SOAK").ok().and_then(|text| text.parse().ok());
    few * more.unwrap_or(1_usize)
}

#[test]
fn random_calls_end_as_outside() {
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    // Beside the root, and so deep that no path leads out.
    let (inside_top, outside_top) =
        (sandbox.root.join("1"), sandbox.root.with_file_name("away").join("1"));
    for seed in 0..cases(6) {
        let [inside, outside] = [&inside_top, &outside_top].map(|top| top.join("2/3/4/5/6/7/8"));
        for root in [&inside, &outside] {
            fs::create_dir_all(root).unwrap();
        }
        let script = format!("cd 1/2/3/4/5/6/7/8; python3 -c \"$SCRIPT\" {seed} 400");
        let ended = sandbox.run(&format!("SCRIPT='{}'; {script}", CALLS.replace('\'', "'\\''")));
        assert!(ended.status.success(), "{ended:?}");
        let plain = Command::new("python3")
            .args(["-c", CALLS, &seed.to_string(), "400"])
            .current_dir(&outside)
            .env_clear()
            .envs(VARIABLES)
            .output()
            .unwrap();
        let plain = String::from_utf8(plain.stdout).unwrap();
        let mut lines = ended.output.lines().zip(plain.lines());
        let differs = lines.find(|(inside, outside)| {
            inside.split(' ').next_back() != outside.split(' ').next_back()
        });
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(outline(&inside_top), outline(&outside_top), "seed {seed}");
        for top in [&inside_top, &outside_top] {
            fs::remove_dir_all(top).unwrap();
        }
    }
}

/// While one thread exchanges the texts of paths, directories and descriptors, no content comes to the host.
#[test]
fn races_make_no_content() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let rounds = cases(1);
    sandbox.output(&format!("python3 - <<'E'
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('w'); os.chdir('w'); os.mkdir('full'); open('full/HEAD', 'w').write('x'); os.mkdir('s'); os.mkdir('t')
text = ctypes.create_string_buffer(b'other', 16)
stop = time.time() + 1.5 * {rounds}
def exchange():
    while time.time() < stop:
        text.value = b'.git'; text.value = b'other'
def move():
    while time.time() < stop:
        for a, b in (('s', 'u'), ('u', 's')):
            libc.rename(a.encode(), b.encode())
def write():
    while time.time() < stop:
        for name in ('.git', 's/.git', 'u/.git'):
            try: open(name + '/HEAD', 'w').write('x')
            except OSError: pass
def call(mine):
    while time.time() < stop:
        libc.rename(b'full', text); libc.rename(text, b'full')
        libc.mkdir(text, 0o755); libc.rmdir(text)
        libc.renameat2(-100, b'full', -100, text, 2)
        libc.symlink(b'full', text); libc.unlink(text)
        libc.mkdir(b's/.git', 0o755); libc.rmdir(b's/.git')
threads = [threading.Thread(target=one, args=arguments) for one, arguments in
    [(exchange, ()), (move, ()), (write, ())] + [(call, (n,)) for n in range(4)]]
[one.start() for one in threads]; [one.join() for one in threads]
E"));
    // A file that was being opened when its directory was covered may come to lie in that. Commands do not see it
    // there, and the host finds it.
    sandbox.visible_but(&sandbox.private_paths());
}

#[test]
fn a_hundred_threads_at_once() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let text = sandbox.output("python3 - <<'E'
import os, threading
def work(n):
    for k in range(4):
        os.makedirs(f'd{n}/{k}/x'); os.rename(f'd{n}/{k}', f'd{n}/r{k}'); os.mkdir(f'd{n}/r{k}/.git')
    for k in range(4):
        os.rmdir(f'd{n}/r{k}/x'); os.rmdir(f'd{n}/r{k}/.git'); os.rmdir(f'd{n}/r{k}')
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
[one.start() for one in threads]; [one.join() for one in threads]
print(sum(len(os.listdir(f'd{n}')) for n in range(100)))
E");
    assert_eq!(text, "0\n");
    assert!(sandbox.private_paths().is_empty());
}

/// However a command ends, its worker is there for the next one.
#[test]
fn killed_while_calls_wait() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    for round in 0..15_u64 {
        let mut reader = sandbox.start(
            "for n in 1 2 3 4 5 6; do (while :; do mkdir $n 2>/dev/null; mkdir $n/.git; rmdir $n/.git; done) & done; wait",
        );
        thread::sleep(Duration::from_millis(20 + 7 * round));
        let began = Instant::now();
        sandbox.kill();
        sandbox.end();
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let _ = reader.read_to_end(&mut Vec::new());
        assert_eq!(sandbox.output("echo out"), "out\n");
        sandbox.visible();
    }
}

/// No call is made twice for a signal that is caught.
#[test]
fn signals_interrupt_nothing() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(
        "python3 - <<'E'
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False); signal.setitimer(signal.ITIMER_REAL, .0002, .0002)
for n in range(3000):
    os.mkdir('x'); os.rename('x', 'y'); os.rmdir('y')
signal.setitimer(signal.ITIMER_REAL, 0)
E",
    );
}

/// Other users, groups and missing rights are the caller's.
#[test]
fn the_rights_are_those_of_the_caller() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let ended = sandbox.run("exec 2>&1; python3 - <<'E'
import os, stat
os.chmod('.', 0o755); os.mkdir('closed', 0o755); os.mkdir('open'); os.chmod('open', 0o1777); os.mkdir('open/roots')
def child(work):
    pid = os.fork()
    if pid == 0:
        try: work()
        except OSError as error: print(type(error).__name__, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
def other():
    os.setgroups([4242]); os.setgid(1000); os.setuid(1000)
    os.mkdir('open/mine'); os.mkdir('open/mine/.git'); open('open/mine/.git/f', 'w').close()
    for path in 'open/mine', 'open/mine/.git', 'open/mine/.git/f':
        found = os.stat(path); print(found.st_uid, found.st_gid, flush=True)
    for call in (lambda: os.mkdir('closed/x'), lambda: os.mkdir('closed/.git'), lambda: os.rmdir('open/roots')):
        try: call(); print('done', flush=True)
        except PermissionError: print('refused', flush=True)
child(other)
def undumpable():
    import ctypes
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); os.mkdir('closed/y'); print('made', flush=True)
child(undumpable)
print(os.path.exists('closed/x'), os.path.exists('open/roots'))
E");
    let expected = "1000 1000\n1000 1000\n1000 1000\nrefused\nrefused\nrefused\nmade\nFalse True\n";
    assert_eq!(ended.output, expected, "{ended:?}");
}

/// What commands must not change of the worker and its thread.
#[test]
fn the_thread_is_out_of_reach() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let text = sandbox.output("python3 - <<'E'
import os, resource
for thread in os.listdir('/proc/1/task'):
    number = int(thread)
    for change in (lambda: resource.prlimit(number, resource.RLIMIT_NOFILE, (3, 3)),
                   lambda: os.sched_setaffinity(number, {0}), lambda: os.setpriority(os.PRIO_PROCESS, number, 9)):
        try: change(); print('changed', number)
        except PermissionError: pass
    os.kill(number, 9) if number > 1 else None
    for path in 'cwd/x', 'root/x', 'fd/0/x', 'fd/8/x':
        for start in f'/proc/{number}', f'/proc/1/task/{number}', f'/proc/self/../{number}':
            try: os.mkdir(f'{start}/{path}'); print('made', start, path)
            except OSError: pass
E
mkdir after; echo still; cat /proc/self/status | grep CapEff");
    assert!(text.starts_with("still\n"), "{text}");
    // The right to look into processes is the thread's alone.
    let effective = text.split_ascii_whitespace().next_back().unwrap();
    assert_eq!(u64::from_str_radix(effective, 16).unwrap() & (1 << 19), 0, "{text}");
}

/// Masks are those of the moment, in every process and after any number of changes.
#[test]
fn masks_are_those_of_the_moment() {
    let mut sandbox = Sandbox::new();
    if !sandbox.holds() {
        return;
    }
    let text = sandbox.output("python3 - <<'E'
import os, stat, threading
mode = lambda path: oct(stat.S_IMODE(os.stat(path).st_mode))
def make(path): os.mkdir(path, 0o777); return mode(path)
begins = os.umask(0o22); os.umask(begins)
print(make('a'), os.umask(0) == begins, make('b'), os.umask(0o77), make('c'), make('d/.git' if os.mkdir('d') else 'd/.git'))
def child(n):
    for k in range(30):
        mask = (n * 7 + k) % 8 * 0o11; old = os.umask(mask)
        made = make(f'{n}-{k}')
        if made != oct(0o777 & ~mask): print('wrong', n, k, made)
children = []
for n in range(12):
    pid = os.fork()
    if pid == 0: child(n); os._exit(0)
    children.append(pid)
[os.waitpid(pid, 0) for pid in children]
# A thread sees what another has set.
found = []
for mask in (0o07, 0o70, 0, 0o77):
    os.umask(mask); one = threading.Thread(target=lambda: found.append(make(f't{mask}'))); one.start(); one.join()
print(found)
E");
    let expected = "0o755 True 0o777 0 0o700 0o700\n['0o770', '0o707', '0o777', '0o700']\n";
    assert_eq!(text, expected);
    // The next command has the usual one again.
    assert_eq!(
        sandbox.output("mkdir z; stat -c %a z; umask 077; mkdir y; stat -c %a y"),
        "755\n700\n"
    );
    assert_eq!(sandbox.output("mkdir x; stat -c %a x"), "755\n");
}
