/**
 * Files as commands see them, where the host cannot look: in their private `/tmp`, in the home directory, and below closed
 * paths. Each operation is a short script behind the same layers as every command, so it can do nothing that a command could
 * not.
 */
import { isAbsolute, join } from 'node:path'
import { hostVariables } from '../core/environment.js'
import { ToolError } from '../core/errors.js'
import { type KeptProcess, startProcess } from '../core/kept-process.js'
import type { Space } from './space.js'
import type { DirectoryEntry, FileStat } from './types.js'

/** Exit codes by which a script reports what is at the path. No program that it runs uses them. */
const MISSING = 65
const NOT_A_FILE = 66
const NOT_A_DIRECTORY = 67

const EXISTS = `[ -e "$1" ] || exit ${MISSING}`

// The file follows the first byte. Without that byte, the file could not be opened.
const READ = `${EXISTS}; [ -f "$1" ] || exit ${NOT_A_FILE}; exec 3< "$1" || exit 1; printf .; exec cat <&3`

const WRITE = `case $1 in */) exit ${NOT_A_FILE};; esac
[ ! -e "$1" ] || [ -f "$1" ] || exit ${NOT_A_FILE}
parent=\${1%/*}; mkdir -p -- "\${parent:-/}" && exec cat > "$1"`

// First the form of GNU and busybox, then that of BSD.
const STAT = `${EXISTS}
if [ -d "$1" ]; then kind=directory; elif [ -f "$1" ]; then kind=file; else kind=other; fi
size=$(stat -L -c %s -- "$1" 2>/dev/null || stat -L -f %z -- "$1") && printf '%s %s' "$kind" "$size"`

const LIST = `${EXISTS}; [ -d "$1" ] || exit ${NOT_A_DIRECTORY}; cd -- "$1" && ls -A > /dev/null || exit 1
for name in * .[!.]* ..?*; do
  if [ -L "./$name" ]; then kind=l; elif [ -d "./$name" ]; then kind=d; elif [ -f "./$name" ]; then kind=f
  elif [ -e "./$name" ]; then kind=o; else continue; fi
  printf '%s%s\\0' "$kind" "$name"
done`

const DELETE = `[ -L "$1" ] || [ -e "$1" ] || exit ${MISSING}
[ -L "$1" ] || [ ! -d "$1" ] || exit ${NOT_A_FILE}
exec rm -f -- "$1"`

const KINDS = { f: 'file', d: 'directory', l: 'symlink', o: 'other' } as const

/** The most bytes that a script may print besides a file. */
const MAX_OUTPUT_BYTES = 67_108_864
/** The most bytes of a file that wait for the reader. */
const HELD_BYTES = 262_144

/** Files outside the root, by absolute paths. */
export class CommandFiles {
  readonly #space: Space

  constructor(space: Space) {
    this.#space = space
  }

  /** A path as commands see it. Relative paths begin at the root. */
  absolute(path: string): string {
    return isAbsolute(path) ? path : join(this.#space.settings.rootDir, path)
  }

  /** The file's bytes, part by part; `undefined` if there is no file. */
  async read(path: string, signal: AbortSignal): Promise<FileParts | undefined> {
    const script = await this.#start(READ, path, signal)
    try {
      const { bytes } = await script.read({ maxBytes: 1, waitMs: Infinity, signal })
      if (bytes.length > 0) return new FileParts(script, path, signal)
      await this.#ended(script, path, 'reading', signal)
    } catch (error) {
      void script.kill()
      throw error
    }
    return undefined
  }

  /** Writes the bytes of `parts`. @throws the error of `parts`; the file may then have the beginning. */
  async write(path: string, parts: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number> {
    const script = await this.#start(WRITE, path, signal, 'pipe')
    let bytes = 0
    try {
      for await (const part of parts) {
        signal.throwIfAborted()
        if (part.byteLength > 0 && !(await script.write(part, signal))) break
        bytes += part.byteLength
      }
      script.closeInput()
      if (await this.#ended(script, path, 'writing', signal)) return bytes
      throw failed(path, 'writing', 'its directory has been deleted')
    } catch (error) {
      void script.kill()
      throw error
    }
  }

  async stat(path: string, signal: AbortSignal): Promise<FileStat | null> {
    const stdout = await this.#say(STAT, path, 'looking at it', signal)
    if (stdout === undefined) return null
    const [type, size] = stdout.split(' ')
    return { type: type as FileStat['type'], size: Number(size) }
  }

  async list(path: string, signal: AbortSignal): Promise<DirectoryEntry[] | null> {
    const stdout = await this.#say(LIST, path, 'listing', signal)
    if (stdout === undefined) return null
    const entries = stdout.split('\0').slice(0, -1)
    return entries.map((entry) => ({ name: entry.slice(1), type: KINDS[entry[0] as keyof typeof KINDS] }))
  }

  async delete(path: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#say(DELETE, path, 'deleting', signal)) !== undefined
  }

  async #start(script: string, path: string, signal: AbortSignal, input: 'empty' | 'pipe' = 'empty'): Promise<KeptProcess> {
    const { fileConditions } = await this.#space.place()
    // Runs no program that a command could have put into PATH, and prints messages in a known language.
    const settings = fileConditions({ PATH: '/usr/bin:/bin', LC_ALL: 'C' })
    const hostEnv = hostVariables()
    const command = { cmd: '/bin/sh', args: ['-c', script, 'sh', this.absolute(path)], cwd: '.', ...(hostEnv !== undefined && { hostEnv }) }
    const keep = { input, stderrApart: true, headBytes: 0, tailBytes: HELD_BYTES, holds: true } as const
    const process = await startProcess(
      { signal, what: 'a file of the sandbox', graceMs: START_GRACE_MS },
      (addon, native, cancel) => addon.startProcess(settings, command, native, cancel),
      keep,
    )
    const id = this.#space.processes.add(process)
    void process.wait().finally(() => this.#space.processes.release(id))
    if (!signal.aborted) return process
    await process.kill()
    throw signal.reason
  }

  /** The output of a script; `undefined` if nothing is at the path. */
  async #say(script: string, path: string, doing: string, signal: AbortSignal): Promise<string | undefined> {
    const process = await this.#start(script, path, signal)
    try {
      const parts: Uint8Array[] = []
      let bytes = 0
      for await (const part of process.output('stdout', signal)) {
        bytes += part.byteLength
        if (bytes > MAX_OUTPUT_BYTES) throw failed(path, doing, 'there is too much of it')
        parts.push(part)
      }
      return (await this.#ended(process, path, doing, signal)) ? Buffer.concat(parts).toString() : undefined
    } catch (error) {
      void process.kill()
      throw error
    }
  }

  /** Waits for the end of a script. @returns `false` if nothing is at the path. @throws {ToolError} if the script failed. */
  async #ended(process: KeptProcess, path: string, doing: string, signal: AbortSignal): Promise<boolean> {
    const end = await process.wait(Infinity, signal)
    if (end?.exitCode === 0) return true
    if (end?.exitCode === MISSING) return false
    if (end?.exitCode === NOT_A_FILE) throw notOfKind('TOOL_NOT_A_FILE', 'Not a regular file', path)
    if (end?.exitCode === NOT_A_DIRECTORY) throw notOfKind('TOOL_NOT_A_DIRECTORY', 'Not a directory', path)
    const { bytes } = await process.read({ stream: 'stderr', maxBytes: 2_000 })
    throw failed(path, doing, bytes.toString().trim() || 'it was killed')
  }
}

/** How long an aborted start may take, because a script that has started has to be killed. */
const START_GRACE_MS = 5_000

/** Reads a file that a script prints. */
export class FileParts {
  readonly #script: KeptProcess
  readonly #path: string
  readonly #signal: AbortSignal
  /** The position after the byte that reports the open file. */
  #from = 1

  constructor(script: KeptProcess, path: string, signal: AbortSignal) {
    this.#script = script
    this.#path = path
    this.#signal = signal
  }

  /** Gives the next bytes; 0 at the end. @throws {ToolError} TOOL_IO_FAILED if the rest could not be read. */
  async readInto(target: Uint8Array): Promise<number> {
    const { at, length } = await this.#script.readInto(target, { from: this.#from, waitMs: Infinity, signal: this.#signal })
    this.#from = at + length
    if (length > 0) return length
    const end = await this.#script.wait(Infinity, this.#signal)
    if (end?.exitCode === 0) return 0
    const { bytes } = await this.#script.read({ stream: 'stderr', maxBytes: 2_000 })
    throw failed(this.#path, 'reading', bytes.toString().trim() || 'it was killed')
  }

  /** Stops reading. */
  close(): void {
    void this.#script.kill()
  }
}

/** The error for a path of another kind. */
export function notOfKind(code: 'TOOL_NOT_A_FILE' | 'TOOL_NOT_A_DIRECTORY', summary: string, path: string): ToolError {
  return new ToolError({ code, summary, place: `${summary}: \`${path}\``, hint: 'Give another path.', details: { path } })
}

/** The system's messages for a refusal. */
const REFUSED = /permission denied|operation not permitted|read-only file system/iu

function failed(path: string, doing: string, why: string): ToolError {
  const isRefused = REFUSED.test(why)
  const summary = isRefused ? 'Permission denied' : 'File operation failed'
  return new ToolError({
    code: isRefused ? 'TOOL_PERMISSION_DENIED' : 'TOOL_IO_FAILED',
    summary,
    place: `${summary} (${doing}): \`${path}\`: ${why}`,
    hint: isRefused
      ? 'Commands of this sandbox may not do that either. Work in the root directory or in /tmp.'
      : 'Look at the path with a command.',
    details: { path },
  })
}
