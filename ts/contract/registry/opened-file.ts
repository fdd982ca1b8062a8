import { lstat, readlink, realpath, type FileHandle } from 'node:fs/promises'

/**
 * The path of an open file, without links. A system that cannot name it is asked for the real path of `path`, which has to
 * be the same file.
 */
export async function pathOfFile(file: FileHandle, path: string): Promise<string | undefined> {
  if (process.platform === 'linux') return readlink(`/proc/self/fd/${file.fd}`)
  const real = await realpath(path)
  const [opened, current] = [await file.stat(), await lstat(real)]
  return opened.ino === current.ino && opened.dev === current.dev ? real : undefined
}

/** A part of a file; less than `length`, where the file ends before. */
export async function readPart(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
