import { abortSignal, type Check, type Checks, invalid, must, optional, parseOptions, string, text, wholeNumber } from '../core/options.js'
import { parseCommand } from './command-line.js'
import { CommandFiles } from './command-files.js'
import { describe } from './describe.js'
import { parseSessionOptions, type SandboxSessionOptions } from './options.js'
import { makeCall } from './recorded-call.js'
import { runCommand } from './run-command.js'
import { SessionFiles } from './session-files.js'
import { Space } from './space.js'
import { spawnProcess } from './spawn-process.js'
import { checkDecoding, encoded, linesOf } from './text-file.js'
import type { PathOptions, ReadTextOptions, SandboxSession, SpawnOptions, WriteOptions, WriteTextOptions } from './types.js'

/** A sandbox session that its owner closes. */
export interface ClosableSandboxSession extends SandboxSession, AsyncDisposable {
  /** Kills all processes of the session and removes the private home directory. Later calls reject. */
  close(): Promise<void>
}

/**
 * Makes a sandbox session of the AI SDK in which the kernel confines commands: they write to the root directory, a private
 * `/tmp` and, with `home: 'private'`, a private home directory, and reach no network. File methods see the same files.
 * Nothing starts before the first call.
 *
 * @example
 * ```ts
 * await using sandbox = createSandboxSession({ rootDir: './project' })
 * await sandbox.writeTextFile({ path: 'hello.sh', content: 'echo hello' })
 * const { stdout } = await sandbox.run({ command: 'bash hello.sh' })
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export function createSandboxSession(options: SandboxSessionOptions): ClosableSandboxSession {
  const space = new Space(parseSessionOptions('createSandboxSession', options))
  const close = (): Promise<void> => space.close()
  // Copies the getter, because the description changes with the network policy.
  const methods = Object.getOwnPropertyDescriptors(sessionOf(space))
  return Object.freeze(Object.defineProperties({ close, [Symbol.asyncDispose]: close }, methods) as object as ClosableSandboxSession)
}

const onePath: Check<string> = (value, name) => {
  const directory = text(value, name)
  if (directory.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
  return directory
}

const pathChecks = { path: onePath, abortSignal: optional(abortSignal) } satisfies Checks<PathOptions>
const line = wholeNumber(1)
const readTextChecks = {
  ...pathChecks,
  encoding: optional(string, 'utf-8'),
  startLine: optional(line),
  endLine: optional(wholeNumber(0)),
} satisfies Checks<ReadTextOptions>
const isStream = (value: unknown): boolean => typeof (value as Partial<ReadableStream> | null)?.getReader === 'function'
const streamChecks = {
  ...pathChecks,
  content: must<ReadableStream<Uint8Array>>(isStream, 'a ReadableStream'),
} satisfies Checks<WriteOptions<ReadableStream<Uint8Array>>>
const bytesChecks = {
  ...pathChecks,
  content: must<Uint8Array>((value) => value instanceof Uint8Array, 'a Uint8Array'),
} satisfies Checks<WriteOptions<Uint8Array>>
const textChecks = { ...pathChecks, content: string, encoding: optional(string, 'utf-8') } satisfies Checks<WriteTextOptions>

/** The methods of a session. None of them needs `this`. */
export function sessionOf(space: Space): SandboxSession {
  const elsewhere = new CommandFiles(space)
  const files = new SessionFiles(space, elsewhere)

  /** Makes a call on one path. */
  const onPath = <T>(
    name: string,
    { path, abortSignal: signal }: { path: string; abortSignal?: AbortSignal | undefined },
    work: (signal: AbortSignal) => Promise<{ value: T; output: unknown }>,
    change?: { input?: object; replayed: (output: unknown) => T },
  ): Promise<T> =>
    makeCall(space, {
      name,
      sideEffect: change !== undefined,
      input: { path, ...change?.input },
      signal,
      work,
      ...(change !== undefined && { replayed: change.replayed }),
    })

  const readWhole = <T>(name: string, asked: { path: string; abortSignal?: AbortSignal | undefined }, as: (bytes: Uint8Array) => T) =>
    onPath<T | null>(name, asked, async (signal) => {
      const bytes = await files.read(asked.path, signal)
      return { value: bytes === undefined ? null : as(bytes), output: sizeOf(bytes?.byteLength) }
    })

  const writeWhole = (name: string, asked: { path: string; abortSignal?: AbortSignal | undefined }, content: Uint8Array) =>
    onPath<void>(
      name,
      asked,
      async (signal) => {
        await files.write(asked.path, content, signal)
        return { value: undefined, output: { bytes: content.byteLength } }
      },
      { input: { bytes: content.byteLength }, replayed: () => undefined },
    )

  const session = {
    get description() {
      return describe(space)
    },
    run: async (options: SpawnOptions) => runCommand(parseCommand('run', options), space, elsewhere),
    spawn: async (options: SpawnOptions) => spawnProcess(parseCommand('spawn', options), space, elsewhere),
    async readFile(options: PathOptions) {
      const asked = parseOptions('sandbox.readFile', options, pathChecks)
      return onPath<ReadableStream<Uint8Array> | null>('readFile', asked, async () => {
        // The call ends before its stream does. The caller's signal and the end of the session end the stream too.
        const stream = await files.stream(asked.path, space.signal(asked.abortSignal))
        return { value: stream ?? null, output: { found: stream !== undefined } }
      })
    },
    async readBinaryFile(options: PathOptions) {
      return readWhole('readBinaryFile', parseOptions('sandbox.readBinaryFile', options, pathChecks), (bytes) => bytes)
    },
    async readTextFile(options: ReadTextOptions) {
      const asked = parseOptions('sandbox.readTextFile', options, readTextChecks)
      const decode = checkDecoding(asked.encoding)
      return readWhole('readTextFile', asked, (bytes) => linesOf(decode(bytes), asked.startLine, asked.endLine))
    },
    async writeFile(options: WriteOptions<ReadableStream<Uint8Array>>) {
      const asked = parseOptions('sandbox.writeFile', options, streamChecks)
      return onPath<void>(
        'writeFile',
        asked,
        async (signal) => ({ value: undefined, output: { bytes: await files.writeStream(asked.path, asked.content, signal) } }),
        { replayed: () => undefined },
      )
    },
    async writeBinaryFile(options: WriteOptions<Uint8Array>) {
      const asked = parseOptions('sandbox.writeBinaryFile', options, bytesChecks)
      return writeWhole('writeBinaryFile', asked, Uint8Array.from(asked.content))
    },
    async writeTextFile(options: WriteTextOptions) {
      const asked = parseOptions('sandbox.writeTextFile', options, textChecks)
      return writeWhole('writeTextFile', asked, encoded(asked.content, asked.encoding))
    },
    async stat(options: PathOptions) {
      const asked = parseOptions('sandbox.stat', options, pathChecks)
      return onPath('stat', asked, async (signal) => same(await files.stat(asked.path, signal)))
    },
    async listDirectory(options: PathOptions) {
      const asked = parseOptions('sandbox.listDirectory', options, pathChecks)
      return onPath('listDirectory', asked, async (signal) => {
        const value = await files.list(asked.path, signal)
        return { value, output: { entries: value?.length ?? null } }
      })
    },
    async deleteFile(options: PathOptions) {
      const asked = parseOptions('sandbox.deleteFile', options, pathChecks)
      return onPath('deleteFile', asked, async (signal) => same(await files.delete(asked.path, signal)), {
        replayed: (output) => output as boolean,
      })
    },
  }
  // Cast, because one function implements the overloads of `spawn`.
  return session as SandboxSession
}

const sizeOf = (bytes: number | undefined): object => (bytes === undefined ? { found: false } : { found: true, bytes })
const same = <T>(value: T): { value: T; output: unknown } => ({ value, output: value })
