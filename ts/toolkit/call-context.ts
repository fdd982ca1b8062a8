import { getToolIdempotencyKey, type ToolContext } from './context.js'
import { resolveSettings } from './settings.js'
import type { Call } from './run-call.js'

/** The second argument of `execute`: the task's context, completed with defaults. */
export interface DefinedToolContext extends ToolContext {
  /** The host's database handle; an empty object where there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as in a ToolContext
  db: any
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  rootDir: string
  allowNetwork: boolean
  maxOutputBytes: number
  timeoutMs: number
  /** Number of calls made before this one. */
  seq: number
  /**
   * `smithers:RUN:NODE:ITERATION`, or what the host has set: stable across retries and resumes of the
   * same task iteration, and the same for every call of it; `null` outside of a task.
   */
  idempotencyKey: string | null
  /**
   * A key of this call: stable across retries, resumes, processes and machines, and different for
   * every call of the task (by tool, arguments, and their number among equal calls). What a payment
   * interface needs. `null` outside of a task.
   */
  callIdempotencyKey: string | null
  /** The name the tool was defined with. */
  toolName: string
  sideEffect: boolean
  idempotent: boolean
  /** The AI SDK's id of this call, where an agent made it. */
  toolCallId?: string | undefined
  durabilitySnapshot: NonNullable<ToolContext['durabilitySnapshot']>
}

/** The context of one call; its number and its key are known once it is being recorded. */
export function completeContext<ARGS>({ metadata, bound, callOptions }: Call<ARGS>, ambient: ToolContext | undefined): DefinedToolContext {
  const settings = resolveSettings(ambient, bound)
  const ctx: DefinedToolContext = {
    db: {},
    runId: ambient?.runId ?? '',
    nodeId: ambient?.nodeId ?? '',
    iteration: ambient?.iteration ?? 0,
    attempt: ambient?.attempt ?? 0,
    seq: ambient?.seq ?? 0,
    durabilitySnapshot: ambient?.durabilitySnapshot?.bind(ambient) ?? skipSnapshot,
    rootDir: settings.rootDir,
    allowNetwork: settings.allowNetwork,
    maxOutputBytes: settings.maxOutputBytes,
    timeoutMs: settings.timeoutMs,
    idempotencyKey: getToolIdempotencyKey(ambient),
    callIdempotencyKey: null,
    toolName: metadata.name,
    sideEffect: metadata.sideEffect,
    idempotent: metadata.idempotent,
  }
  if (ambient !== undefined) passOn(ambient, ctx)
  const signal = eitherSignal(callOptions.abortSignal, ambient?.signal)
  if (signal !== undefined) ctx.signal = signal
  const toolCallId = callOptions.toolCallId ?? ambient?.toolUseId
  if (toolCallId !== undefined) {
    ctx.toolCallId = toolCallId
    ctx.toolUseId = toolCallId
  }
  return ctx
}

/** What else a host has put into its context is for its own tools to see. */
function passOn(ambient: ToolContext, ctx: DefinedToolContext): void {
  const own: Record<string, unknown> = { ...ambient }
  const known = ctx as unknown as Record<string, unknown>
  for (const name of Object.keys(own)) {
    if (own[name] !== undefined && (known[name] === undefined || name === 'db')) known[name] = own[name]
  }
}

async function skipSnapshot(): Promise<{ skipped: true }> {
  return { skipped: true }
}

/** Aborted when one of the two is. */
export function eitherSignal(a: AbortSignal | null | undefined, b: AbortSignal | null | undefined): AbortSignal | undefined {
  if (!a || !b || a === b) return a ?? b ?? undefined
  return AbortSignal.any([a, b])
}
