//! Opening under a strict plan ends as the kernel ends it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::sandbox::Sandbox;

/// Opens each kind of file with each set of flags, and prints what has come of it. Of the flags that a descriptor
/// keeps, the one that concerns the name is left out. Calls that wait for another process have a test of their own.
const TABLE: &str = r"
import errno, itertools, os, shutil
os.umask(0o22)
O = {name: getattr(os, name) for name in '''O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_APPEND O_NOFOLLOW
    O_DIRECTORY O_NONBLOCK O_CLOEXEC O_PATH O_TMPFILE O_SYNC O_NOCTTY'''.split()}
def setup():
    # Nobody but root removes what lies in a directory that may not be read.
    for name in ('t/closed', 't/hidden'):
        if os.path.isdir(name): os.chmod(name, 0o700)
    shutil.rmtree('t', ignore_errors=True); os.mkdir('t'); os.chdir('t')
    os.mkdir('dir'); os.mkdir('dir/sub'); os.mkdir('closed', 0o500); os.mkdir('hidden', 0o000)
    for name in ('file', 'dir/inner', 'unwritable', 'unreadable', 'exec'):
        with open(name, 'w') as f: f.write('content')
    os.chmod('unwritable', 0o444); os.chmod('unreadable', 0o000)
    for name, to in (('link', 'file'), ('dangling', 'made'), ('loop', 'loop'), ('dirlink', 'dir'), ('far', 'dir/new'),
        ('nowhere', 'absent/new'), ('chain', 'dangling'), ('absolute', os.getcwd() + '/made'), ('slash', 'new/'),
        ('up', '../t/made'), ('filebelow', 'file/x')): os.symlink(to, name)
    os.mkfifo('fifo')
names = '''absent file dir link dangling loop dirlink far nowhere chain absolute slash up filebelow fifo unwritable unreadable
    closed/new hidden/new file/ absent/ dir/ dirlink/ link/ dir/. dir/.. . .. dir/sub dir/inner dirlink/inner dirlink/new
    absent/new file/new dir//new ./new /dev/null /dev/full /dev/fd /dev/zero /proc/self/cwd/viaproc /proc/self/comm
    /proc/thread-self/comm /proc/self/fd/FD /dev/fd/FD /proc/self/fd/DIR/x /proc/self/nothing /proc/absent'''.split()
names += ['', 'x' * 255, 'x' * 256, 'y/' * 2047 + 'y', 'y/' * 2048]
access = ['O_RDONLY', 'O_WRONLY']
others = ['O_CREAT', 'O_EXCL', 'O_TRUNC', 'O_APPEND', 'O_NOFOLLOW', 'O_DIRECTORY', 'O_NONBLOCK']
sets = [[]] + [[one] for one in others + ['O_PATH', 'O_TMPFILE', 'O_SYNC', 'O_CLOEXEC']]
sets += [list(two) for two in itertools.combinations(others, 2)] + [['O_CREAT', 'O_EXCL', one] for one in others[2:]]
sets += [['O_CREAT', 'O_TRUNC', one] for one in others[3:]] + [['O_CREAT', 'O_PATH'], ['O_CREAT', 'O_TMPFILE'], ['O_CREAT', 'O_CLOEXEC']]
import fcntl
top = os.getcwd()
def tree():
    all = []
    for at, _, files in os.walk('.'):
        all += [f'{at}/{file} {oct(os.lstat(at + chr(47) + file).st_mode)} {os.lstat(at + chr(47) + file).st_size}' for file in files]
    return sorted(all)
setup(); before = tree()
for mode, name in itertools.product(access, names):
    for flags in sets:
        if name == 'fifo' and 'O_NONBLOCK' not in flags: continue
        held, directory = os.open('file', os.O_RDONLY), os.open('dir', os.O_RDONLY)
        path = name.replace('FD', str(held)).replace('DIR', str(directory))
        bits = O[mode]
        for flag in flags: bits |= O[flag]
        try:
            fd = os.open(path, bits, 0o666)
            status = os.fstat(fd)
            kept = fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o500000
            result = f'{oct(status.st_mode)} {status.st_size} {oct(kept)} {fcntl.fcntl(fd, fcntl.F_GETFD)} {fd - held} {status.st_nlink}'
            os.close(fd)
        except OSError as error: result = errno.errorcode[error.errno]
        os.close(held); os.close(directory)
        after = tree()
        print(name[:20], mode, *flags, '->', result, sorted(set(after) ^ set(before)))
        if after != before: os.chdir(top); setup()
";

#[test]
fn each_kind_opens_as_by_the_kernel() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let script = format!("SCRIPT='{}'; python3 -c \"$SCRIPT\"", TABLE.replace('\'', "'\\''"));
    let ended = sandbox.run(&script);
    assert!(ended.status.success(), "{ended:?}");
    // The same calls, made by the kernel.
    let plain = Sandbox::new().output(&script);
    let differ: Vec<_> = ended
        .output
        .lines()
        .zip(plain.lines())
        .filter(|(inside, outside)| inside != outside)
        .collect();
    assert!(plain.lines().count() > 3000);
    assert_eq!(ended.output.lines().count(), plain.lines().count());
    assert!(differ.is_empty(), "{} differ, {:#?}", differ.len(), &differ[..differ.len().min(20)]);
    assert_eq!(ended.refused, []);
}

/// What waits for another process keeps no other call.
#[test]
fn pipes_wait_alone() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let began = Instant::now();
    let output = sandbox.output(
        "mkfifo one two three four
        (echo written > one) & cat one
        (sleep .2; cat two) & echo later > two; wait
        echo never > three & waiting=$!
        for n in 1 2 3; do echo $n > file; done; cat file
        kill $waiting
        python3 - <<'E'
import os, threading, time
def write():
    time.sleep(.2); fd = os.open('four', os.O_WRONLY); time.sleep(.2); os.write(fd, b'read')
threading.Thread(target=write).start()
began = time.time()
fd = os.open('four', os.O_RDONLY | os.O_CREAT)
print(.15 < time.time() - began < 2, os.read(fd, 9))
print(os.open('four', os.O_RDWR) > 0)
E",
    );
    assert_eq!(output, "written\nlater\n3\nTrue b'read'\nTrue\n");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // One that nobody ever opens ends with its command.
    let mut reader = sandbox.start("echo x > three");
    std::thread::sleep(Duration::from_millis(100));
    sandbox.kill();
    assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 0);
    sandbox.end();
    assert_eq!(sandbox.output("echo there > file; cat file"), "there\n");
}

/// The kernel would ask whether the broker may look into a process. No path leads to one that the caller may not
/// change.
#[test]
fn no_process_opens_another() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let output = sandbox.output(
        "sleep 60 >/dev/null 2>&1 & for n in /proc/[0-9]*; do
            for file in mem oom_score_adj task/${n#/proc/}/mem comm; do
                (exec 3<> $n/$file) 2>/dev/null && echo $n/$file
            done
        done; kill $!
        python3 - <<'E'
import os
for at in (1, os.getppid(), 'self', 'thread-self'):
    for path in ('/proc', f'/proc/{at}', f'/proc/{at}/task', '/proc/self/fd'):
        try: base = os.open(path, os.O_PATH)
        except OSError: continue
        for name in ('mem', f'{at}/mem', f'{at}/comm', 'comm', f'../{at}/mem', f'../../{at}/mem'):
            for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY | os.O_CREAT):
                try: print('opened', path, name, os.open(name, flags, dir_fd=base))
                except OSError: pass
E",
    );
    let own = |line: &&str| !line.contains("self");
    assert_eq!(output.lines().filter(own).collect::<Vec<_>>(), [""; 0], "{output}");
}

/// What is opened as `/dev/tty` is the terminal of whoever opens it.
#[test]
fn terminals_are_those_of_the_caller() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let script = "python3 - <<'E'
import os, sys
try: open('/dev/tty', 'w'); print('opened')
except OSError as error: print(error.errno)
def inside(work):
    pid, ours = os.forkpty()
    if pid == 0:
        try: work()
        except OSError as error: print(error)
        os._exit(0)
    read = b''
    try:
        while data := os.read(ours, 100): read += data
    except OSError: pass
    os.waitpid(pid, 0)
    print(read.decode().split())
def write(path):
    with open(path, 'w') as terminal: print('terminal', terminal.isatty(), os.tcgetpgrp(terminal.fileno()) == os.getpgrp(), file=terminal)
inside(lambda: write('/dev/tty'))
inside(lambda: write(os.ttyname(0)))
inside(lambda: os.system('echo shell > /dev/tty'))
E";
    let expected = Sandbox::new().output(script);
    assert!(expected.contains("['terminal', 'True', 'True']"), "{expected}");
    assert_eq!(sandbox.output(script), expected);
}

#[test]
fn descriptors_are_bounded_as_outside() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let output = sandbox.output(
        "python3 - <<'E'
import errno, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
opened = []
try:
    while True: opened.append(os.open(f'f{len(opened)}', os.O_CREAT | os.O_WRONLY))
except OSError as error: print(errno.errorcode[error.errno], opened == list(range(3, 20)))
os.close(7); print(os.open('again', os.O_CREAT | os.O_WRONLY), os.path.exists(f'f{len(opened)}'))
E",
    );
    assert_eq!(output, "EMFILE True\n7 False\n");
}

/// A program that was just written is executed: nobody else has it open then.
#[test]
fn what_was_written_is_executed() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let output = sandbox.output(
        "python3 - <<'E'
import os, subprocess, threading
data = open('/bin/true', 'rb').read()
def work(n):
    for k in range(25):
        path = f'./p{n}.{k}'
        fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o755); os.write(fd, data); os.close(fd)
        child = os.posix_spawn(path, [path], {})
        os.waitpid(child, 0)
for n in range(4): work(n)
print('all')
E",
    );
    assert_eq!(output, "all\n");
}

#[test]
fn a_hundred_threads_open_at_once() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    let output = sandbox.output(
        "python3 - <<'E'
import os, threading
wrong = []
def work(n):
    for k in range(20):
        path = f'd{n % 10}.{n}.{k}'
        with open(path, 'w') as f: f.write(f'{n} {k}')
        with open(path, 'r+') as f:
            if f.read() != f'{n} {k}': wrong.append(path)
        os.truncate(path, 1)
        if os.path.getsize(path) != 1: wrong.append(path)
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
[one.start() for one in threads]; [one.join() for one in threads]
print(wrong, len(os.listdir('.')))
E",
    );
    assert_eq!(output, "[] 2000\n");
}

#[test]
fn masks_and_rights_are_those_of_the_caller() {
    let mut sandbox = Sandbox::strict();
    if !sandbox.holds() {
        return;
    }
    sandbox.output(
        "umask 077; echo x > private; (umask 0; echo x > open); echo x > again
        python3 -c 'import os; os.close(os.open(\"exact\", os.O_CREAT | os.O_WRONLY, 0o604))'",
    );
    let mode =
        |name: &str| fs::metadata(sandbox.root.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(["private", "open", "again", "exact"].map(mode), [0o600, 0o666, 0o600, 0o600]);
}
