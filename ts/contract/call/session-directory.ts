import { characterBoundary, isInside, MAX_CHARACTER_BYTES } from '../registry/limited-output.js'
import { createHash, randomBytes } from 'node:crypto'
import { constants, existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from '../permissions/session-policy.js'

/** The parts of the addon that remove directories, off the thread of the host. */
export type Removing = Pick<ContractAddon, 'processName' | 'removeDirectory' | 'removeAbandoned' | 'removeNow'>

/** The time limit for removing a directory. A later session removes the rest. */
const REMOVE_MS = 60_000
/** The time limit for removing directories of killed processes. */
const SWEEP_MS = 30_000
/** From this limit on, a cut output keeps its end too. */
const BOTH_ENDS_FROM = 1024
/** The time limit for all directories together at the end of the process. */
const EXIT_MS = 50

/** The beginning and the end of a long text. */
export interface FileEnds {
  head: string
  tail?: string
  /** The number of bytes between the two, or after the beginning. */
  left_out_bytes: number
}

/**
 * The private directory of one session, for outputs that are too long for an envelope. Its name identifies the process, so
 * that a later session can remove the directories of killed processes.
 */
export class SessionDirectory {
  /** Absolute, without links. */
  readonly path: string
  /** The directory of all sessions of this user. */
  readonly base: string
  /** Names of files, and names that calls in progress may use. */
  readonly #names = new Set<string>()
  readonly #addon: Removing
  #removed: Promise<void> | undefined

  constructor(addon: Removing) {
    this.#addon = addon
    this.base = baseDirectory()
    this.path = mkdtempSync(join(this.base, `${addon.processName()}-${randomBytes(4).toString('hex')}-`))
    live.add(this)
    watchExit(addon)
  }

  /**
   * Runs `make` with a file name that is unique in the session: `<tool>-output-<call id>`. The session forgets the name if
   * no file was made, as in most calls.
   */
  async withName<T>(tool: string, callId: string, make: (name: string) => Promise<T>): Promise<T> {
    const plain = `${tool}-output-${plainName(callId)}`
    let name = plain
    // A call may make several files, and a model may give two calls the same id.
    for (let nth = 2; this.#names.has(name); nth += 1) name = `${plain}.${nth}`
    this.#names.add(name)
    try {
      return await make(name)
    } finally {
      if (!existsSync(join(this.path, name))) this.#names.delete(name)
    }
  }

  /**
   * Writes a text into a new file, at most `limitBytes` of it.
   *
   * @returns the file's path.
   */
  write(tool: string, callId: string, text: string, limitBytes: number): Promise<string> {
    return this.withName(tool, callId, async (name) => {
      const path = join(this.path, name)
      const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
      const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
      try {
        await file.writeFile(fitText(text, limitBytes))
      } finally {
        await file.close()
      }
      return path
    })
  }

  /**
   * The beginning and the end of a file that is longer than `limitBytes`, with half of the limit each, cut between two
   * characters. A small limit goes to the beginning alone.
   */
  async ends(path: string, limitBytes: number): Promise<FileEnds> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const { size } = await file.stat()
      const tailRoom = limitBytes < BOTH_ENDS_FROM ? 0 : Math.floor(limitBytes / 2)
      // One more byte shows whether the last character is complete.
      const first = await part(file, 0, limitBytes - tailRoom + 1)
      const headBytes = characterBoundary(first, limitBytes - tailRoom)
      const head = first.toString('utf8', 0, headBytes)
      if (tailRoom === 0) return { head, left_out_bytes: size - headBytes }
      const from = Math.max(headBytes, size - tailRoom)
      const last = await part(file, from, size - from)
      const skipped = from === headBytes ? 0 : brokenCharacter(last)
      return { head, tail: last.toString('utf8', skipped), left_out_bytes: from + skipped - headBytes }
    } finally {
      await file.close()
    }
  }

  /**
   * Removes the directory with everything in it, including what a command locked, and ends the processes that wait for
   * commands of the session. Runs on another thread, since there may be any number of files.
   */
  remove(): Promise<void> {
    return (this.#removed ??= this.#remove())
  }

  async #remove(): Promise<void> {
    const whyLeft = unwrap(await this.#addon.removeDirectory(this.outermost, REMOVE_MS))
    if (whyLeft === null) live.delete(this)
    // Directories of killed processes can wait.
    if (isShared(this.base)) this.#addon.removeAbandoned(this.base, SWEEP_MS)
  }

  /** The directory that goes with the session: its own, or the one around it if that was made for this session. */
  get outermost(): string {
    return isShared(this.base) ? this.path : this.base
  }
}

/** Whether a base directory is the one that all sessions share. */
const isShared = (base: string): boolean => basename(base).startsWith('toolwright-sessions-')

/** The beginning of a text, on the boundary of a character, with a last line that says what is missing. */
function fitText(text: string, limitBytes: number): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= limitBytes) return bytes
  const note = Buffer.from(`\n[cut here: ${bytes.length} bytes in all, ${limitBytes} are kept]\n`)
  const room = Math.max(0, limitBytes - note.length)
  return Buffer.concat([bytes.subarray(0, characterBoundary(bytes, room)), note])
}

/** How many bytes at the beginning are the end of a character. */
function brokenCharacter(bytes: Uint8Array): number {
  let at = 0
  while (at < MAX_CHARACTER_BYTES - 1 && isInside(bytes[at])) at += 1
  return isInside(bytes[at]) ? 0 : at
}

async function part(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

const live = new Set<SessionDirectory>()
let watching = false

/** A later process removes whatever there is no time for. */
function watchExit(addon: Removing): void {
  if (watching) return
  watching = true
  process.once('exit', () => {
    addon.removeNow(
      Array.from(live, ({ outermost }) => outermost),
      EXIT_MS,
    )
  })
}

/** A file name for an id of a model or host. Ids with other characters are distinguished by their hash. */
function plainName(callId: string): string {
  if (/^[A-Za-z0-9_-]{1,100}$/u.test(callId)) return callId
  const hash = createHash('sha256').update(callId).digest('hex').slice(0, 16)
  return `${callId.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 60)}-${hash}`
}

/** A directory that only this user can read. A link, or the directory of another user, is not used. */
function baseDirectory(): string {
  const parent = realpathSync(tmpdir())
  const user = process.getuid?.() ?? 0
  const base = join(parent, `toolwright-sessions-${user}`)
  try {
    mkdirSync(base, { mode: 0o700 })
  } catch {
    // It exists already, or cannot be made. The check below finds out.
  }
  const found = lstatSync(base, { throwIfNoEntry: false })
  const isOurs = found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0
  return isOurs ? base : mkdtempSync(join(parent, 'toolwright-session-'))
}
