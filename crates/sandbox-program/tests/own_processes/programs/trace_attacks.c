// Each attack says `tried`, and `EFFECT` if it has one.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO(name, call)                                                  \
    do {                                                                \
        errno = 0;                                                      \
        if ((long)(call) >= 0) printf("EFFECT %s\n", name);             \
        printf("tried %s %s\n", name, strerror(errno));                 \
        fflush(stdout);                                                 \
    } while (0)

static char bytes[4096];

static void to(pid_t target, const char *what) {
    struct iovec ours = {bytes, 8}, theirs = {(void *)0x400000, 8};
    int all = !strcmp(what, "all");
    int pidfd = syscall(SYS_pidfd_open, target, 0);
    char path[64];
    if (all || !strcmp(what, "attach")) NO("attach", ptrace(PTRACE_ATTACH, target, 0, 0));
    if (all || !strcmp(what, "seize")) NO("seize", ptrace(PTRACE_SEIZE, target, 0, PTRACE_O_EXITKILL));
    if (all || !strcmp(what, "read")) NO("read", process_vm_readv(target, &ours, 1, &theirs, 1, 0));
    if (all || !strcmp(what, "write")) NO("write", process_vm_writev(target, &ours, 1, &theirs, 1, 0));
    if (all || !strcmp(what, "mem")) {
        snprintf(path, 64, "/proc/%d/mem", target);
        NO("mem", open(path, O_RDWR));
        NO("mem-read", open(path, O_RDONLY));
    }
    if (all || !strcmp(what, "maps")) {
        const char *files[] = {"maps", "smaps", "environ", "auxv", "pagemap", "root", "cwd", "exe", "fd", "syscall", "stack"};
        for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
            snprintf(path, 64, "/proc/%d/%s", target, files[i]);
            int file = open(path, O_RDONLY | O_NONBLOCK);
            NO(files[i], file < 0 ? -1 : read(file, bytes, 64) - 1);
        }
    }
    if (all || !strcmp(what, "getfd")) {
        for (int number = 0; number < 12; number++) NO("getfd", syscall(438, pidfd, number, 0));
    }
    if (all || !strcmp(what, "kcmp")) NO("kcmp", syscall(SYS_kcmp, getpid(), target, 0, 0, 0));
    if (all || !strcmp(what, "limits")) {
        struct rlimit limit = {0, 0};
        NO("prlimit", prlimit(target, RLIMIT_NOFILE, &limit, 0));
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(0, &set);
        NO("affinity", sched_setaffinity(target, sizeof set, &set));
        NO("priority", setpriority(PRIO_PROCESS, target, 19));
        struct sched_param low = {0};
        NO("scheduler", sched_setscheduler(target, SCHED_IDLE, &low));
        NO("turns", syscall(SYS_ioprio_set, 1, target, 3 << 13));
    }
    if (!strcmp(what, "signals")) {
        int numbers[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTERM, SIGSEGV, SIGCHLD, SIGRTMIN};
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            kill(target, numbers[i]);
            syscall(SYS_tgkill, target, target, numbers[i]);
            syscall(424, pidfd, numbers[i], 0, 0);
        }
        // It is the first process: it gets none of them. That the command goes on is the proof.
        puts("tried signals");
    }
    if (all || !strcmp(what, "setns")) {
        int kinds[] = {CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWUSER, CLONE_NEWIPC};
        for (unsigned i = 0; i < 5; i++) NO("setns", setns(pidfd, kinds[i]));
        snprintf(path, 64, "/proc/%d/ns/mnt", target);
        NO("ns", setns(open(path, O_RDONLY), 0));
    }
    if (all || !strcmp(what, "madvise")) {
        NO("madvise", syscall(440, pidfd, &theirs, 1, MADV_PAGEOUT, 0));
        NO("mrelease", syscall(448, pidfd, 0));
    }
    if (all || !strcmp(what, "pages")) {
        void *page = (void *)0x400000;
        int node = 0, status;
        NO("pages", syscall(SYS_move_pages, target, 1L, &page, &node, &status, 0));
        unsigned long from = 1, onto = 1;
        NO("migrate", syscall(SYS_migrate_pages, target, 8L, &from, &onto));
    }
}

static void threads(const char *what) {
    DIR *all = opendir("/proc/1/task");
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (atoi(entry->d_name) > 1) to(atoi(entry->d_name), what);
    puts("tried");
}

// The parent of a process whose parent has ended is the worker, which is asked to trace and to be traced.
static void has_the_worker_trace(void) {
    if (!fork()) {
        if (!fork()) {
            while (getppid() != 1) usleep(1000);
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            raise(SIGUSR1 + 0 * getpid());
            _exit(0);
        }
        _exit(0);
    }
    wait(0);
    usleep(100000);
    puts("tried");
}

static void others(void) {
    DIR *all = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(all));) {
        int target = atoi(entry->d_name);
        if (target <= 1) continue;
        char path[64];
        snprintf(path, 64, "/proc/%d/cmdline", target);
        int file = open(path, O_RDONLY);
        memset(bytes, 0, 64);
        if (file >= 0 && read(file, bytes, 63) > 0 && !strcmp(bytes, "sleep")) printf("EFFECT sees %d\n", target);
    }
    // Their numbers are of another namespace.
    for (int target = 2; target < 400; target++)
        if (kill(target, 0) == 0 && getpgid(target) != getpgid(0) && getsid(target) != getsid(0) && getsid(target) != 0)
            printf("EFFECT reaches %d\n", target);
    puts("tried");
}

static void set_user(void) {
    const char *programs[] = {"/bin/su", "/usr/bin/passwd", "/usr/bin/chage", "/usr/bin/newgrp"};
    for (int i = 0; i < 4; i++) {
        struct stat stat_;
        if (stat(programs[i], &stat_)) continue;
        pid_t child = fork();
        if (!child) {
            int nothing = open("/dev/null", O_RDWR);
            dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
            if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(9);
            execl(programs[i], programs[i], "--help", NULL);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        if (WIFSTOPPED(status)) {
            char path[64], text[4096];
            snprintf(path, 64, "/proc/%d/status", child);
            int got = read(open(path, O_RDONLY), text, 4095), uid = -1, euid = -1, gid = -1, egid = -1;
            text[got < 0 ? 0 : got] = 0;
            char *at = strstr(text, "Uid:");
            if (at) sscanf(at, "Uid: %d %d", &uid, &euid);
            at = strstr(text, "Gid:");
            if (at) sscanf(at, "Gid: %d %d", &gid, &egid);
            if (uid != euid || gid != egid) printf("EFFECT %s runs as %d %d\n", programs[i], euid, egid);
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        }
    }
    puts("tried");
}

static void suspends(void) {
    pid_t child = fork();
    if (!child) for (;;) pause();
    int status;
    NO("seize", ptrace(PTRACE_SEIZE, child, 0, 1 << 21));
    ptrace(PTRACE_SEIZE, child, 0, 0);
    ptrace(PTRACE_INTERRUPT, child, 0, 0);
    waitpid(child, &status, __WALL);
    NO("options", ptrace(PTRACE_SETOPTIONS, child, 0, 1 << 21));
    NO("filter", ptrace(0x420c, child, 0, 0));
    NO("metadata", ptrace(0x420d, child, 16, bytes));
    kill(child, SIGKILL);
}

// A tracee that waits for the broker: its server takes no more connections, so that the call lasts.
static struct sockaddr_un own = {.sun_family = AF_UNIX}, foreign = {.sun_family = AF_UNIX};

static void waiting(const char *what, const char *host) {
    strcpy(own.sun_path, "/tmp/full");
    strcpy(foreign.sun_path, host);
    unlink(own.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (void *)&own, sizeof own);
    listen(listener, 0);
    for (int i = 0; i < 4; i++) {
        int filler = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(filler, (void *)&own, sizeof own)) break;
    }
    fcntl(listener, F_SETFL, O_NONBLOCK);
    struct sockaddr_un *address = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *address = own;
    pid_t child = fork();
    if (!child) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        dup2(client, 50);
        int result = connect(50, (void *)address, sizeof *address);
        struct sockaddr_un peer = {0};
        socklen_t length = sizeof peer;
        if (!result && !getpeername(50, (void *)&peer, &length) && strcmp(peer.sun_path, own.sun_path))
            printf("EFFECT connected to %s\n", peer.sun_path);
        _exit(0);
    }
    usleep(100000);
    int status;
    if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD)) printf("not traced\n");
    ptrace(PTRACE_INTERRUPT, child, 0, 0);
    usleep(50000);
    int is_stopped = waitpid(child, &status, __WALL | WNOHANG) == child;
    if (!strcmp(what, "memory")) {
        struct iovec ours = {&foreign, sizeof foreign}, theirs = {address, sizeof foreign};
        printf("written %zd\n", process_vm_writev(child, &ours, 1, &theirs, 1, 0));
    }
    if (!strcmp(what, "registers")) {
        // Its own copy of the other address.
        struct iovec ours = {&foreign, sizeof foreign}, theirs = {(char *)address + 2048, sizeof foreign};
        process_vm_writev(child, &ours, 1, &theirs, 1, 0);
#ifdef __x86_64__
        struct user_regs_struct registers;
        if (is_stopped && !ptrace(PTRACE_GETREGS, child, 0, &registers)) {
            registers.rsi = (long)address + 2048;
            ptrace(PTRACE_SETREGS, child, 0, &registers);
        }
#endif
    }
    if (!strcmp(what, "descriptor")) NO("getfd", syscall(438, syscall(SYS_pidfd_open, child, 0), 50, 0));
    if (!strcmp(what, "killed")) {
        kill(child, SIGKILL);
        waitpid(child, &status, __WALL);
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        NO("connect", connect(client, (void *)&foreign, sizeof foreign));
        return;
    }
    if (is_stopped) ptrace(PTRACE_CONT, child, 0, 0);
    // Now there is room.
    for (int i = 0; i < 6; i++) {
        int taken = accept4(listener, 0, 0, SOCK_NONBLOCK);
        if (taken < 0) usleep(20000);
    }
    for (int i = 0; i < 100; i++) {
        int ended = waitpid(child, &status, __WALL | WNOHANG);
        if (ended == child && !WIFSTOPPED(status)) break;
        if (ended == child) ptrace(PTRACE_CONT, child, 0, 0);
        close(accept4(listener, 0, 0, SOCK_NONBLOCK));
        usleep(10000);
    }
    kill(child, SIGKILL);
    puts("tried");
}

int main(int count, char **word) {
    setvbuf(stdout, 0, _IOLBF, 0);
    const char *what = word[1];
    if (!strcmp(what, "to-worker") && !strncmp(word[2], "thread-", 7)) threads(word[2] + 7);
    else if (!strcmp(what, "to-worker") && !strcmp(word[2], "traceme")) has_the_worker_trace();
    else if (!strcmp(what, "to-worker")) to(1, word[2]);
    // A number of the host is nobody's here, or that of an own process.
    if (!strcmp(what, "to") && kill(atoi(word[2]), 0)) to(atoi(word[2]), "all");
    if (!strcmp(what, "to")) puts("tried");
    if (!strcmp(what, "to-others")) others();
    if (!strcmp(what, "set-user")) set_user();
    if (!strcmp(what, "suspends")) suspends();
    if (!strcmp(what, "waiting")) waiting(word[2], word[3]);
    return 0;
}
