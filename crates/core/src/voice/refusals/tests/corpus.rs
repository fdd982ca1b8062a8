//! Refusals in the words of many programs, and ordinary failures in the same words.

use super::{Door, End, Exit, Scene};

/// How programs say that the file system of a path is read-only.
const READ_ONLY: [&str; 34] = [
    "touch: cannot touch 'PATH': Read-only file system",
    "touch: cannot touch ‘PATH’: Read-only file system",
    "mkdir: cannot create directory 'PATH': Read-only file system",
    "rm: cannot remove 'PATH': Read-only file system",
    "cp: cannot create regular file 'PATH': Read-only file system",
    "mv: cannot move 'a' to 'PATH': Read-only file system",
    "ln: failed to create symbolic link 'PATH': Read-only file system",
    "install: cannot create regular file 'PATH': Read-only file system",
    "tee: PATH: Read-only file system",
    "sed: couldn't open temporary file PATH: Read-only file system",
    "dd: failed to open 'PATH': Read-only file system",
    "tar: PATH: Cannot open: Read-only file system",
    "chmod: changing permissions of 'PATH': Read-only file system",
    "bash: line 1: PATH: Read-only file system",
    "sh: 1: cannot create PATH: Read-only file system",
    "zsh:1: read-only file system: PATH",
    "Error: EROFS: read-only file system, open 'PATH'",
    "Error: EROFS: read-only file system, mkdir 'PATH'",
    "error: EROFS: read-only file system, rename 'a' -> 'PATH'",
    "OSError: [Errno 30] Read-only file system: 'PATH'",
    "PermissionError or so\nOSError: [Errno 30] Read-only file system: b'PATH'",
    "open PATH: read-only file system",
    "mkdir PATH: read-only file system",
    "Error { path: \"PATH\", message: Read-only file system (os error 30) }",
    "error: failed to write `PATH`\n\nCaused by:\n  Read-only file system (os error 30)",
    "npm error code EROFS\nnpm error syscall mkdir\nnpm error path PATH\nnpm error errno -30",
    "/usr/bin/ld: cannot open output file PATH: Read-only file system",
    "cc1: fatal error: PATH: Read-only file system",
    "Errno::EROFS: Read-only file system @ rb_sysopen - PATH",
    "java.nio.file.FileSystemException: PATH: Read-only file system",
    "java.io.FileNotFoundException: PATH (Read-only file system)",
    "error: could not lock config file PATH: Read-only file system",
    "fatal: could not create work tree dir 'PATH': Read-only file system",
    "sqlite3.OperationalError: PATH: Read-only file system",
];

const BUSY: [&str; 5] = [
    "mv: cannot move 'a' to 'PATH': Device or resource busy",
    "rm: cannot remove 'PATH': Device or resource busy",
    "EBUSY: resource busy or locked, rename 'c' -> 'PATH'",
    "OSError: [Errno 16] Device or resource busy: 'PATH'",
    "error: could not write config file PATH: Device or resource busy",
];

const DENIED: [&str; 14] = [
    "cat: PATH: Permission denied",
    "cp: cannot open 'PATH' for reading: Permission denied",
    "head: cannot open 'PATH' for reading: Permission denied",
    "grep: PATH: Permission denied",
    "ls: cannot access 'PATH': Permission denied",
    "bash: line 1: PATH: Permission denied",
    "Error: EACCES: permission denied, open 'PATH'",
    "PermissionError: [Errno 13] Permission denied: 'PATH'",
    "open PATH: permission denied",
    "Error: Os { path: \"PATH\", code: 13, message: \"Permission denied\" }",
    "tar: PATH: Cannot open: Permission denied",
    "Errno::EACCES: Permission denied @ rb_sysopen - PATH",
    "java.nio.file.AccessDeniedException: PATH: Permission denied",
    "fatal: could not open 'PATH' for reading: Permission denied",
];

const SOCKETS: [&str; 7] = [
    "permission denied while trying to connect to the Docker daemon socket at unix://HERE/d.sock: Get \"http://x\"",
    "Cannot connect to the Docker daemon at unix://HERE/d.sock. Is the docker daemon running?",
    "Error: connect EACCES HERE/d.sock",
    "psql: error: connection to server on socket \"HERE/d.sock\" failed: Permission denied",
    "Error connecting to agent: HERE/d.sock: Permission denied",
    "nc: HERE/d.sock: Permission denied",
    "dial unix HERE/d.sock: connect: permission denied",
];

/// A line, what it has printed, and a word of the note.
const PRIVILEGES: [(&str, &str, &str); 22] = [
    ("strace true", "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "trace"),
    (
        "gdb -batch -ex run ./a",
        "Could not trace the inferior process.\nptrace: Operation not permitted",
        "trace",
    ),
    ("ltrace ls", "ltrace: Couldn't attach: Operation not permitted", "trace"),
    ("perf stat true", "Error: perf_event_open: Operation not permitted", "measure"),
    ("bpftrace -e x", "ERROR: bpf: Operation not permitted", "measure"),
    ("unshare -r true", "unshare: unshare failed: Operation not permitted", "namespaces"),
    (
        "bwrap --ro-bind / / true",
        "bwrap: Creating new namespace failed: Operation not permitted",
        "namespaces",
    ),
    (
        "cd x; nsenter -t 1 -m sh",
        "nsenter: reassociate failed: Operation not permitted",
        "namespaces",
    ),
    ("podman run x", "Error: cannot clone: Operation not permitted", "namespaces"),
    ("mount -t tmpfs x y", "mount: y: mount failed: Operation not permitted.", "mount"),
    ("/bin/umount y", "umount: y: Operation not permitted", "mount"),
    ("if true; then mount --bind a b; fi", "mount: b: Operation not permitted", "mount"),
    (
        "chroot . sh",
        "chroot: cannot change root directory to '.': Operation not permitted",
        "root directory",
    ),
    ("mknod x c 1 3", "mknod: x: Operation not permitted", "devices"),
    (
        "dmesg",
        "dmesg: read kernel buffer failed: Operation not permitted",
        "rights over the system",
    ),
    (
        "chmod u+s a",
        "chmod: changing permissions of 'a': Operation not permitted",
        "rights of its owner",
    ),
    (
        "chmod 4755 a",
        "chmod: changing permissions of 'a': Operation not permitted",
        "rights of its owner",
    ),
    (
        "install -m 6755 a b",
        "install: cannot change permissions of 'b': Operation not permitted",
        "rights of its owner",
    ),
    (
        "chmod g=rws a",
        "chmod: changing permissions of 'a': Operation not permitted",
        "rights of its owner",
    ),
    ("chown nobody a", "chown: changing ownership of 'a': Operation not permitted", "one user"),
    ("./a.out", "==1==LeakSanitizer has encountered a fatal error.", "detect_leaks=0"),
    (
        "sudo ls",
        "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.",
        "gain no rights",
    ),
];

#[test]
fn a_refusal_is_explained_in_whichever_words() {
    let scene = Scene::new();
    let mut count = 0;
    let mut check = |line: &str, printed: &str, word: &str| {
        count += 1;
        let note = scene.failed(line, printed);
        assert!(note.as_ref().is_some_and(|note| note.contains(word)), "{printed}: {note:?}");
    };
    for printed in READ_ONLY {
        check("x", &printed.replace("PATH", "HERE/beside/x"), "sandbox.writableRoots");
        check("x", &printed.replace("PATH", "../x"), "sandbox.writableRoots");
        check("cd sub && x", &printed.replace("PATH", "../../beside"), "sandbox.writableRoots");
        check("x", &printed.replace("PATH", ".git/hooks/x"), "`.git/hooks/x` is protected");
    }
    for printed in BUSY {
        check("x", &printed.replace("PATH", ".git/hooks"), "`.git/hooks` is protected");
        check("x", &printed.replace("PATH", "HERE/root/.git/hooks"), "`.git/hooks` is protected");
    }
    for printed in DENIED {
        check("x", &printed.replace("PATH", "HERE/store/key"), "`HERE/store/key` is closed");
        check("x", &printed.replace("PATH", "../store/key"), "`HERE/store/key` is closed");
    }
    for printed in SOCKETS {
        check("x", printed, "unix socket");
    }
    for (line, printed, word) in PRIVILEGES {
        check(line, printed, word);
    }
    assert!(count > 150, "{count}");
}

/// What real programs print when the sandbox has nothing to do with it.
const ORDINARY: &str = r#"
sh: ./script: Permission denied
cat: x: Permission denied
cat: HERE/root/x: Permission denied
ls: cannot open directory 'HERE/root/private': Permission denied
bash: line 1: ./run.sh: Permission denied
bash: ./a.out: cannot execute binary file: Exec format error
make: ./configure: Permission denied
make: permission denied
env: './x': Permission denied
git@github.com: Permission denied (publickey).
ERROR 1045 (28000): Access denied for user 'root'@'localhost'
psql: error: FATAL:  permission denied for table sales.socks
ERROR:  permission denied for schema public (/usr)
ERROR: permission denied for relation app.sock_events
pq: permission denied for table x
touch: cannot touch 'x': Read-only file system
Read-only file system
test_read_only_file_system FAILED: expected EROFS, got ENOENT
AssertionError: expected 'EROFS' to equal 'EACCES'
AssertionError: "Read-only file system" not found in output
error: errno 300 in line 30
exit status: errno 300
Error: errno 305: quota
/proc/sys/kernel/x: Read-only file system
sysctl: setting key "kernel.x": Read-only file system
umount: /mnt: target is busy, EBUSY
rm: cannot remove 'mnt': Device or resource busy
Error: EBUSY: resource busy or locked, unlink 'HERE/root/db'
flock: 3: Resource temporarily unavailable
flock: failed to get lock: Resource temporarily unavailable
BlockingIOError: [Errno 11] Resource temporarily unavailable
E: Could not get lock /var/lib/dpkg/lock-frontend - open (11: Resource temporarily unavailable)
Error: read EAGAIN
Error: EAGAIN: resource temporarily unavailable, read
recv: Resource temporarily unavailable
java.net.SocketException: Resource temporarily unavailable
thread 'main' panicked: WouldBlock: Resource temporarily unavailable (os error 11)
sqlite3.OperationalError: database is locked
git: another git process seems to be running in this repository
fatal: Unable to create 'HERE/root/.git/index.lock': File exists.
MemoryError
MemoryError: in test_alloc
FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
java.lang.OutOfMemoryError: Java heap space
java.lang.OutOfMemoryError: Metaspace
std::bad_alloc
RangeError: Invalid array length
RangeError: Array buffer allocation failed
fatal: Out of memory, malloc failed
getaddrinfo ENOTFOUND db.internal
Error: getaddrinfo EAI_AGAIN postgres
expect(error.code).toBe('ENOTFOUND') // getaddrinfo
test_getaddrinfo.py::test_a FAILED
Could not resolve dependency: peer react@18
npm error ERESOLVE could not resolve
error: could not resolve "./missing"
Could not resolve type alias
webpack: Module not found: Error: Can't resolve './x'
ModuleNotFoundError: No module named 'socket'
AssertionError: 'Network is unreachable' != 'ok'
  1) retries on ENETUNREACH: expected 3 to equal 2
Error: connect ECONNREFUSED 127.0.0.1:5432
curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server
redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.
FAIL src/net.test.ts > name or service not known
Traceback: socket.gaierror mocked: Name or service not known
test network ... FAILED: temporary failure in name resolution is not retried
error[E0308]: mismatched types
error TS2322: Type 'string' is not assignable to type 'number'.
src/sock.rs:10:5: error: cannot find value `unix_socket` in this scope
docs/app.sock.md: permission denied by policy test
FAILED tests/test_perm.py::test_eacces - AssertionError: EACCES
PermissionError: [Errno 13] Permission denied: 'out'
PermissionError: [Errno 1] Operation not permitted: 'x'
Error: EPERM: operation not permitted, unlink 'x'
chmod: changing permissions of 'x': Operation not permitted
cp: failed to preserve ownership for 'x': Operation not permitted
rm: cannot remove 'immutable': Operation not permitted
kill: (1): Operation not permitted
bash: kill: (1) - Operation not permitted
ValueError: invalid argument
sed: -e expression #1, char 3: unterminated `s' command
tar: Error is not recoverable: exiting now
mv: cannot stat 'x': No such file or directory
find: 'x': No such file or directory
cd: HOME not set
diff: missing operand after 'x'
grep: invalid option -- 'z'
command not found: foo
foo: command not found
Segmentation fault (core dumped)
Aborted
Killed
Terminated
Bus error
Timeout of 2000ms exceeded. For async tests and hooks, ensure "done()" is called
3 tests failed
FAIL: TestUnixDomainSocket (0.00s)
--- FAIL: TestDialUnix: dial unix: missing address
listen unix /x/y.sock: bind: no such file or directory
Error: listen EADDRINUSE: address already in use :::3000
OSError: [Errno 98] Address already in use
OSError: [Errno 28] No space left on device
OSError: [Errno 22] Invalid argument
write error: Broken pipe
too many open files
ulimit: open files: cannot modify limit: Operation not permitted
not a git repository (or any of the parent directories): .git
fatal: not a git repository: HERE/gone/.git
fatal: detected dubious ownership in repository
error: pathspec 'x' did not match any file(s) known to git
fatal: refusing to merge unrelated histories
error: failed to push some refs to '../b.git'
CONFLICT (content): Merge conflict in a
error: could not apply 1234567... x
hint: Read-only file system is mentioned in this hint
"#;

#[test]
fn an_ordinary_failure_has_no_note() {
    let scene = Scene::new();
    let mut count = 0;
    for printed in ORDINARY.lines().filter(|line| !line.is_empty()) {
        for (line, code, door) in [
            ("make test", 1, Door::Tools),
            ("cd sub && npm test 2>&1 | tail -5", 2, Door::Session),
            ("python3 -m pytest -q", 101, Door::Tools),
        ] {
            count += 1;
            let note = scene.note(line, &End::Exited(Exit::Code(code)), printed, door);
            assert_eq!(note, None, "{line}: {printed}");
        }
        let around = format!("before\n\n\n\n{printed}\n\n\n\nafter");
        assert_eq!(scene.failed("make", &around), None, "{printed}");
        assert_eq!(scene.note("make", &End::TimedOut, printed, Door::Tools), None, "{printed}");
    }
    assert!(count > 300, "{count}");
}
