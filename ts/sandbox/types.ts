/**
 * The sandbox session of the AI SDK, by structure: `Experimental_SandboxSession` of `ai` 7 is assignable to
 * {@link SandboxSession} and the other way round, and no package has to be installed for it.
 */

/** What every method takes that works on one path. */
export interface PathOptions {
  /** Relative to the directory in which `run` starts, or absolute. */
  path: string
  /** Ends the call, which rejects with the signal's reason. */
  abortSignal?: AbortSignal | undefined
}

/** A text file, or some of its lines. */
export interface ReadTextOptions extends PathOptions {
  /** An encoding of `Buffer` or `TextDecoder`. @default 'utf-8' */
  encoding?: string | undefined
  /** The first line, from 1. @default 1 */
  startLine?: number | undefined
  /** The last line. One behind the end of the file is no error. @default the last line */
  endLine?: number | undefined
}

/** A file and what it is to hold. */
export interface WriteOptions<CONTENT> extends PathOptions {
  content: CONTENT
}

/** A text file and what it is to hold. */
export interface WriteTextOptions extends WriteOptions<string> {
  /** An encoding of `Buffer`. @default 'utf-8' */
  encoding?: string | undefined
}

/** A command line, and how it is run. */
export interface RunOptions {
  /** A line for the session's shell. */
  command: string
  /** Relative to the root directory, or absolute. @default the root directory */
  workingDirectory?: string | undefined
  /** Variables of this command alone. They appear in no record. */
  env?: Record<string, string> | undefined
  /** Kills the command. */
  abortSignal?: AbortSignal | undefined
}

/** What a command printed, and how it ended: 128 and the number of the signal after one. */
export interface RunResult {
  exitCode: number
  stdout: string
  stderr: string
}

/** A command that goes on. */
export interface SpawnOptions extends RunOptions {
  /** Whether it gets input. @default false */
  stdin?: boolean | undefined
}

/** A command that runs. */
export interface SandboxProcess {
  /** Never there: a number of the sandbox says nothing outside of it. */
  readonly pid?: number
  /** What it writes. It waits while nobody reads. */
  readonly stdout: ReadableStream<Uint8Array>
  /** What it writes. It waits while nobody reads. */
  readonly stderr: ReadableStream<Uint8Array>
  /** Waits for its end. Rejects with the reason of the signal that ended it. */
  wait(): PromiseLike<{ exitCode: number }>
  /** Kills it with everything that it has started. Killing what has ended does nothing. */
  kill(): PromiseLike<void>
}

/** A command with input. */
export interface WritableSandboxProcess extends SandboxProcess {
  /** A write settles when the system has taken its bytes. Closing it is the end of the input. */
  readonly stdin: WritableStream<Uint8Array>
}

/** What a path names; links are followed. */
export interface FileStat {
  /** `other` is a device, a socket or a named pipe. */
  type: 'file' | 'directory' | 'other'
  /** In bytes. */
  size: number
}

/** A name in a directory; links are not followed. */
export interface DirectoryEntry {
  name: string
  type: 'file' | 'directory' | 'symlink' | 'other'
}

/**
 * Commands and files of one sandbox, with one view of paths: what a file method sees at a path is what commands see
 * there.
 */
export interface SandboxSession {
  /** What the sandbox is, for the instructions of an agent. */
  readonly description: string
  /** Runs a command to its end. */
  readonly run: (options: RunOptions) => Promise<RunResult>
  /** Starts a command. */
  readonly spawn: {
    (options: SpawnOptions & { stdin: true }): Promise<WritableSandboxProcess>
    (options: SpawnOptions & { stdin?: false | undefined }): Promise<SandboxProcess>
    (options: SpawnOptions): Promise<SandboxProcess | WritableSandboxProcess>
  }
  /** The bytes of a file as they are read; `null` if there is none. */
  readonly readFile: (options: PathOptions) => Promise<ReadableStream<Uint8Array> | null>
  /** The bytes of a file, at most 536,870,912; `null` if there is none. */
  readonly readBinaryFile: (options: PathOptions) => Promise<Uint8Array | null>
  /** The text of a file, at most 536,870,912 bytes, or some of its lines; `null` if there is none. */
  readonly readTextFile: (options: ReadTextOptions) => Promise<string | null>
  /** Writes a file from a stream, of any length. Directories on the way are made. */
  readonly writeFile: (options: WriteOptions<ReadableStream<Uint8Array>>) => Promise<void>
  /** Writes a file. Directories on the way are made. */
  readonly writeBinaryFile: (options: WriteOptions<Uint8Array>) => Promise<void>
  /** Writes a text file. Directories on the way are made. */
  readonly writeTextFile: (options: WriteTextOptions) => Promise<void>
  /** What a path names; `null` for nothing. */
  readonly stat: (options: PathOptions) => Promise<FileStat | null>
  /** The names in a directory, in no order; `null` if there is none. Rejects for a file. */
  readonly listDirectory: (options: PathOptions) => Promise<DirectoryEntry[] | null>
  /** Deletes a file, or a link itself; `false` if there was none. Rejects for a directory. */
  readonly deleteFile: (options: PathOptions) => Promise<boolean>
}
