import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Replaces a file for each byte that it reads, by a temporary file and a rename, and prints how long that took. */
const PROGRAM = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
  size_t size = count > 3 ? strtoul(arguments[3], 0, 10) : 0;
  char *text = malloc(size), turn;
  while (read(0, &turn, 1) == 1) {
    struct timespec from, to;
    memset(text, turn, size);
    clock_gettime(CLOCK_MONOTONIC, &from);
    int file = open(arguments[2], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 || write(file, text, size) != (ssize_t)size || close(file) != 0 || rename(arguments[2], arguments[1]) != 0) return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%ld\\n", (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec);
    fflush(stdout);
  }
  return 0;
}
`

/**
 * The least that an atomic write takes: a program in C that does nothing else.
 * @param {string} folder
 * @param {string} file the file that it replaces
 * @param {number} bytes
 * @returns {Promise<() => Promise<number>>} writes once and gives the milliseconds
 */
export async function bareWriter(folder, file, bytes) {
  const [source, program] = [join(folder, 'bare-write.c'), join(folder, 'bare-write')]
  writeFileSync(source, PROGRAM)
  await run('cc', ['-O2', '-o', program, source])
  const child = spawn(program, [file, `${file}.part`, String(bytes)], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.unref()
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let turns = 0
  return async () => {
    child.stdin.write(turns++ % 2 === 0 ? 'a' : 'b')
    const { value, done } = await lines.next()
    if (done) throw new Error('the program has ended')
    return Number(value) / 1e6
  }
}
