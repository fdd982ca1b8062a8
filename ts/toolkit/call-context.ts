import type { CallContext } from '../journal/calls/call-record.js'
import type { ToolContext } from '../journal/calls/context.js'
import { resolveSettings } from './settings.js'
import type { DefinedToolMetadata } from './tool-metadata.js'

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
   * every call of the task (by tool, arguments, and their number among equal calls), as a payment
   * API needs it. `null` outside of a task.
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

/** The context of a tool of `defineTool`; its number and its key are known once the call is being recorded. */
export function completeContext(
  base: CallContext,
  ambient: ToolContext | undefined,
  { name, sideEffect, idempotent }: DefinedToolMetadata,
): DefinedToolContext {
  const { rootDir, allowNetwork, maxOutputBytes, timeoutMs } = resolveSettings(ambient, {})
  const ctx: DefinedToolContext = {
    db: {},
    runId: ambient?.runId ?? '',
    nodeId: ambient?.nodeId ?? '',
    iteration: ambient?.iteration ?? 0,
    attempt: ambient?.attempt ?? 0,
    durabilitySnapshot: ambient?.durabilitySnapshot?.bind(ambient) ?? skipSnapshot,
    rootDir,
    allowNetwork,
    maxOutputBytes,
    timeoutMs,
    toolName: name,
    sideEffect,
    idempotent,
    ...base,
  }
  if (ambient !== undefined) addOwnFields(ambient, ctx)
  if (base.toolCallId !== undefined) ctx.toolUseId = base.toolCallId
  return ctx
}

/** Passes on what else a host has put into its context for its own tools. */
function addOwnFields(ambient: ToolContext, ctx: DefinedToolContext): void {
  const fields: Record<string, unknown> = { ...ambient }
  const known = ctx as unknown as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && (known[name] === undefined || name === 'db')) known[name] = value
  }
}

async function skipSnapshot(): Promise<{ skipped: true }> {
  return { skipped: true }
}
