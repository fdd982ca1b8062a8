// Tries what a tracer could do. Each line is a name and a result, 0 or the negative number of an error.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRY(name, call)                                      \
    do {                                                     \
        errno = 0;                                           \
        long result = (long)(call);                          \
        printf("%s %ld\n", name, result < 0 ? -errno : 0L);  \
        fflush(stdout);                                      \
    } while (0)

static char secret[16] = "before";

static pid_t sleeper(void) {
    pid_t child = fork();
    if (!child)
        for (;;) {
            syscall(SYS_getppid);
            usleep(2000);
        }
    usleep(20000);
    return child;
}

static void worker(void) {
    char bytes[64];
    struct iovec ours = {bytes, 8}, theirs = {(void *)0x400000, 8};
    TRY("attach", ptrace(PTRACE_ATTACH, 1, 0, 0));
    TRY("seize", ptrace(PTRACE_SEIZE, 1, 0, 0));
    TRY("read", process_vm_readv(1, &ours, 1, &theirs, 1, 0));
    TRY("write", process_vm_writev(1, &ours, 1, &theirs, 1, 0));
    TRY("mem", open("/proc/1/mem", O_RDWR));
    TRY("mem-read", open("/proc/1/mem", O_RDONLY));
    TRY("maps", open("/proc/1/maps", O_RDONLY));
    TRY("root", open("/proc/1/root", O_PATH));
    TRY("fd", readlink("/proc/1/fd/0", bytes, 64));
    TRY("environ", open("/proc/1/environ", O_RDONLY));
    TRY("syscall", read(open("/proc/1/syscall", O_RDONLY), bytes, 64));
    int pidfd = syscall(SYS_pidfd_open, 1, 0);
    TRY("getfd", syscall(438, pidfd, 0, 0));
    for (int thread = 2; thread < 6; thread++) {
        char path[64];
        snprintf(path, 64, "/proc/1/task/%d", thread);
        if (access(path, F_OK)) continue;
        TRY("thread-attach", ptrace(PTRACE_ATTACH, thread, 0, 0));
        TRY("thread-seize", ptrace(PTRACE_SEIZE, thread, 0, 0));
        TRY("thread-read", process_vm_readv(thread, &ours, 1, &theirs, 1, 0));
        snprintf(path, 64, "/proc/%d/mem", thread);
        TRY("thread-mem", open(path, O_RDWR));
        snprintf(path, 64, "/proc/%d/root", thread);
        TRY("thread-root", open(path, O_PATH));
        snprintf(path, 64, "/proc/1/task/%d/cwd", thread);
        TRY("thread-cwd", open(path, O_PATH));
    }
}

static void own(void) {
    pid_t child = sleeper();
    int status;
    TRY("seize", ptrace(PTRACE_SEIZE, child, 0, 0));
    TRY("interrupt", ptrace(PTRACE_INTERRUPT, child, 0, 0));
    waitpid(child, &status, __WALL);
    struct user_regs_struct registers;
    TRY("registers", ptrace(PTRACE_GETREGS, child, 0, &registers));
    TRY("peek", (errno = 0, ptrace(PTRACE_PEEKDATA, child, secret, 0), errno ? -1 : 0));
    char bytes[16] = "after";
    struct iovec ours = {bytes, 8}, theirs = {secret, 8};
    TRY("write", process_vm_writev(child, &ours, 1, &theirs, 1, 0));
    memset(bytes, 0, 16);
    TRY("read", process_vm_readv(child, &ours, 1, &theirs, 1, 0));
    printf("%s\n", bytes);
    TRY("detach", ptrace(PTRACE_DETACH, child, 0, 0));
    kill(child, SIGKILL);
}

// What stays refused, also to a tracer.
static void refused(void) {
    pid_t child = sleeper();
    int status;
    TRY("seize-suspended", ptrace(PTRACE_SEIZE, child, 0, 1 << 21));
    TRY("seize", ptrace(PTRACE_SEIZE, child, 0, 0));
    TRY("interrupt", ptrace(PTRACE_INTERRUPT, child, 0, 0));
    waitpid(child, &status, __WALL);
    TRY("suspend", ptrace(PTRACE_SETOPTIONS, child, 0, 1 << 21));
    TRY("suspend-old", ptrace(21, child, 0, 1 << 21));
    TRY("suspend-wide", ptrace(PTRACE_SETOPTIONS, child, 0, 1L << 40 | 1 << 21));
    TRY("filter", ptrace(0x420c, child, 0, 0));
    TRY("kcmp", syscall(SYS_kcmp, getpid(), child, 0, 0, 0));
    TRY("perf", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
    TRY("bpf", syscall(SYS_bpf, 0, 0, 0));
    TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
    TRY("getfd", syscall(438, syscall(SYS_pidfd_open, child, 0), 0, 0));
    kill(child, SIGKILL);
}

// A tracer changes the number of a call at its entry. The filters run after it.
static void numbers(void) {
    long tries[] = {165, 272, 321, 425, 438, 101 | 0x40000000, 308, 161};
    pid_t child = sleeper();
    int status;
    ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    ptrace(PTRACE_INTERRUPT, child, 0, 0);
    waitpid(child, &status, __WALL);
    for (unsigned i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct user_regs_struct registers;
        for (int round = 0; round < 200; round++) {
            ptrace(PTRACE_SYSCALL, child, 0, 0);
            waitpid(child, &status, __WALL);
            if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
            ptrace(PTRACE_GETREGS, child, 0, &registers);
            if ((long)registers.orig_rax == SYS_getppid && (long)registers.rax == -ENOSYS) break;
        }
        registers.orig_rax = tries[i];
        registers.rdi = tries[i] == 272 ? 0x10000000 : 0;
        registers.rsi = registers.rdx = registers.r10 = 0;
        ptrace(PTRACE_SETREGS, child, 0, &registers);
        ptrace(PTRACE_SYSCALL, child, 0, 0);
        waitpid(child, &status, __WALL);
        ptrace(PTRACE_GETREGS, child, 0, &registers);
        printf("%ld %lld\n", tries[i], (long long)registers.rax);
    }
    // A call of another architecture.
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, child, 0, &registers);
    long word = ptrace(PTRACE_PEEKTEXT, child, (void *)registers.rip, 0);
    ptrace(PTRACE_POKETEXT, child, (void *)registers.rip, (void *)((word & ~0xffffL) | 0x80cd));
    registers.rax = 20;
    registers.orig_rax = -1;
    ptrace(PTRACE_SETREGS, child, 0, &registers);
    ptrace(PTRACE_CONT, child, 0, 0);
    waitpid(child, &status, __WALL);
    printf("i386 %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    kill(child, SIGKILL);
}

// Has the parent trace, which is the worker for the first process and for orphans.
static void traced(void) {
    if (!fork()) {
        if (!fork()) {
            while (getppid() != 1) usleep(1000);
            TRY("orphan", ptrace(PTRACE_TRACEME, 0, 0, 0));
            signal(SIGUSR1, SIG_IGN);
            raise(SIGUSR1);
            raise(SIGWINCH);
            printf("orphan went on\n");
            fflush(stdout);
        }
        _exit(0);
    }
    wait(0);
    usleep(200000);
    TRY("leader", ptrace(PTRACE_TRACEME, 0, 0, 0));
    raise(SIGWINCH);
    printf("leader went on\n");
    fflush(stdout);
    TRY("again", ptrace(PTRACE_TRACEME, 0, 0, 0));
    raise(SIGTRAP);
    printf("leader went on\n");
    fflush(stdout);
    TRY("executes", ptrace(PTRACE_TRACEME, 0, 0, 0));
    execl("/bin/sh", "sh", "-c", "echo executed; exit 7", NULL);
}

int main(int count, char **arguments) {
    setvbuf(stdout, 0, _IOLBF, 0);
    const char *what = arguments[1];
    if (!strcmp(what, "worker")) worker();
    if (!strcmp(what, "own")) own();
    if (!strcmp(what, "refused")) refused();
    if (!strcmp(what, "numbers")) numbers();
    if (!strcmp(what, "traced")) traced();
    return 0;
}
