import { createHash } from 'node:crypto'
import { getDefinedToolMetadata } from '../tool-metadata.js'
import { targetOf } from '../../journal/call-target.js'
import type { ToolCallRow } from '../../journal/journal-store.js'

/** Marks a text that holds the warning. */
const MARKER = '[smithers:tool-resume-warning]'
/** The longest target of an effect, in characters. */
const MAX_TARGET_LENGTH = 160
/** How many effects are named. */
const MAX_NAMED = 5

/** The warning about the effects of earlier attempts, in the words of the Smithers engine. */
export function retryWarning(effects: readonly ToolCallRow[]): string {
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

/** `text` with the warning before it, unless it is there already. */
export function warnedPrompt(warning: string, text: string): string {
  return text.includes(MARKER) ? text : `${warning}\n\n${text}`
}

/** Messages with the warning as the last one, unless it is among them already. */
export function warnedMessages<M>(warning: string, messages: readonly M[]): (M | { role: 'user'; content: string })[] {
  return messages.some(isMarked) ? [...messages] : [...messages, { role: 'user', content: warning }]
}

/** Whether the warning is in the text of a message, or of one of its parts. */
function isMarked(message: unknown): boolean {
  const { content } = (message ?? {}) as { content?: unknown }
  const parts: unknown[] = Array.isArray(content) ? content.map((part: { text?: unknown } | null) => part?.text) : [content]
  return parts.some((text) => typeof text === 'string' && text.includes(MARKER))
}

/** Whether a built-in tool has a side effect. Old rows do not say. */
const builtInEffects: Readonly<Record<string, boolean>> = { read: false, grep: false, write: true, edit: true, bash: true }

/**
 * The effects that count: where a row does not say whether its tool has side effects, the tool of that
 * key or name decides; an unknown tool does not count.
 */
export function effectsThatCount(rows: readonly ToolCallRow[], tools: Readonly<Record<string, unknown>>): ToolCallRow[] {
  return rows.filter(({ sideEffect, toolName, kind }) => {
    if (sideEffect !== null) return sideEffect
    if (kind === 'task') return false
    const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : Object.values(tools).find((one) => nameOf(one) === toolName)
    const metadata = getDefinedToolMetadata(tool)
    if (metadata !== null) return metadata.sideEffect && !metadata.idempotent
    return Object.hasOwn(builtInEffects, toolName) && builtInEffects[toolName] === true
  })
}

const nameOf = (tool: unknown): string | undefined => getDefinedToolMetadata(tool)?.name

/** Whether an idempotency key protects an effect: the built-in tools take a context, and use no key. */
export function isKeyed({ acceptsIdempotencyKey, toolName }: ToolCallRow): boolean {
  return acceptsIdempotencyKey === true && !Object.hasOwn(builtInEffects, toolName)
}

/** A name for these effects, so that an approval is one of these and of no others. */
export function fingerprintOf(effects: readonly ToolCallRow[]): string {
  const entries = effects.map(({ toolName, attempt, seq }) => [toolName, attempt, seq] as const)
  entries.sort((a, b) => (a[0] === b[0] ? a[1] - b[1] || a[2] - b[2] : a[0] < b[0] ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex')
}
