// Calls that give modes. Whatever gets a bit that lends rights is found afterwards.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static const int MODES[] = {02755, 02640, 02777, 04755, 06755};

struct entry { uint16_t tag, bits; uint32_t id; } __attribute__((packed));
struct list { uint32_t version; struct entry entries[3]; } __attribute__((packed));

static struct list list(int user, int group, int others) {
    return (struct list){2, {{1, user, -1}, {4, group, -1}, {0x20, others, -1}}};
}

static void try(const char *call, int mode, int number) {
    char name[32];
    snprintf(name, 32, "new-%s-%o-%d", call, mode, number);
    int file = open("f", O_RDWR), path = open("f", O_PATH);
    if (!strcmp(call, "open")) open(name, O_CREAT | O_WRONLY, mode);
    if (!strcmp(call, "openat")) openat(AT_FDCWD, name, O_CREAT | O_WRONLY | O_EXCL, mode);
    if (!strcmp(call, "creat")) creat(name, mode);
    if (!strcmp(call, "mknod")) mknod(name, S_IFREG | mode, 0);
    if (!strcmp(call, "mknodat")) mknodat(AT_FDCWD, name, S_IFREG | mode, 0);
    if (!strcmp(call, "tmpfile")) {
        int made = open(".", O_TMPFILE | O_RDWR, mode);
        char link[32];
        snprintf(link, 32, "/proc/self/fd/%d", made);
        if (made >= 0) fchmod(made, mode), linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    }
    if (!strcmp(call, "openat2")) {
        uint64_t how[3] = {O_CREAT | O_WRONLY, mode, 0};
        syscall(437, AT_FDCWD, name, how, sizeof how);
    }
    if (!strcmp(call, "fchmod")) fchmod(file, mode);
    if (!strcmp(call, "fchmodat")) syscall(SYS_fchmodat, AT_FDCWD, "f", mode);
    if (!strcmp(call, "fchmodat2")) syscall(452, AT_FDCWD, "f", mode, 0);
    if (!strcmp(call, "fchmodat2-link")) syscall(452, AT_FDCWD, "f", mode, AT_SYMLINK_NOFOLLOW), syscall(452, AT_FDCWD, "l", mode, 0);
    if (!strcmp(call, "fchmodat2-empty")) syscall(452, file, "", mode, AT_EMPTY_PATH), syscall(452, path, "", mode, AT_EMPTY_PATH);
    if (!strcmp(call, "fchmod-path")) {
        char link[32];
        snprintf(link, 32, "/proc/self/fd/%d", path);
        fchmod(path, mode), chmod(link, mode);
    }
    if (!strcmp(call, "wide")) {
        for (int bit = 16; bit < 40; bit += 4) {
            syscall(SYS_fchmod, file, (1L << bit) | mode);
            syscall(SYS_fchmodat, AT_FDCWD, "f", (1L << bit) | mode);
            syscall(452, AT_FDCWD, "f", (1L << bit) | mode, 0);
        }
    }
    if (!strcmp(call, "acl")) {
        fchmod(file, mode);
        struct list access = list(7, 5, 5);
        fsetxattr(file, "system.posix_acl_access", &access, sizeof access, 0);
    }
    if (!strcmp(call, "default-acl")) {
        struct list access = list(7, 7, 5);
        setxattr("d", "system.posix_acl_default", &access, sizeof access, 0);
    }
    if (!strcmp(call, "capability")) {
        uint32_t value[6] = {0x03000001, -1, 0, -1, 0, 0};
        if (!setxattr("f", "security.capability", value, 24, 0)) puts("the kernel takes capabilities of this namespace alone");
    }
    close(file);
    close(path);
}

int main(int count, char **word) {
    int number = 0;
    for (int i = 1; i < count; i++)
        for (unsigned mode = 0; mode < sizeof MODES / sizeof *MODES; mode++) try(word[i], MODES[mode], number++);
    puts("tried");
    return 0;
}
