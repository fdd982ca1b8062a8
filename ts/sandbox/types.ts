/**
 * The sandbox session of the AI SDK as a structural type: `Experimental_SandboxSession` of `ai` 7 and {@link SandboxSession}
 * are assignable to each other, and no package has to be installed.
 */

/** Options of every method that works on one path. */
export interface PathOptions {
  /** Relative to the root directory, or absolute. */
  path: string
  /** Aborts the call, which rejects with the signal's reason. */
  abortSignal?: AbortSignal | undefined
}

/** A text file, or a range of its lines. */
export interface ReadTextOptions extends PathOptions {
  /** An encoding of `Buffer` or `TextDecoder`. @default 'utf-8' */
  encoding?: string | undefined
  /** The first line, from 1. @default 1 */
  startLine?: number | undefined
  /** The last line; it may lie after the end of the file. @default the last line of the file */
  endLine?: number | undefined
}

/** A file and its new content. */
export interface WriteOptions<CONTENT> extends PathOptions {
  /** What the file is to hold. */
  content: CONTENT
}

/** A text file and its new content. */
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
  /** Variables of this command only. No record has them. */
  env?: Record<string, string> | undefined
  /** Kills the command. */
  abortSignal?: AbortSignal | undefined
}

/** The output of a command and its exit code, which is 128 plus the number of the signal after a signal. */
export interface RunResult {
  exitCode: number
  stdout: string
  stderr: string
}

/** A command to start. */
export interface SpawnOptions extends RunOptions {
  /** Whether the command gets input. @default false */
  stdin?: boolean | undefined
}

/** A running command. */
export interface SandboxProcess {
  /** Always `undefined`: process numbers of the sandbox mean nothing outside it. */
  readonly pid?: number
  /** The bytes of stdout. The process waits while nobody reads. */
  readonly stdout: ReadableStream<Uint8Array>
  /** The bytes of stderr. The process waits while nobody reads. */
  readonly stderr: ReadableStream<Uint8Array>
  /** Waits for the end of the process. Rejects with the reason of the abort signal that ended it. */
  wait(): PromiseLike<{ exitCode: number }>
  /** Kills the process and everything that it has started. Does nothing after its end. */
  kill(): PromiseLike<void>
}

/** A command with input. */
export interface WritableSandboxProcess extends SandboxProcess {
  /** The input. A write settles when the system has taken its bytes. Closing the stream ends the input. */
  readonly stdin: WritableStream<Uint8Array>
}

/** The kind and size of a file or directory. Links are followed. */
export interface FileStat {
  /** `other` is a device, a socket or a named pipe. */
  type: 'file' | 'directory' | 'other'
  /** The size in bytes. */
  size: number
}

/** An entry of a directory. Links are not followed. */
export interface DirectoryEntry {
  name: string
  type: 'file' | 'directory' | 'symlink' | 'other'
}

/**
 * Commands and files of one sandbox. File methods and commands see the same file at a path.
 */
export interface SandboxSession {
  /** A description of the sandbox, for the instructions of an agent. */
  readonly description: string
  /** Runs a command to its end. */
  readonly run: (options: RunOptions) => Promise<RunResult>
  /** Starts a command. */
  readonly spawn: {
    (options: SpawnOptions & { stdin: true }): Promise<WritableSandboxProcess>
    (options: SpawnOptions & { stdin?: false | undefined }): Promise<SandboxProcess>
    (options: SpawnOptions): Promise<SandboxProcess | WritableSandboxProcess>
  }
  /** Reads a file as a stream of bytes; `null` if there is none. */
  readonly readFile: (options: PathOptions) => Promise<ReadableStream<Uint8Array> | null>
  /** Reads a file of at most 536,870,912 bytes; `null` if there is none. */
  readonly readBinaryFile: (options: PathOptions) => Promise<Uint8Array | null>
  /** Reads the text of a file of at most 536,870,912 bytes, or a range of its lines; `null` if there is none. */
  readonly readTextFile: (options: ReadTextOptions) => Promise<string | null>
  /** Writes a file from a stream of any length. Creates missing directories. */
  readonly writeFile: (options: WriteOptions<ReadableStream<Uint8Array>>) => Promise<void>
  /** Writes a file. Creates missing directories. */
  readonly writeBinaryFile: (options: WriteOptions<Uint8Array>) => Promise<void>
  /** Writes a text file. Creates missing directories. */
  readonly writeTextFile: (options: WriteTextOptions) => Promise<void>
  /** The kind and size of the file at a path; `null` if nothing is there. */
  readonly stat: (options: PathOptions) => Promise<FileStat | null>
  /** The entries of a directory, in no order; `null` if there is none. Rejects for a file. */
  readonly listDirectory: (options: PathOptions) => Promise<DirectoryEntry[] | null>
  /** Deletes a file or a link, not its target. @returns `false` if there was none. Rejects for a directory. */
  readonly deleteFile: (options: PathOptions) => Promise<boolean>
}
