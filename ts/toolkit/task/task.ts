import { createHash } from 'node:crypto'
import { ToolError } from '../../core/errors.js'
import { type Check, invalid } from '../../core/options.js'
import { targetOf } from '../../journal/call-target.js'
import type { TaskId, ToolCallRow } from '../../journal/journal-store.js'
import { getDefinedToolMetadata } from '../define-tool.js'

/** Tools by their keys. */
export const toolSet: Check<Readonly<Record<string, unknown>>> = (value, name) => {
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object of tools.`)
  return { ...value }
}

/** A user message of the AI SDK. */
export interface WarningMessage {
  role: 'user'
  content: string
}

/** One attempt of a task, for the function that `runTask` runs. */
export interface Task {
  readonly runId: string
  readonly nodeId: string
  readonly iteration: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** Aborts with the caller's signal, and when the attempt has failed. */
  readonly signal: AbortSignal
  /** `smithers:RUN:NODE:ITERATION`, the same in every attempt. */
  readonly idempotencyKey: string
  /** The effects, certain or possible, of earlier attempts that must not be repeated blindly. */
  readonly priorEffects: readonly ToolCallRow[]
  /** The warning for the model about these effects; `null` if there are none. */
  readonly warning: string | null
  /** Whether calls with a side effect fail until {@link Task.approve} (`onReplayUnsafe: 'approve'`). */
  readonly requiresApproval: boolean
  /** The name of the effects to approve, for a later `runTask({ approved })`; `null` if there are none. */
  readonly fingerprint: string | null
  /** Lets the attempt continue in spite of `priorEffects`. */
  approve(): void
  /**
   * The prompt, after the warning if one is needed. A text that has the warning already does not get it again.
   *
   * @throws {ToolError} REPLAY_UNSAFE while an approval is missing.
   */
  prompt(text: string): string
  /**
   * The messages, followed by the warning if one is needed and is not among them.
   *
   * @throws {ToolError} REPLAY_UNSAFE while an approval is missing.
   */
  messages<M>(messages: readonly M[]): (M | WarningMessage)[]
}

/**
 * Makes the task of one attempt; `guard` throws while an approval is missing.
 *
 * @param toApprove the prior effects that nothing protects, where they need an approval.
 */
export function createTask(
  id: TaskId,
  parts: Pick<Task, 'attempt' | 'signal' | 'idempotencyKey' | 'priorEffects'>,
  toApprove: readonly ToolCallRow[],
): { task: Task; guard: (what: string) => void } {
  const { attempt, priorEffects } = parts
  let approved = toApprove.length === 0
  const warning = priorEffects.length === 0 ? null : retryWarning(priorEffects)
  const guard = (what: string): void => {
    if (!approved) throw replayUnsafe(id, attempt, toApprove, what)
  }
  const task: Task = {
    ...id,
    ...parts,
    warning,
    fingerprint: toApprove.length === 0 ? null : fingerprintOf(toApprove),
    get requiresApproval() {
      return !approved
    },
    approve() {
      approved = true
    },
    prompt(text) {
      guard('prompt')
      return warning === null || text.includes(MARKER) ? text : `${warning}\n\n${text}`
    },
    messages(messages) {
      guard('messages')
      return warning === null || messages.some(isMarked) ? [...messages] : [...messages, { role: 'user', content: warning }]
    },
  }
  return { task, guard }
}

/** The error of an attempt that would repeat effects that no key protects. */
export function replayUnsafe(id: TaskId, attempt: number, effects: readonly ToolCallRow[], what: string): ToolError {
  const named = effects.map(({ toolName, attempt: of, seq, status }) => ({ toolName, attempt: of, seq, status }))
  const summary = 'Replay would re-execute non-idempotent side effects without a usable idempotency key'
  const first = named.slice(0, 5).map((effect) => `${effect.toolName} (attempt ${effect.attempt}, seq ${effect.seq})`)
  if (named.length > first.length) first.push(`and ${named.length - first.length} more`)
  return new ToolError({
    code: 'REPLAY_UNSAFE',
    summary,
    place: `${summary}: ${first.join(', ')}`,
    hint: 'Registered revert handlers do not make forward replay safe. Look at what these calls changed, then approve the attempt (task.approve(), or approved: true).',
    details: { ...id, attempt, what, effects: named, fingerprint: fingerprintOf(effects) },
  })
}

const MARKER = '[smithers:tool-resume-warning]'
const MAX_TARGET_LENGTH = 160
const MAX_NAMED = 5

/** The warning about the effects of earlier attempts, in the words of the Smithers engine. */
function retryWarning(effects: readonly ToolCallRow[]): string {
  const named = effects.slice(0, MAX_NAMED).map(({ toolName, attempt, seq, hasRevert, ...row }) => {
    const suffix = hasRevert === true ? ', registered revert handler' : ''
    return `- tool ${toolName} (attempt ${attempt}, seq ${seq}, status ${statusWord(row)}${suffix})${targetNote(row)}`
  })
  const more = effects.length - named.length
  return [
    `${MARKER} Previous attempts in this task already ran non-idempotent side effects.`,
    'Those side effects may already have happened before the interruption or retry.',
    'Do not blindly call them again. Verify external state first or continue from the prior result.',
    'Smithers will reuse the same ctx.idempotencyKey for defineTool retries.',
    'A registered revert handler can compensate discard-time travel, but does not make forward replay safe.',
    'Previously recorded effects:',
    ...named,
    ...(more > 0 ? [`- ...and ${more} more`] : []),
  ].join('\n')
}

/** The target of the call on a line of its own, for the model to verify whether the effect happened. */
function targetNote(row: Pick<ToolCallRow, 'kind' | 'inputJson'>): string {
  const target = targetOf(row).replaceAll(/\s+/gu, ' ')
  if (target === '') return ''
  return `\n  on ${target.length > MAX_TARGET_LENGTH ? `${target.slice(0, MAX_TARGET_LENGTH)}…` : target}`
}

/** The status as that engine words it: a call that failed may have had its effect. */
function statusWord({ status }: Pick<ToolCallRow, 'status'>): string {
  return { started: 'intended', success: 'succeeded', error: 'unknown', unknown: 'unknown' }[status]
}

function isMarked(message: unknown): boolean {
  const { content } = (message ?? {}) as { content?: unknown }
  const parts: unknown[] = Array.isArray(content) ? content.map((part: { text?: unknown } | null) => part?.text) : [content]
  return parts.some((text) => typeof text === 'string' && text.includes(MARKER))
}

/** Whether a built-in tool has a side effect. Old rows do not say. */
const builtInEffects: Readonly<Record<string, boolean>> = {
  read: false,
  grep: false,
  write: true,
  edit: true,
  apply_patch: true,
  bash: true,
}

/**
 * The effects that count: where a row does not say whether its tool has side effects, the tool of that
 * key or name decides; an unknown tool does not count.
 */
export function effectsThatCount(rows: readonly ToolCallRow[], tools: Readonly<Record<string, unknown>>): ToolCallRow[] {
  return rows.filter(({ sideEffect, toolName, kind }) => {
    if (sideEffect !== null) return sideEffect
    if (kind === 'task') return false
    const tool = Object.hasOwn(tools, toolName)
      ? tools[toolName]
      : Object.values(tools).find((one) => getDefinedToolMetadata(one)?.name === toolName)
    const metadata = getDefinedToolMetadata(tool)
    if (metadata !== null) return metadata.sideEffect && !metadata.idempotent
    return Object.hasOwn(builtInEffects, toolName) && builtInEffects[toolName] === true
  })
}

/** Whether an idempotency key protects an effect: its tool says so, or the call has read it. The built-in tools use no key. */
export function isKeyed({ acceptsIdempotencyKey, toolName }: ToolCallRow): boolean {
  return acceptsIdempotencyKey === true && !Object.hasOwn(builtInEffects, toolName)
}

/** A name for these effects, so that an approval is one of these and of no others. */
export function fingerprintOf(effects: readonly ToolCallRow[]): string {
  const entries = effects.map(({ toolName, attempt, seq }) => [toolName, attempt, seq] as const)
  entries.sort((a, b) => (a[0] === b[0] ? a[1] - b[1] || a[2] - b[2] : a[0] < b[0] ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex')
}
