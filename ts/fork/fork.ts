import type { Awaitable } from '../core/abort.js'

/** What one side has at a path. */
export interface ForkSide {
  /** The permissions, as a number: 420 is 0o644. */
  mode: number
  /** The length, in bytes. */
  bytes: number
}

/** A path that differs from the base. */
export interface ForkChange {
  /** The path, relative to the base. Bytes that are no UTF-8 are replaced. */
  path: string
  kind: 'created' | 'modified' | 'deleted'
  /** What it is, or was before it was deleted. Of directories, there are new ones that are empty, and deleted ones. */
  type: 'file' | 'link' | 'directory'
  /**
   * Why it cannot be applied, or `null`. `base-changed`, `base-created`, `base-deleted`: another program changed, created or
   * deleted the path in the base since the fork was made. `file-or-directory`: a file has become a directory, or the other way round. `name`: the
   * name is not UTF-8.
   */
  conflict: 'base-changed' | 'base-created' | 'base-deleted' | 'file-or-directory' | 'name' | null
  /**
   * Whether `apply` leaves it out unless `paths` names it: editors, agents and their tools obey what lies there, such as `.vscode` and
   * `.claude`. They are the paths that `denyWrite` of `createTools` protects by default.
   */
  isProtected: boolean
  /**
   * Whether both sides have changed the text, at different lines, and `fork` is what comes of both. Only results of `apply` have it
   * set.
   */
  isMerged: boolean
  /** What the base has there now; `null` where nothing is. */
  base: ForkSide | null
  /** What the fork has there; `null` where nothing is. */
  fork: ForkSide | null
}

/** Something that differs and is not applied. */
export interface ForkLeftOut {
  path: string
  /**
   * `git`: it belongs to a git directory. `special`: a pipe, a socket or a device. `unreadable`: this user may not read it.
   * `protected`: editors or agents obey it, and `paths` of `apply` did not name it; only results of `apply` have it.
   */
  reason: 'git' | 'special' | 'unreadable' | 'protected'
}

/** What a fork has changed. */
export interface ForkStatus {
  /** The paths that differ from the base as it is now, in their order. */
  changes: ForkChange[]
  /** What differs and is not applied. */
  leftOut: ForkLeftOut[]
  /** The size of the changed files, in bytes. */
  bytes: number
}

/** What a fork has changed, with the texts. */
export interface ForkDiff extends ForkStatus {
  /** The changes of the texts as a unified diff. */
  text: string
  /** Whether the text ends early. */
  isCut: boolean
}

/** What was applied: everything that was asked for, or nothing because of `conflicts`. */
export interface AppliedFork {
  /** The changes that are in the base now; those that would be in a dry run. Empty if there are conflicts. */
  applied: ForkChange[]
  /** The changes because of which nothing was applied. */
  conflicts: ForkChange[]
  /** What differs and is not applied. */
  leftOut: ForkLeftOut[]
  /**
   * What the fork has checked out in git, if it is another commit than that of the base and everything was applied; otherwise `null`. The
   * objects are in the repository of the base, and `ref` leads to the commit: `git merge refs/forks/ID`. It is `null` where they could
   * not be brought there.
   */
  commits: { commit: string; ref: string | null } | null
}

/** Options of {@link Fork.status}. */
export interface ForkStatusOptions {
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** Options of {@link Fork.diff}. */
export interface ForkDiffOptions {
  /** The most bytes of the text. @default 200000 */
  maxTextBytes?: number | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** Options of {@link Fork.apply}. */
export interface ApplyForkOptions {
  /**
   * Only these paths and what is below them, relative to the base. Protected ones ({@link ForkChange.isProtected}) have to be named
   * themselves.
   * @default all but protected ones
   */
  paths?: readonly string[] | undefined
  /** Tells what would be done, and changes nothing. @default false */
  dryRun?: boolean | undefined
  /**
   * What becomes of a text that both sides have changed since the fork was made. `text`: different lines are merged, for UTF-8 of at
   * most 1 MiB, and the fork has the merged text too. `refuse`: it is a conflict, as lines that both have changed always are.
   * @default 'text'
   */
  merge?: 'text' | 'refuse' | undefined
  /** Ends the work before anything is changed; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** What was undone: an apply as a whole, or nothing because of `conflicts`. */
export interface UndoneFork {
  /** The changes of the directory: `fork` is what it has again. Empty if there are conflicts, or if the directory has all of it already. */
  undone: ForkChange[]
  /** What somebody has changed since the apply. Nothing was undone then. */
  conflicts: ForkChange[]
}

/** Options of {@link Fork.undo}. */
export interface UndoForkOptions {
  /** Ends the work before anything is changed; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/**
 * A fork of a directory. Give it to `createTools` as `rootDir`: files, searches and commands of these tools see the
 * directory at its own path, and what they change stays in the fork.
 */
export interface Fork {
  /** Its name, by which `openFork` opens it again. */
  readonly id: string
  /** The directory that was forked: absolute, and without links. Tools with this path work in the directory itself. */
  readonly base: string
  /** The name that its maker gave it. */
  readonly label: string | null
  /** When it was made, in milliseconds since 1970. */
  readonly createdMs: number
  /** What differs from the base. @throws {ToolError} FORK_CLOSED, FORK_FAILED, INVALID_INPUT */
  status(options?: ForkStatusOptions): Promise<ForkStatus>
  /** The same, with the texts. @throws {ToolError} FORK_CLOSED, FORK_FAILED, INVALID_INPUT */
  diff(options?: ForkDiffOptions): Promise<ForkDiff>
  /**
   * Makes the changes in the base: all that are asked for, or none. A path of the base that somebody else has changed since the fork was
   * made is a conflict, which the result names with what both sides have; nothing is overwritten.
   *
   * @throws {ToolError} FORK_CHANGE_NOT_FOUND for a path without a change, FORK_CLOSED, FORK_FAILED, TOOL_FILE_TOO_LARGE,
   * TOOL_PERMISSION_DENIED, TOOL_IO_FAILED, INVALID_INPUT. Nothing of the base has changed then.
   */
  apply(options?: ApplyForkOptions): Promise<AppliedFork>
  /**
   * Takes the last apply back that was not taken back before: the base is what it was, and the changes are changes of the fork again. A
   * path that somebody has changed since is a conflict, and nothing is taken back then. Commits stay in the repository. For 30 days.
   *
   * @throws {ToolError} FORK_NOT_APPLIED, FORK_CLOSED, FORK_FAILED, TOOL_ROOT_CHANGED, TOOL_PERMISSION_DENIED, TOOL_IO_FAILED,
   * INVALID_INPUT. Nothing of the base has changed then.
   */
  undo(options?: UndoForkOptions): Promise<UndoneFork>
  /** Throws the fork away. Tools that work in it are refused with TOOL_ROOT_CHANGED. @throws {ToolError} FORK_CLOSED, FORK_FAILED */
  discard(): Promise<void>
  /**
   * Closes the fork. It stays on the disk, and `openFork({ id })` opens it again.
   *
   * @throws {ToolError} FORK_BUSY while a command runs in it, FORK_FAILED
   */
  close(): Promise<void>
  /** Closes it. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A fork in a list. */
export interface ListedFork {
  id: string
  base: string
  label: string | null
  /** When it was made, in milliseconds since 1970. */
  createdMs: number
  /**
   * `open`: a program has it open. `kept`: it can be opened, applied or discarded. `damaged`: the machine went down while it was open,
   * and changes may be missing, or its program was killed right after it was made; it can only be discarded.
   */
  state: 'open' | 'kept' | 'damaged'
}

/** What a collection did. */
export interface CollectedForks {
  /** The forks that were removed. */
  removed: string[]
  /** How many have changes, and stay. */
  kept: number
}

/** What is asked of a fork, whether it is open or not. */
export interface ForkActions {
  status(signal?: AbortSignal): Promise<ForkStatus>
  diff(maxTextBytes: number, signal?: AbortSignal): Promise<ForkDiff>
  apply(what: { paths: readonly string[]; dryRun: boolean; merge: 'text' | 'refuse' }, signal?: AbortSignal): Promise<AppliedFork>
  undo(signal?: AbortSignal): Promise<UndoneFork>
  discard(): Awaitable<void>
}
