import { type Check, invalid } from '../../core/options.js'
import { ToolError } from '../../core/errors.js'
import type { TaskId, ToolCallRow } from '../../journal/journal-store.js'
import { fingerprintOf, retryWarning, warnedMessages, warnedPrompt } from './retry-warning.js'

/** Tools by their keys. */
export const toolSet: Check<Readonly<Record<string, unknown>>> = (value, name) => {
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object of tools.`)
  return { ...value }
}

/** A message of a user, as the AI SDK takes it. */
export interface WarningMessage {
  role: 'user'
  content: string
}

/** One attempt of a task, as the function passed to `runTask` sees it. */
export interface Task {
  readonly runId: string
  readonly nodeId: string
  readonly iteration: number
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** Aborted by the caller's signal, and when the attempt has failed. */
  readonly signal: AbortSignal
  /** `smithers:RUN:NODE:ITERATION`, the same in every attempt. */
  readonly idempotencyKey: string
  /** What earlier attempts did, or may have done, that must not be repeated blindly. */
  readonly priorEffects: readonly ToolCallRow[]
  /** The warning for the model about them; `null` when there are none. */
  readonly warning: string | null
  /** Whether {@link Task.approve} has to be called before anything may be done (`onReplayUnsafe: 'approve'`). */
  readonly requiresApproval: boolean
  /** A name for what has to be approved, for `runTask({ approved })` later; `null` when there is nothing. */
  readonly fingerprint: string | null
  /** Lets the attempt go on in spite of `priorEffects`. */
  approve(): void
  /**
   * The prompt, after the warning where one is needed; a text that has it keeps it once.
   *
   * @throws {ToolError} REPLAY_UNSAFE while an approval is missing.
   */
  prompt(text: string): string
  /**
   * The messages, and after them the warning where one is needed and is not among them.
   *
   * @throws {ToolError} REPLAY_UNSAFE while an approval is missing.
   */
  messages<M>(messages: readonly M[]): (M | WarningMessage)[]
}

/** What a task is made of. */
export interface TaskParts {
  id: TaskId
  attempt: number
  signal: AbortSignal
  idempotencyKey: string
  priorEffects: readonly ToolCallRow[]
  /** The effects among them that nothing protects, where they need an approval. */
  toApprove: readonly ToolCallRow[]
}

/** Makes the task of one attempt; `guard` throws while an approval is missing. */
export function createTask({ id, attempt, signal, idempotencyKey, priorEffects, toApprove }: TaskParts): {
  task: Task
  guard: (what: string) => void
} {
  let approved = toApprove.length === 0
  const warning = priorEffects.length === 0 ? null : retryWarning(priorEffects)
  const guard = (what: string): void => {
    if (!approved) throw replayUnsafe(id, attempt, toApprove, what)
  }
  const task: Task = {
    ...id,
    attempt,
    signal,
    idempotencyKey,
    priorEffects,
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
      return warning === null ? text : warnedPrompt(warning, text)
    },
    messages(messages) {
      guard('messages')
      return warning === null ? [...messages] : warnedMessages(warning, messages)
    },
  }
  return { task, guard }
}

/** The attempt would repeat effects that no key protects. */
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
