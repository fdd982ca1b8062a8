// Calls on unix sockets. Each line of output is a name and a result: 0, or the negative number of an error.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static socklen_t fill(struct sockaddr_un *address, const char *name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(name);
    if (length >= sizeof address->sun_path) length = sizeof address->sun_path - 1;
    memcpy(address->sun_path, name, length);
    if (*name == '@') {
        address->sun_path[0] = 0;
        return offsetof(struct sockaddr_un, sun_path) + length;
    }
    return offsetof(struct sockaddr_un, sun_path) + length + 1;
}

static int type_of(const char *name) {
    return !strcmp(name, "seqpacket") ? SOCK_SEQPACKET : !strcmp(name, "dgram") ? SOCK_DGRAM
         : !strcmp(name, "raw") ? SOCK_RAW : SOCK_STREAM;
}

static void say(const char *name, int result) {
    printf("%s %d\n", name, result < 0 ? -errno : 0);
    fflush(stdout);
}

static int make(const char *type, const char *name, int backlog) {
    struct sockaddr_un address;
    int socket_ = socket(AF_UNIX, type_of(type), 0);
    socklen_t length = fill(&address, name);
    if (socket_ < 0 || bind(socket_, (void *)&address, length) || listen(socket_, backlog)) return -1;
    return socket_;
}

// A server that says who it is and who connects. It ends with the command.
static void serve(const char *type, const char *name) {
    int listener = make(type, name, 100);
    say("listen", listener);
    if (listener < 0 || fork()) return;
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    dup2(nothing, 2);
    for (;;) {
        int client = accept(listener, 0, 0);
        struct ucred who = {0};
        socklen_t size = sizeof who;
        getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size);
        char text[64];
        int length = snprintf(text, 64, "own %d %d", who.uid, who.gid);
        write(client, text, length);
        close(client);
    }
}

static void reach(int client, const char *name) {
    struct sockaddr_un address;
    socklen_t length = fill(&address, name);
    int result = connect(client, (void *)&address, length);
    if (result) return say("connect", result);
    struct ucred who = {0};
    socklen_t size = sizeof who;
    getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size);
    char text[65] = "";
    int got = read(client, text, 64);
    if (got >= 0) text[got] = 0;
    printf("connect 0\n%s\nserver %d %d\n", text, who.uid, who.gid);
    fflush(stdout);
}

static void connect_to(const char *type, const char *name) {
    int client = socket(AF_UNIX, type_of(type), 0);
    if (client < 0) return say("socket", client);
    reach(client, name);
    close(client);
}

static void backlog(const char *name) {
    int listener = make("stream", name, 0), filled = 0;
    struct sockaddr_un address;
    socklen_t length = fill(&address, name);
    for (int i = 0; i < 3; i++) {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        filled = connect(client, (void *)&address, length);
        if (filled) break;
    }
    say("full", filled);
    int limited = socket(AF_UNIX, SOCK_STREAM, 0);
    struct timeval limit = {0, 100000}, after, from, to;
    setsockopt(limited, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    gettimeofday(&from, 0);
    int late = connect(limited, (void *)&address, length);
    say("late", late);
    gettimeofday(&to, 0);
    long waited = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_usec - from.tv_usec) / 1000;
    printf("waited %d\n", waited >= 90 && waited < 2000);
    socklen_t size = sizeof after;
    getsockopt(limited, SOL_SOCKET, SO_SNDTIMEO, &after, &size);
    printf("limit %ld\n", (long)after.tv_usec / 10000);
    pid_t waiter = fork();
    if (!waiter) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        say("waiter", connect(client, (void *)&address, length));
        _exit(0);
    }
    usleep(100000);
    printf("waits %d\n", waitpid(waiter, 0, WNOHANG) == 0);
    fflush(stdout);
    for (int i = 0; i < 4; i++) {
        struct pollfd ready = {listener, POLLIN, 0};
        if (poll(&ready, 1, 300) == 1) close(accept(listener, 0, 0));
    }
    waitpid(waiter, 0, 0);
}

// Races. Whoever is reached says it: the own server is this process.
static volatile int over;
static struct sockaddr_un shared, own, foreign;
static char *own_name, *foreign_name;
static int slot, one, two, own_listener, count;

static void count_hit(int client) {
    struct sockaddr_un peer = {0};
    socklen_t length = sizeof peer;
    getpeername(client, (void *)&peer, &length);
    int ours = own_listener >= 0 ? accept4(own_listener, 0, 0, SOCK_NONBLOCK) : -1;
    if (ours < 0) printf("FOREIGN %s\n", peer.sun_path);
    close(ours);
}

static void *exchange(void *none) {
    while (!over) syscall(SYS_renameat2, AT_FDCWD, own_name, AT_FDCWD, foreign_name, 2);
    return 0;
}

static void *flip(void *none) {
    for (int round = 0; !over; round++) {
        unlink("flip.new");
        symlink(round & 1 ? own_name : foreign_name, "flip.new");
        rename("flip.new", "flip");
    }
    return 0;
}

static void *link_over(void *none) {
    for (int round = 0; !over; round++) {
        unlink("linked.new");
        link(round & 1 ? own_name : foreign_name, "linked.new");
        rename("linked.new", "linked");
    }
    return 0;
}

static void *directories(void *none) {
    while (!over) syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, "theirs", 2);
    return 0;
}

static void *rewrite(void *none) {
    while (!over) {
        memcpy(&shared, &own, sizeof own);
        __asm__ volatile("" ::: "memory");
        for (volatile int i = 0; i < 200; i++);
        memcpy(&shared, &foreign, sizeof own);
        __asm__ volatile("" ::: "memory");
        for (volatile int i = 0; i < 200; i++);
    }
    return 0;
}

static void *replace(void *none) {
    while (!over) {
        dup2(one, slot);
        for (volatile int i = 0; i < 200; i++);
        dup2(two, slot);
        for (volatile int i = 0; i < 200; i++);
    }
    return 0;
}

static void *rebind(void *none) {
    // The own socket comes and goes, and the other one has its name meanwhile.
    while (!over) {
        unlink("rebound");
        int listener = make("stream", "rebound", 50);
        close(listener);
        rename("rebound", "gone");
        link(foreign_name, "rebound");
    }
    return 0;
}

static void race(const char *what, const char *own_path, const char *foreign_path) {
    own_name = strdup(own_path);
    foreign_name = strdup(foreign_path);
    own_listener = make("stream", own_name, 4000);
    if (own_listener < 0) return say("listen", -1);
    fcntl(own_listener, F_SETFL, O_NONBLOCK);
    fill(&own, own_name);
    fill(&foreign, foreign_name);
    shared = own;
    void *(*swap)(void *) = rewrite;
    const char *target = own_name;
    if (!strcmp(what, "exchange")) swap = exchange;
    if (!strcmp(what, "symlink")) swap = flip, target = "flip";
    if (!strcmp(what, "link")) swap = link_over, target = "linked";
    if (!strcmp(what, "directories")) swap = directories, target = "mine/s";
    if (!strcmp(what, "rebind")) swap = rebind, target = "rebound", own_listener = -1;
    int tcp = !strcmp(what, "family");
    int descriptors = tcp || !strcmp(what, "descriptor");
    if (descriptors) {
        swap = replace;
        one = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
        two = open("/dev/null", O_RDWR);
        slot = dup(one);
    }
    if (!strcmp(what, "memory")) target = 0;
    pthread_t thread;
    pthread_create(&thread, 0, swap, 0);
    int reached = 0, refused = 0, other = 0;
    struct sockaddr_un address;
    socklen_t length = target ? fill(&address, target) : sizeof own;
    // On a busy machine the other thread may not have had its turn.
    for (int i = 0; i < count || (!(reached && refused) && i < 20 * count); i++) {
        if (i >= count) usleep(100);
        int client = descriptors ? slot : socket(AF_UNIX, SOCK_STREAM, 0);
        if (descriptors) {
            int fresh = socket(AF_UNIX, SOCK_STREAM, 0);
            dup2(fresh, two);
            close(fresh);
            if (connect(client, (void *)(i & 1 ? &own : &foreign), sizeof own) == 0) {
                reached++;
                int ours = accept4(own_listener, 0, 0, SOCK_NONBLOCK);
                close(ours);
            } else if (errno == EACCES) refused++;
            else other++;
            continue;
        }
        if (connect(client, target ? (void *)&address : (void *)&shared, length) == 0) {
            reached++;
            if (own_listener >= 0) count_hit(client);
        } else if (errno == EACCES) refused++;
        else other++;
        close(client);
    }
    over = 1;
    pthread_join(thread, 0);
    printf("race %d %d %d\n", reached, refused, other);
}

static void undumpable(const char *name) {
    prctl(PR_SET_DUMPABLE, 0);
    connect_to("stream", name);
}

static void another_user(const char *what, const char *name, const char *user) {
    int id = atoi(user);
    setgroups(0, 0);
    if (setgid(id) || setuid(id)) return say("setuid", -1);
    if (!strcmp(what, "serve")) serve("stream", name);
    else connect_to("stream", name);
}

// A descriptor of the file, as a path.
static void by_descriptor(const char *name, const char *form) {
    char path[64];
    int file = open(name, O_PATH);
    if (file < 0) return say("open", -1);
    snprintf(path, 64, form, file);
    connect_to("stream", path);
}

// Another process sends its socket, which is then connected here.
static void passed(const char *name) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    if (!fork()) {
        int made = socket(AF_UNIX, SOCK_STREAM, 0);
        struct iovec byte = {"x", 1};
        char space[CMSG_SPACE(4)] = {0};
        struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(4);
        memcpy(CMSG_DATA(header), &made, 4);
        sendmsg(pair[1], &message, 0);
        _exit(0);
    }
    char byte_, space[CMSG_SPACE(4)] = {0};
    struct iovec byte = {&byte_, 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    recvmsg(pair[0], &message, 0);
    int client;
    memcpy(&client, CMSG_DATA(CMSG_FIRSTHDR(&message)), 4);
    reach(client, name);
}

// A child makes nothing of its own: it connects what its parent has made.
static void forked(const char *name) {
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (!fork()) {
        reach(client, name);
        _exit(0);
    }
    wait(0);
}

static char *unshared_name;

static void *in_a_thread(void *none) {
    if (unshare(CLONE_FILES | CLONE_FS)) say("unshare", -1);
    connect_to("stream", unshared_name);
    return 0;
}

static void unshared(char *name) {
    pthread_t thread;
    unshared_name = name;
    pthread_create(&thread, 0, in_a_thread, 0);
    pthread_join(thread, 0);
}

// A filter of its own for connecting.
static int filter(unsigned action, unsigned flags) {
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, lines};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void filtered(const char *what, const char *name) {
    unsigned action = !strcmp(what, "allow") ? SECCOMP_RET_ALLOW : !strcmp(what, "log") ? SECCOMP_RET_LOG
                    : !strcmp(what, "trace") ? SECCOMP_RET_TRACE | 7 : SECCOMP_RET_USER_NOTIF;
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        unsigned flags = !strcmp(what, "listener") ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
        if (!strcmp(what, "trace")) raise(SIGSTOP);
        say("filter", filter(action, flags));
        connect_to("stream", name);
        _exit(0);
    }
    int status;
    if (!strcmp(what, "trace")) {
        waitpid(child, &status, WUNTRACED);
        ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESECCOMP);
        kill(child, SIGCONT);
    }
    while (waitpid(child, &status, __WALL) > 0 && WIFSTOPPED(status)) {
        int ours = status >> 16 || WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGCONT;
        ptrace(PTRACE_CONT, child, 0, ours ? 0 : WSTOPSIG(status));
    }
}

// Sends with an address, on a socket that is not connected and on one that is.
static void sends(const char *own_path, const char *name) {
    struct sockaddr_un address;
    socklen_t length = fill(&address, name);
    const char *types[] = {"stream", "seqpacket"};
    for (int i = 0; i < 2; i++) {
        int client = socket(AF_UNIX, type_of(types[i]), 0);
        say("sendto", sendto(client, "LEAK", 4, MSG_NOSIGNAL, (void *)&address, length));
        struct iovec part = {"LEAK", 4};
        struct msghdr message = {.msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
        say("sendmsg", sendmsg(client, &message, MSG_NOSIGNAL));
        int pair[2];
        socketpair(AF_UNIX, type_of(types[i]), 0, pair);
        sendto(pair[0], "LEAK", 4, MSG_NOSIGNAL, (void *)&address, length);
        sendmsg(pair[0], &message, MSG_NOSIGNAL);
    }
}

static void modes_race(int rounds) {
    mkdir("d", 0755);
    one = open("d", O_RDONLY | O_DIRECTORY);
    two = open("f", O_CREAT | O_RDWR, 0755);
    slot = dup(one);
    pthread_t thread;
    pthread_create(&thread, 0, replace, 0);
    int changed = 0, refused = 0, made = 0;
    for (int i = 0; i < rounds; i++) {
        if (fchmod(slot, 02755) == 0) changed++;
        else refused++;
        struct stat stat;
        fstat(two, &stat);
        made += !!(stat.st_mode & 02000);
        fchmod(one, 0755);
    }
    over = 1;
    pthread_join(thread, 0);
    printf("fchmod %d %d %d\n", changed, refused, made);
}

static void *rename_over(void *none) {
    while (!over) syscall(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "f", 2);
    return 0;
}

static void names_race(int rounds) {
    mkdir("d", 0755);
    two = open("f", O_CREAT | O_RDWR, 0755);
    pthread_t thread;
    pthread_create(&thread, 0, rename_over, 0);
    int changed = 0, refused = 0, made = 0;
    for (int i = 0; i < rounds; i++) {
        if (syscall(SYS_chmod, "d", 02755) == 0) changed++;
        else refused++;
        struct stat stat;
        fstat(two, &stat);
        made += !!(stat.st_mode & 02000);
    }
    over = 1;
    pthread_join(thread, 0);
    printf("chmod %d %d %d\n", changed, refused, made);
}

static void *mode_links(void *hard) {
    for (int round = 0; !over; round++) {
        unlink("l.new");
        if (hard && round & 1) link("f", "l.new");
        else symlink(round & 1 ? "f" : "d", "l.new");
        rename("l.new", "l");
    }
    return 0;
}

static void mode_links_race(int rounds, int hard) {
    mkdir("d", 0755);
    two = open("f", O_CREAT | O_RDWR, 0755);
    symlink("d", "l");
    pthread_t thread;
    pthread_create(&thread, 0, mode_links, hard ? "" : 0);
    for (int i = 0; i < rounds; i++) {
        syscall(SYS_chmod, "l", 02755);
        syscall(SYS_fchmodat, AT_FDCWD, "l", 02755);
        struct stat stat;
        fstat(two, &stat);
        if (stat.st_mode & 02000) printf("EFFECT\n");
    }
    over = 1;
    pthread_join(thread, 0);
}

int main(int length, char **word) {
    setvbuf(stdout, 0, _IOLBF, 0);
    const char *what = word[1];
    if (getenv("COUNT")) count = atoi(getenv("COUNT"));
    if (!strcmp(what, "serve")) serve(word[2], word[3]);
    if (!strcmp(what, "connect")) connect_to(word[2], word[3]);
    if (!strcmp(what, "backlog")) backlog(word[2]);
    if (!strcmp(what, "undumpable")) undumpable(word[2]);
    if (!strcmp(what, "as")) another_user(word[2], word[3], word[4]);
    if (!strcmp(what, "descriptor")) by_descriptor(word[2], word[3]);
    if (!strcmp(what, "forked")) forked(word[2]);
    if (!strcmp(what, "unshared")) unshared(word[2]);
    if (!strcmp(what, "filtered")) filtered(word[2], word[3]);
    if (!strcmp(what, "mode-links")) mode_links_race(count, 0);
    if (!strcmp(what, "mode-hard-links")) mode_links_race(count, 1);
    if (!strcmp(what, "passed")) passed(word[2]);
    if (!strcmp(what, "sends")) sends(word[2], word[3]);
    if (!strcmp(what, "race")) race(word[2], word[3], word[4]);
    if (!strcmp(what, "modes")) modes_race(count);
    if (!strcmp(what, "names")) names_race(count);
    if (!strcmp(what, "make")) say("socket", socket(AF_UNIX, type_of(word[2]), 0));
    if (!strcmp(what, "pair")) {
        int pair[2];
        say("pair", socketpair(AF_UNIX, type_of(word[2]), 0, pair));
    }
    return 0;
}
