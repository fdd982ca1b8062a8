/** A path that changed. */
export interface CheckpointChange {
  /** The path, relative to the directory. Bytes that are no UTF-8 are replaced. */
  path: string
  kind: 'created' | 'modified' | 'deleted'
  /** What it is, or was before it was deleted. */
  type: 'file' | 'link' | 'directory'
}

/** A checkpoint that was taken. */
export interface Checkpoint {
  /** Its number in the store. */
  id: number
  /** What has changed since the last one; all that there is in the first. */
  changed: CheckpointChange[]
  /** How many files, links and directories it has. */
  entries: number
  /** What is not kept: the first 100. */
  skipped: { path: string; reason: 'hard-link' | 'special' | 'other-owner' | 'too-large' | 'unreadable' }[]
}

/** What changed between two checkpoints. */
export interface CheckpointDiff {
  changes: CheckpointChange[]
  /** The changes of the texts as a unified diff. */
  text: string
  /** Whether the text ends early. */
  isCut: boolean
}

/** A path that is not restored. */
export interface CheckpointConflict {
  path: string
  /**
   * `changed-by-others`: somebody else changed it since. `changed-later`: it was changed again after the call that is undone.
   * `changed-meanwhile`: it changed while it was being restored. `occupied`: something that checkpoints do not keep is in
   * its place, and is never overwritten.
   */
  reason: 'changed-by-others' | 'changed-later' | 'changed-meanwhile' | 'occupied'
}

/** What a restoration did, or would do. */
export interface RestoredCheckpoint {
  /** The id of the restoration: `undo({ call })` takes it back. */
  call: string
  /** The checkpoint of the state before it. */
  before: number
  /** The checkpoint of the state after it; `null` if nothing was to be done. */
  after: number | null
  changes: CheckpointChange[]
  /** What was left as it was. */
  conflicts: CheckpointConflict[]
  /**
   * Directories that are not empty, what the system did not let change, what checkpoints do not keep, and files that a call made
   * from such things: they may be the only copy.
   */
  left: { path: string; reason: string }[]
}

/** A checkpoint in a list. */
export interface ListedCheckpoint {
  id: number
  /** When it was taken, in milliseconds since 1970. */
  atMs: number
  /** Whether somebody else made the changes before it. */
  byOthers: boolean
  label: string | null
  /** How many paths had changed. */
  changes: number
  /** The calls that ended with it. */
  calls: string[]
  /** The turns that began with it. */
  turns: string[]
}

/** A restoration in a list. */
export interface ListedRestore {
  target: number
  before: number
  after: number | null
  atMs: number
  /** `interrupted` by the end of its process. */
  state: 'done' | 'interrupted' | 'running'
  /** Each file with what it was after the restoration: the `new` one, the `old` one, or that of somebody else. */
  files: { path: string; outcome: 'new' | 'old' | 'other' | 'unknown' }[]
}

/** What a store has. */
export interface CheckpointList {
  /** The newest first. */
  checkpoints: ListedCheckpoint[]
  /** The newest first. */
  restores: ListedRestore[]
  /** The bytes of the store. */
  bytes: number
}

/** What a collection removed. */
export interface CollectedCheckpoints {
  removed: number
  left: number
  bytesBefore: number
  bytes: number
}

/** How far long work has come. */
export interface CheckpointProgress {
  files: number
  bytes: number
}

/** Options of {@link Checkpoints.checkpoint}. */
export interface TakeCheckpointOptions {
  /** A name for people. */
  label?: string | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** Options of {@link Checkpoints.diff}. */
export interface DiffCheckpointsOptions {
  /** The most bytes of the text; 0 compares no texts. @default 200000 */
  maxTextBytes?: number | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** Options of {@link Checkpoints.restore} and {@link Checkpoints.undo}. */
export interface RestoreCheckpointOptions {
  /** Only these files, and what is below these directories. @default all */
  paths?: readonly string[] | undefined
  /** Tells what would be done, and changes nothing. @default false */
  dryRun?: boolean | undefined
  /** Restores what somebody else has changed too. @default false */
  force?: boolean | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** What {@link Checkpoints.undo} undoes. */
export type UndoTarget = { call: string; turn?: undefined } | { turn: string; call?: undefined }

/** Options of {@link Checkpoints.track}. */
export interface TrackOptions {
  /** The turn that the call belongs to. @default that of the last `beginTurn` */
  turn?: string | undefined
  /** Called with what the call changed, when it has ended and before its result or error is passed on. */
  onChanged?: ((changed: CheckpointChange[]) => void) | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** Options of {@link Checkpoints.list}. */
export interface ListCheckpointsOptions {
  /** @default 100 */
  limit?: number | undefined
  /** Only checkpoints with a smaller number. */
  before?: number | undefined
}

/** Options of {@link Checkpoints.gc}: limits for this time, where they are not those of the store. */
export interface CollectCheckpointsOptions {
  /** The most bytes of the store. @default as the store's */
  maxBytes?: number | undefined
  /** How old a checkpoint may be, in milliseconds. @default as the store's */
  maxAgeMs?: number | undefined
  /** How many checkpoints stay. @default as the store's */
  maxCheckpoints?: number | undefined
  /** Ends the work; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/**
 * Checkpoints of one directory. Closed by `close()` or by `await using`.
 *
 * Every method may throw a ToolError CHECKPOINT_DISK_FULL, CHECKPOINT_BUSY, CHECKPOINT_CORRUPT, CHECKPOINT_STORE_FAILED,
 * CHECKPOINT_CLOSED, TOOL_ROOT_INVALID or INVALID_INPUT, and the reason of its signal.
 */
export interface Checkpoints extends AsyncDisposable {
  /** The directory, as it was given. */
  readonly dir: string
  /** The file of the store. */
  readonly location: string
  /**
   * Takes a checkpoint. The changes since the last one count as the caller's.
   *
   * @throws {ToolError} CHECKPOINT_TOO_LARGE
   */
  checkpoint(options?: TakeCheckpointOptions): Promise<Checkpoint>
  /**
   * What changed from one checkpoint to another.
   *
   * @param to The other one. @default the directory as it is
   * @throws {ToolError} CHECKPOINT_NOT_FOUND
   */
  diff(from: number, to?: number, options?: DiffCheckpointsOptions): Promise<CheckpointDiff>
  /**
   * Brings the directory back to a checkpoint. Only what differs is written. It is recorded in the journal, and can be
   * undone: by `undo` with its `call`, or by restoring the checkpoint `before`.
   *
   * @throws {ToolError} CHECKPOINT_CONFLICT when somebody else has changed a file since, and CHECKPOINT_RESTORE_FAILED when a
   * file cannot be written; nothing has changed then. CHECKPOINT_NOT_FOUND, TOOL_PATH_ESCAPE.
   */
  restore(id: number, options?: RestoreCheckpointOptions): Promise<RestoredCheckpoint>
  /**
   * Undoes what a call or a turn has changed, and nothing else.
   *
   * @throws {ToolError} as `restore`, CHECKPOINT_CONFLICT also when a later call has changed a file again, and
   * CHECKPOINT_CALL_UNKNOWN.
   */
  undo(what: UndoTarget, options?: RestoreCheckpointOptions): Promise<RestoredCheckpoint>
  /**
   * Makes a call between two checkpoints, so that its changes are known and can be undone. What has changed before it was done
   * by somebody else; what changes meanwhile is done by it. Calls that run at the same time are not told apart.
   *
   * @param call The id of the call, different for each.
   * @returns what `fn` returns.
   * @throws what `fn` throws; {ToolError} when no checkpoint can be taken before it, in which case `fn` is not called.
   */
  track<T>(call: string, fn: () => T | PromiseLike<T>, options?: TrackOptions): Promise<T>
  /** A turn begins: takes a checkpoint, and gives its number. Calls belong to it until another begins. */
  beginTurn(turn: string, options?: { signal?: AbortSignal | undefined }): Promise<number>
  /** The newest checkpoints and restorations. */
  list(options?: ListCheckpointsOptions): Promise<CheckpointList>
  /** Removes the oldest checkpoints beyond the limits, and gives space back. The newest one stays. */
  gc(options?: CollectCheckpointsOptions): Promise<CollectedCheckpoints>
  /** How far the work that runs has come. */
  progress(): CheckpointProgress
  /** Closes the store. */
  close(): Promise<void>
}
