/** What a host gives to a `revert` handler about the call to undo. */
export interface ToolRevertContext<OUTPUT = unknown> {
  /** What the call returned, or `null` when that is not known. */
  output: OUTPUT | null
  /** Whether the effect is known to have happened. */
  effectStatus: 'succeeded' | 'unknown'
  /** The key the call was made with. */
  idempotencyKey: string | null
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  /** Number of the call within its task. */
  toolCallSeq: number
}

/** What a host knows about a tool without calling it. */
export interface DefinedToolMetadata {
  name: string
  /** Whether it changes anything outside of the task. */
  sideEffect: boolean
  /** Whether calling it again with the same input is safe. */
  idempotent: boolean
  /** Whether its `execute` takes a context, and so can use `ctx.idempotencyKey`. */
  acceptsIdempotencyKey: boolean
  hasRevert: boolean
  revert?: (args: unknown, ctx: ToolRevertContext) => Promise<void>
}

/** Shared with every other package that defines or reads such tools. */
const key = Symbol.for('smithers.tool.metadata')

/** Puts metadata on a tool, where a copy made by spreading keeps it. */
export function attachToolMetadata<T extends object>(tool: T, metadata: DefinedToolMetadata): T {
  return Object.assign(tool, { [key]: metadata })
}

/**
 * The metadata that `defineTool` attached to a tool.
 *
 * @returns `null` for a plain AI SDK tool, and for anything that is no tool at all.
 */
export function getDefinedToolMetadata(tool: unknown): DefinedToolMetadata | null {
  if ((typeof tool !== 'object' && typeof tool !== 'function') || tool === null) return null
  try {
    const metadata = (tool as { [key]?: unknown })[key]
    return typeof metadata === 'object' && metadata !== null ? (metadata as DefinedToolMetadata) : null
  } catch {
    // An object that cannot be read is no tool either.
    return null
  }
}
