import { characterBoundary, isInside, MAX_CHARACTER_BYTES } from '../registry/limited-output.js'
import { readPart } from '../registry/opened-file.js'
import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { SidecarRequest } from '../../../index.js'
import { PrivateDirectory } from '../../core/private-directory.js'
import type { CommandEnd } from '../registry/tool-runtime.js'

/** From this limit on, a cut output keeps its end too. */
const BOTH_ENDS_FROM = 1024

/** The private directory of one session, for outputs that are too long for an envelope. */
export class SessionDirectory extends PrivateDirectory {
  /** Names of files, and names that calls in progress may use. */
  readonly #names = new Set<string>()

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

  /** Runs a call into the addon with a file for an output that is too long. */
  withSidecar<T>(tool: string, callId: string, limitBytes: number, use: (sidecar: SidecarRequest) => Promise<T>): Promise<T> {
    return this.withName(tool, callId, (name) => use({ directory: this.path, name, limitBytes }))
  }

  /** Writes a text into a new file, at most `limitBytes` of it. @returns the file's path. */
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
   *
   * @param textOf the text of bytes as a model reads it.
   */
  async ends(
    path: string,
    limitBytes: number,
    textOf: (bytes: Buffer) => string,
  ): Promise<Pick<CommandEnd, 'head' | 'tail' | 'left_out_bytes'>> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    // Commands write here too: what is in its place is not waited for.
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = await file.stat()
      if (!stats.isFile()) return { head: '', left_out_bytes: 0 }
      const { size } = stats
      const tailRoom = limitBytes < BOTH_ENDS_FROM ? 0 : Math.floor(limitBytes / 2)
      // One more byte shows whether the last character is complete.
      const first = await readPart(file, 0, limitBytes - tailRoom + 1)
      const headBytes = characterBoundary(first, limitBytes - tailRoom)
      const head = textOf(first.subarray(0, headBytes))
      if (tailRoom === 0) return { head, left_out_bytes: size - headBytes }
      const from = Math.max(headBytes, size - tailRoom)
      const last = await readPart(file, from, size - from)
      const skipped = from === headBytes ? 0 : brokenCharacter(last)
      return { head, tail: textOf(last.subarray(skipped)), left_out_bytes: from + skipped - headBytes }
    } finally {
      await file.close()
    }
  }
}

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

/** A file name for an id of a model or host. Ids with other characters are distinguished by their hash. */
function plainName(callId: string): string {
  if (/^[A-Za-z0-9_-]{1,100}$/u.test(callId)) return callId
  const hash = createHash('sha256').update(callId).digest('hex').slice(0, 16)
  return `${callId.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 60)}-${hash}`
}
