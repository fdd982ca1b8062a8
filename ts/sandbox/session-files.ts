/** The file methods. The addon works below the root, commands everywhere else, with one view of files. */
import { randomBytes } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type * as Addon from '../../index.js'
import { hostVariables } from '../core/environment.js'
import { ToolError } from '../core/errors.js'
import { call, callLimited, type CallLimits } from '../core/native.js'
import { boundedPath } from '../core/text.js'
import { byteStream, type ReadInto, joined } from './byte-stream.js'
import { type CommandFiles, notOfKind } from './command-files.js'
import type { Place, Space } from './space.js'
import type { DirectoryEntry, FileStat } from './types.js'

/** The bytes of one read. */
const PART_BYTES = 65_536
/** The largest stream that is collected in memory. */
const MAX_MEMORY_BYTES = 1_048_576
/** The largest file that is returned as a whole. */
export const MAX_WHOLE_BYTES = 536_870_912
/** The timeout of a change that waits for other changes or for a disk, in milliseconds. */
const CHANGE_MS = 60_000
/** How long a timed-out change may still report its outcome, in milliseconds. */
const CHANGE_GRACE_MS = 2_000

/** A file that is being read. */
interface OpenFile {
  /** Its size in bytes when it was opened, if known. */
  size: number | undefined
  /** Gives the next bytes; 0 at the end. */
  readInto: ReadInto
  close(): void
}

export class SessionFiles {
  readonly #space: Space
  readonly #elsewhere: CommandFiles

  constructor(space: Space, elsewhere: CommandFiles) {
    this.#space = space
    this.#elsewhere = elsewhere
  }

  /** Opens a file; `undefined` if there is none. */
  async open(path: string, signal: AbortSignal): Promise<OpenFile | undefined> {
    const file = await orMissing(this.#native(path, signal, (files, target, cancel) => files.open(target, PART_BYTES, cancel)))
    if (file === undefined) return undefined
    if (file !== null) return nativeFile(file, signal)
    const parts = await this.#elsewhere.read(path, signal)
    return parts && { size: undefined, readInto: (target) => parts.readInto(target), close: () => parts.close() }
  }

  /** Reads a whole file. @throws {ToolError} TOOL_FILE_TOO_LARGE */
  async read(path: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const file = await this.open(path, signal)
    if (file === undefined) return undefined
    const parts: Uint8Array[] = []
    let bytes = 0
    try {
      if ((file.size ?? 0) > MAX_WHOLE_BYTES) throw tooLarge(path, file.size)
      for (;;) {
        const part = new Uint8Array(PART_BYTES)
        // eslint-disable-next-line no-await-in-loop -- one part after the other
        const count = await file.readInto(part)
        if (count === 0) return joined(parts, bytes)
        bytes += count
        if (bytes > MAX_WHOLE_BYTES) throw tooLarge(path)
        parts.push(part.subarray(0, count))
      }
    } finally {
      file.close()
    }
  }

  /** Reads a file as a stream. */
  async stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = await this.open(path, signal)
    return (
      file &&
      byteStream(
        (target) => file.readInto(target),
        () => file.close(),
      )
    )
  }

  async stat(path: string, signal: AbortSignal): Promise<FileStat | null> {
    const existing = await orMissing(this.#native(path, signal, (files, target, cancel) => files.stat(target, cancel)))
    if (existing === undefined) return null
    if (existing === null) return this.#elsewhere.stat(path, signal)
    return { type: existing.isDirectory ? 'directory' : 'file', size: existing.bytes }
  }

  async list(path: string, signal: AbortSignal): Promise<DirectoryEntry[] | null> {
    const existing = await orMissing(
      this.#native(path, signal, (files, target, cancel) => files.list(target, cancel)),
      ['TOOL_FILE_NOT_FOUND'],
    )
    if (existing === undefined) return null
    return existing ?? this.#elsewhere.list(path, signal)
  }

  async delete(path: string, signal: AbortSignal): Promise<boolean> {
    const done = await orMissing(this.#change(path, signal, (files, target, publish, cancel) => files.delete(target, publish, cancel)))
    if (done === undefined) return false
    return done || this.#elsewhere.delete(path, signal)
  }

  /** Writes bytes. They are copied before the first wait. */
  async write(path: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(content)
    const done = await this.#write(path, bytes, undefined, signal)
    if (!done) await this.#elsewhere.write(path, only(bytes), signal)
  }

  /** Writes a stream. Below the root, nothing changes before its end. @throws the stream's error. */
  async writeStream(path: string, content: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<number> {
    // Only a command can write there, and it takes the bytes as they come.
    if (!(await this.#isBelow(path, signal))) return this.#elsewhere.write(path, partsOf(content, signal), signal)
    const place = await this.#space.place()
    const staged = new Staged(place)
    try {
      for await (const part of partsOf(content, signal)) await staged.add(part)
      const { bytes, file, size } = await staged.end()
      if (await this.#write(path, bytes, file, signal)) return size
      // In the meantime, the path has become a link out of the root.
      throw notOfKind('TOOL_NOT_A_FILE', 'Not a regular file', path)
    } finally {
      await staged.remove()
    }
  }

  /** Whether the addon can decide what is at a path. @throws {ToolError} for a directory. */
  async #isBelow(path: string, signal: AbortSignal): Promise<boolean> {
    const existing = await orMissing(
      this.#native(path, signal, (files, target, cancel) => files.stat(target, cancel)),
      ['TOOL_FILE_NOT_FOUND'],
    )
    if (existing?.isDirectory === true) throw notOfKind('TOOL_NOT_A_FILE', 'Not a regular file', path)
    return existing !== null
  }

  async #write(path: string, bytes: Buffer, file: string | undefined, signal: AbortSignal): Promise<boolean> {
    const done = await this.#change(path, signal, (files, target, publish, cancel) => files.write(target, bytes, file, publish, cancel))
    return done === true
  }

  async #native<O>(
    path: string,
    signal: AbortSignal,
    start: (files: Addon.SandboxFiles, path: string, cancel: Addon.CancelHandle) => Promise<O>,
  ) {
    const settings = (await this.#space.place()).conditions()
    const target = boundedPath(path)
    return call(limits(`read ${target}`, signal), (addon, cancel) =>
      start(new addon.SandboxFiles(settings, hostVariables()), target, cancel),
    )
  }

  async #change<O>(
    path: string,
    signal: AbortSignal,
    start: (files: Addon.SandboxFiles, path: string, publish: Addon.PublishOptions, cancel: Addon.CancelHandle) => Promise<O>,
  ) {
    const settings = (await this.#space.place()).conditions()
    const { durability, allowInPlace, sandbox } = this.#space.settings
    const publish = {
      fsync: durability === 'fsync',
      allowInPlace,
      waitMs: CHANGE_MS,
      ...(sandbox.denyWrite !== undefined && { denyWrite: [...sandbox.denyWrite] }),
    }
    const target = boundedPath(path)
    return callLimited({ ...limits(`write ${target}`, signal), graceMs: CHANGE_GRACE_MS }, (addon, cancel) =>
      start(new addon.SandboxFiles(settings, hostVariables()), target, publish, cancel),
    )
  }
}

const limits = (what: string, signal: AbortSignal): CallLimits => ({ signal, timeoutMs: CHANGE_MS, what })

/** `undefined` if nothing is at a path: no entry has the name, or a parent of it is a file. */
async function orMissing<T>(work: Promise<T>, codes = ['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY']): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (ToolError.isInstance(error) && codes.includes(error.code)) return undefined
    throw error
  }
}

function nativeFile(file: Addon.SandboxFile, signal: AbortSignal): OpenFile {
  let from = 0
  /** The beginning, which came with the file. */
  let first: Uint8Array | null = null
  return {
    size: file.bytes,
    async readInto(target) {
      first ??= file.takeFirst()
      const early = first?.subarray(from, from + target.byteLength)
      if (early !== undefined && early.byteLength > 0) {
        target.set(early)
        from += early.byteLength
        return early.byteLength
      }
      const count = await call(limits('read a file', signal), (_, cancel) => file.readInto(target, from, cancel))
      from += count
      return count
    },
    close: () => undefined,
  }
}

/** The parts of a stream. An abort ends the wait for a part and cancels the stream. */
async function* partsOf(content: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = content.getReader()
  const stop = (): void => void reader.cancel(signal.reason).catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  let isDone = false
  try {
    for (;;) {
      signal.throwIfAborted()
      // eslint-disable-next-line no-await-in-loop -- one part after the other
      const { value, done } = await reader.read()
      signal.throwIfAborted()
      isDone = done
      if (done) return
      if (!(value instanceof Uint8Array)) throw notBytes()
      yield value
    }
  } finally {
    signal.removeEventListener('abort', stop)
    if (!isDone) await reader.cancel().catch(() => undefined)
    reader.releaseLock()
  }
}

async function* only(part: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield part
}

/** Collects a stream to its end: in memory if it is small, otherwise in a file that no command can reach. */
class Staged {
  readonly #path: string
  readonly #parts: Uint8Array[] = []
  #size = 0
  #file: Awaited<ReturnType<typeof open>> | undefined

  constructor({ staging }: Place) {
    this.#path = join(staging, randomBytes(8).toString('hex'))
  }

  async add(part: Uint8Array): Promise<void> {
    this.#size += part.byteLength
    // Copies, because the stream may reuse its memory.
    if (this.#file === undefined && this.#size <= MAX_MEMORY_BYTES) return void this.#parts.push(Uint8Array.from(part))
    if (this.#file === undefined) {
      this.#file = await open(this.#path, 'wx', 0o600)
      for (const early of this.#parts.splice(0)) await writeAll(this.#file, early)
    }
    await writeAll(this.#file, part)
  }

  async end(): Promise<{ bytes: Buffer; file: string | undefined; size: number }> {
    await this.#file?.close()
    const bytes = Buffer.concat(this.#parts)
    return { bytes, file: this.#file === undefined ? undefined : this.#path, size: this.#size }
  }

  async remove(): Promise<void> {
    if (this.#file === undefined) return
    await this.#file.close().catch(() => undefined)
    await rm(this.#path, { force: true })
  }
}

async function writeAll(file: NonNullable<Awaited<ReturnType<typeof open>>>, part: Uint8Array): Promise<void> {
  for (let at = 0; at < part.byteLength;) {
    // eslint-disable-next-line no-await-in-loop -- a write may be partial
    const { bytesWritten } = await file.write(part, at)
    at += bytesWritten
  }
}

function tooLarge(path: string, bytes?: number): ToolError {
  const summary = bytes === undefined ? 'File too large' : `File too large (${bytes} bytes)`
  return new ToolError({
    code: 'TOOL_FILE_TOO_LARGE',
    summary,
    place: `${summary}: \`${path}\``,
    hint: 'Read it with readFile, which gives it part by part.',
    details: { path, ...(bytes !== undefined && { bytes }), limitBytes: MAX_WHOLE_BYTES },
  })
}

const notBytes = (): ToolError =>
  new ToolError({ code: 'INVALID_INPUT', summary: 'content must be a stream of Uint8Array.', hint: 'Correct the value and call again.' })
