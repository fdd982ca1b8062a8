import { readFileSync } from 'node:fs'
import { node, perl, php, python, type RefusalClass, type Row, ruby } from './refusal.ts'

const C = (body: string, headers = 'stdio unistd stdlib'): string =>
  `printf '%s\\n' ${headers
    .split(' ')
    .map((name) => `'#include <${name}.h>'`)
    .join(' ')} 'int main(void){${body}}' > a.c && gcc -w a.c -o a && ./a`

/** Whether this process has a capability, by its number. What nobody here may do is no refusal of the sandbox. */
const hostHas = (capability: number): boolean => {
  const effective = /^CapEff:\s*([\da-f]+)/mu.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return ((BigInt(`0x${effective}`) >> BigInt(capability)) & 1n) === 1n
}

const SET_ID: Row[] = [
  ['chmod u+s', 'touch a; chmod u+s a'],
  ['chmod 4755', 'touch a; chmod 4755 a'],
  ['chmod g+s', 'touch a; chmod g+s a'],
  ['chmod 2755', 'touch a; chmod 2755 a'],
  ['chmod -R', 'mkdir d; touch d/a; chmod -R u+s d'],
  ['install', 'touch a; install -m 4755 a b'],
  ['install -m2755', 'touch a; install -m2755 a b'],
  ['python', python('import os; open("a", "w"); os.chmod("a", 0o4755)'), 'python3'],
  ['node', node('fs.writeFileSync("a", ""); fs.chmodSync("a", 0o4755)')],
  ['ruby', ruby('File.write("a", ""); File.chmod(04755, "a")'), 'ruby'],
  ['perl', perl('open(F, ">", "a"); chmod(04755, "a") or die "chmod a: $!"'), 'perl'],
  ['php', php('touch("a"); chmod("a", 04755) || exit(1);'), 'php'],
  ['tar -xp', 'tar -xpf ARCHIVE'],
  ['cp -p', 'cp -p SETUID a'],
  ['c', C('chmod("a.c", 04755) < 0 ? (perror("chmod a.c"), exit(1)) : 0;', 'stdio unistd stdlib sys/stat'), 'gcc'],
]

/** A system call of a number, for which there is no function in libc, in each language that can make one. */
const syscall = (name: string, number: number, ...args: number[]): Row[] => {
  const list = [number, ...args].join(', ')
  return [
    [
      `python ${name}`,
      python(
        `import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\nif c.syscall(${list}) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))`,
      ),
      'python3',
    ],
    [`c ${name}`, C(`syscall(${list}) < 0 ? (perror("it"), exit(1)) : 0;`), 'gcc'],
    [
      `c ${name}, a number`,
      C(`int e = syscall(${list}) < 0 ? errno : 0; if (e) { printf("failed: %d\\n", e); exit(3); }`, 'stdio unistd stdlib errno'),
      'gcc',
    ],
    [`perl ${name}`, perl(`syscall(${list}) >= 0 or die "it: $!"`), 'perl'],
  ]
}
const isX64 = process.arch === 'x64'
/** The numbers of x86-64 and of aarch64. */
const byNumber = (name: string, x64: number, arm64: number, ...args: number[]): Row[] => syscall(name, isX64 ? x64 : arm64, ...args)

const socket = (name: string, args: string): Row[] => [[`python ${name}`, python(`import socket; socket.socket(${args})`), 'python3']]

export const PRIVILEGES: RefusalClass[] = [
  {
    name: 'mounts by system calls',
    says: /cannot mount/u,
    rows: [
      ...byNumber('mount', 165, 40, 0, 0, 0, 0, 0),
      ...byNumber('umount2', 166, 39, 0, 0),
      ...byNumber('fsopen', 430, 430, 0, 0),
      ...byNumber('open_tree', 428, 428, 0, 0, 0),
      ...byNumber('move_mount', 429, 429, 0, 0, 0, 0, 0),
      ...byNumber('mount_setattr', 442, 442, 0, 0, 0, 0, 0),
    ],
  },
  {
    name: 'namespaces by system calls',
    says: /cannot make namespaces/u,
    rows: [
      ...byNumber('unshare user', 272, 97, 0x1000_0000),
      ...byNumber('unshare net', 272, 97, 0x4000_0000),
      ...byNumber('setns', 308, 268, 0, 0),
      ...byNumber('clone', 56, 220, 0x1002_0011, 0, 0, 0, 0),
    ],
  },
  {
    name: 'root directories by system calls',
    says: /root directory/u,
    rows: [...byNumber('chroot', 161, 51, 0), ...byNumber('pivot_root', 155, 41, 0, 0)],
  },
  {
    name: 'measuring by system calls',
    says: /cannot measure/u,
    rows: [...byNumber('bpf', 321, 280, 0, 0, 0), ...byNumber('perf_event_open', 298, 241, 0, 0, 0, 0, 0)],
  },
  {
    name: 'modules, clocks and names by system calls',
    says: /rights over the system/u,
    rows: [
      ...byNumber('init_module', 175, 105, 0, 0, 0),
      ...byNumber('finit_module', 313, 273, 0, 0, 0),
      ...byNumber('delete_module', 176, 106, 0, 0),
      ...byNumber('settimeofday', 164, 170, 0, 0),
      ...byNumber('sethostname', 170, 161, 0, 0),
      ...byNumber('swapon', 167, 224, 0, 0),
      ...byNumber('reboot', 169, 142, 0, 0, 0, 0),
      ...byNumber('syslog', 103, 116, 3, 0, 0),
    ],
  },
  {
    name: 'files by handles',
    says: /by handles/u,
    rows: [...byNumber('open_by_handle_at', 304, 265, 0, 0, 0), ...byNumber('fanotify_init', 300, 262, 0, 0)],
  },
  {
    name: 'keyrings and memory by system calls',
    says: /keyrings|place memory/u,
    // Libraries try them and do without, so what is printed has to say the error.
    rows: [
      ...byNumber('keyctl', 250, 219, 0, -3, 0, 0, 0),
      ...byNumber('add_key', 248, 217, 0, 0, 0, 0, -3),
      ...byNumber('userfaultfd', 323, 282, 0),
      ...byNumber('move_pages', 279, 239, 0, 0, 0, 0, 0, 0),
    ].filter(([program]) => !program.endsWith('a number')),
  },
  {
    name: 'raw sockets',
    says: /raw sockets/u,
    rows: [
      ...socket('raw', 'socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP'),
      ...socket('raw 6', 'socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6'),
      ...socket('packet', 'socket.AF_PACKET, socket.SOCK_RAW, 0'),
      ...byNumber('raw socket', 41, 198, 2, 3, 1),
    ],
  },
  {
    name: 'sockets of other families',
    says: /sockets of the internet and unix sockets alone|are streams/u,
    rows: [
      ...socket('vsock', 'socket.AF_VSOCK, socket.SOCK_STREAM'),
      ...socket('can', 'socket.AF_CAN, socket.SOCK_RAW, 1'),
      ...socket('unix datagram', 'socket.AF_UNIX, socket.SOCK_DGRAM'),
    ],
  },
  {
    name: 'devices by system calls',
    says: /devices/u,
    rows: [
      ['c block', C('mknod("n", 060600, 0x700) < 0 ? (perror("n"), exit(1)) : 0;', 'stdio unistd stdlib sys/stat'), 'gcc'],
      ['perl', perl(`my $n = "n"; syscall(${isX64 ? '133, $n, 020600, 259' : '33, -100, $n, 020600, 259'}) >= 0 or die "it: $!"`), 'perl'],
    ],
  },
  { name: 'set-user and set-group bits', says: /rights of its owner or group/u, rows: SET_ID },
  {
    name: 'devices',
    says: /devices/u,
    rows: [
      ['mknod c', 'mknod a c 1 3'],
      ['mknod b', 'mknod a b 7 0'],
      ['mknod -m', 'mknod -m 600 a c 1 3'],
      ['python', python('import os, stat; os.mknod("a", 0o600 | stat.S_IFCHR, os.makedev(1, 3))'), 'python3'],
      ['cp -a', 'cp -a /dev/null a'],
      ['c', C('mknod("n", 020600, 0x103) < 0 ? (perror("mknod"), exit(1)) : 0;', 'stdio unistd stdlib sys/stat'), 'gcc'],
    ],
  },
  {
    name: 'mounts',
    says: /cannot mount/u,
    rows: [
      ['mount tmpfs', 'mkdir d; mount -t tmpfs none d'],
      ['mount --bind', 'mkdir d e; mount --bind d e'],
      ['mount -o remount', 'mount -o remount,rw /'],
      ['umount', 'umount /proc'],
      ['umount -l', 'umount -l /tmp'],
      ['losetup', 'truncate -s 1M a; losetup -f a', 'losetup'],
      [
        'python',
        python(
          'import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\nif c.mount(b"none", b"/mnt", b"tmpfs", 0, None): raise OSError(ctypes.get_errno(), "mount: " + os.strerror(ctypes.get_errno()))',
        ),
        'python3',
      ],
      ['c', C('mount("none", "/mnt", "tmpfs", 0, 0) < 0 ? (perror("mount"), exit(1)) : 0;', 'stdio unistd stdlib sys/mount'), 'gcc'],
    ],
  },
  {
    name: 'namespaces',
    says: /cannot make namespaces/u,
    rows: [
      ['unshare -m', 'unshare -m true'],
      ['unshare -r', 'unshare -r true'],
      ['unshare -n', 'unshare -n true'],
      ['nsenter', 'nsenter -t 1 -m true'],
      [
        'python',
        python(
          'import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\nif c.unshare(0x20000): raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))',
        ),
        'python3',
      ],
    ],
  },
  {
    name: 'rights over the system',
    says: /rights over the system|root directory|measure/u,
    rows: [
      ['chroot', 'chroot / true'],
      ['dmesg', 'dmesg'],
      ['sysctl', 'sysctl -w kernel.hostname=x'],
      ['hostname', 'hostname everyday', 'hostname'],
      ['perf', 'perf stat true', 'perf'],
      ['setcap', 'touch a; setcap cap_net_raw+ep a', 'setcap'],
      ['chattr', 'touch a; chattr +i a', 'chattr'],
      ['date', 'date -s 2020-01-01'],
      ['modprobe', 'modprobe x', 'modprobe'],
    ],
  },
  {
    name: 'tracing what is no process of the command',
    says: /trace/u,
    rows: [
      ['strace -p', 'strace -p 1', 'strace'],
      ['gdb -p', 'gdb -batch -p 1 && exit 1', 'gdb'],
    ],
  },
  {
    name: 'processes outside',
    says: /processes? of (?:their|its) own|own processes/u,
    rows: [
      ['kill', 'kill VICTIM'],
      ['kill -9', '/bin/kill -9 VICTIM'],
      ['kill -0', 'kill -0 VICTIM'],
      ['bash kill', "bash -c 'kill VICTIM'", 'bash'],
      ['python', python('import os; os.kill(VICTIM, 15)'), 'python3'],
      ['node', node('process.kill(VICTIM)')],
      ['ruby', ruby('Process.kill("TERM", VICTIM)'), 'ruby'],
      ['perl', perl('kill("TERM", VICTIM) or die "kill VICTIM: $!"'), 'perl'],
      ['php', php('posix_kill(VICTIM, 15) || exit(print(posix_strerror(posix_get_last_error())));'), 'php'],
      ['renice', 'renice 5 -p VICTIM'],
      ['gdb', 'strace -p VICTIM', 'strace'],
    ],
  },
  {
    name: 'priorities that the host could raise',
    says: /run before others/u,
    isRefused: hostHas(23),
    rows: [
      ['renice', 'renice -5 -p $$'],
      ['nice', 'nice -n -5 false'],
      ['chrt', 'chrt -f 1 true', 'chrt'],
      ['chrt -r', 'chrt -r 9 true', 'chrt'],
      ['ionice', 'ionice -c 1 true', 'ionice'],
      ['python', python('import os; os.setpriority(os.PRIO_PROCESS, 0, -3)'), 'python3'],
      ['python scheduler', python('import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))'), 'python3'],
      ['node', node('os.setPriority(0, -3)')],
    ],
  },
  {
    name: 'limits that the host could raise',
    says: /lower their limits and not raise/u,
    isRefused: hostHas(24),
    rows: [
      ['sh', 'ulimit -n 10000000'],
      ['bash', "bash -c 'ulimit -n 10000000' || exit 1", 'bash'],
      ['prlimit', 'prlimit --nofile=10000000:10000000 true', 'prlimit'],
      ['python', python('import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10_000_000, 10_000_000))'), 'python3'],
    ],
  },
  {
    name: 'editors',
    says: /--no-edit.*GIT_EDITOR|commands_have_no_editor/u,
    // The program that is the editor says it.
    isPrinted: true,
    rows: [
      ['git commit', 'git init -q; git -c user.name=a -c user.email=a@b commit --allow-empty', 'git'],
      [
        'git commit --amend',
        'git init -q; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git commit -q --allow-empty -m a; git commit --allow-empty --amend',
        'git',
      ],
      [
        'git rebase -i',
        'git init -q; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; for n in 1 2; do git commit -q --allow-empty -m $n; done; git rebase -i HEAD~1',
        'git',
      ],
      [
        'git tag -a',
        'git init -q; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git commit -q --allow-empty -m a; git tag -a v1',
        'git',
      ],
      ['$EDITOR', '$EDITOR a'],
    ],
  },
]
