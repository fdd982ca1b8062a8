import { characterBoundary, isInside, LONGEST_CHARACTER } from '../registry/limited-output.js'
import { createHash, randomBytes } from 'node:crypto'
import { constants, existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from '../permissions/session-policy.js'

/** What removes directories. None of it looks at what a command left there on the thread of the host. */
export type Removing = Pick<ContractAddon, 'processName' | 'removeDirectory' | 'removeAbandoned' | 'removeNow'>

/** When the removal of a directory is given up; what is left then goes with a later session. */
const REMOVE_MS = 60_000
/** The same for what killed processes have left. */
const SWEEP_MS = 30_000
/** From this limit on, an output that is cut keeps its end too. */
const BOTH_ENDS_FROM = 1024
/** What all directories together may take of the end of the process. */
const EXIT_MS = 50

/** The beginning and the end of a long text. */
export interface FileEnds {
  head: string
  tail?: string
  /** Between the two, or behind the beginning. */
  left_out_bytes: number
}

/**
 * The private directory of one session, for outputs that are too long for an envelope. Its name says whose
 * it is, so that a later session can remove what a killed process left behind.
 */
export class SessionDirectory {
  /** Absolute, without links. */
  readonly path: string
  /** Where the directories of all sessions of this user are. */
  readonly base: string
  /** Of files, and of calls that may still make one. */
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
   * Runs what may make a file, with a name for it that no other file of the session has:
   * `<tool>-output-<call id>`. Most calls make none, and a session is to forget them.
   */
  async withName<T>(tool: string, callId: string, make: (name: string) => Promise<T>): Promise<T> {
    const plain = `${tool}-output-${plainName(callId)}`
    let name = plain
    // A call may do so several times, and a model may give two calls one id.
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
   * The beginning and the end of a file of the directory, which is longer than `limitBytes`: half of that each, between
   * two characters; of a small limit the beginning alone, since a few words of either would say nothing.
   */
  async ends(path: string, limitBytes: number): Promise<FileEnds> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const { size } = await file.stat()
      const tailRoom = limitBytes < BOTH_ENDS_FROM ? 0 : Math.floor(limitBytes / 2)
      // One byte more shows whether the last character is whole.
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
   * Removes it with all that is in it, also what a command locked, and ends the processes that wait for more
   * commands of its session. On a thread of its own: there may be any number of files.
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

  /** What goes with the session: the directory, and one around it that was made for it. */
  get outermost(): string {
    return isShared(this.base) ? this.path : this.base
  }
}

/** Whether the directory around is the one of all sessions, and not one that was made for this. */
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
  while (at < LONGEST_CHARACTER - 1 && isInside(bytes[at])) at += 1
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

/** The rest of what there is no time for goes with a session of a later process. */
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

/** Ids come from models and hosts; what is no plain name is told apart by its hash. */
function plainName(callId: string): string {
  if (/^[A-Za-z0-9_-]{1,100}$/u.test(callId)) return callId
  const hash = createHash('sha256').update(callId).digest('hex').slice(0, 16)
  return `${callId.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 60)}-${hash}`
}

/** A directory that only this user can look into; somebody else's, or a link, is not taken. */
function baseDirectory(): string {
  const parent = realpathSync(tmpdir())
  const user = process.getuid?.() ?? 0
  const base = join(parent, `toolwright-sessions-${user}`)
  try {
    mkdirSync(base, { mode: 0o700 })
  } catch {
    // It is there already, or cannot be made: the next look says which.
  }
  const found = lstatSync(base, { throwIfNoEntry: false })
  const isOurs = found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0
  return isOurs ? base : mkdtempSync(join(parent, 'toolwright-session-'))
}
