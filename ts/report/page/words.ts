/** The page's descriptions of calls, for readers who are not programmers. */
import { formatDuration } from '../format.js'
import type { CallEnding, ReportCall } from '../report-data.js'

/** A word and a sign for each ending, so that colour alone distinguishes none. */
export const endings: Record<CallEnding, { label: string; sign: string; meaning: string }> = {
  success: { label: 'Succeeded', sign: '✓', meaning: 'It ended without an error.' },
  error: { label: 'Failed', sign: '✗', meaning: 'It began and then failed. It may have done a part of its work.' },
  refused: { label: 'Refused', sign: '⊘', meaning: 'It was refused before it did anything. Nothing changed.' },
  unknown: {
    label: 'Unknown',
    sign: '?',
    meaning: 'Nobody knows how far it got: it was stopped, or its program ended. Look at what it changed before doing it again.',
  },
  started: { label: 'Not ended', sign: '…', meaning: 'It is still running, or its program ended and nobody has looked since.' },
}

/** Whether a call did not do its work: what a reviewer looks at first. */
export const isFailure = ({ ending }: ReportCall): boolean => ending === 'error' || ending === 'refused' || ending === 'unknown'

/** The endings in the order of the page. */
export const endingNames = Object.keys(endings) as CallEnding[]

const verbs: Record<string, string> = {
  read: 'Read a file',
  write: 'Wrote a file',
  edit: 'Changed a file',
  grep: 'Searched in files',
  glob: 'Looked for files',
  repo_overview: 'Looked at the repository',
  bash: 'Ran a command',
  web_fetch: 'Fetched a page from the web',
  web_search: 'Searched the web',
  question: 'Asked a person',
  task: 'Gave a task to another agent',
  skill: 'Read instructions for a kind of work',
  todo: 'Updated the list of things to do',
  apply_patch: 'Changed files',
  approval: 'Asked a person to allow a call',
  approval_answer: 'Took the answer of a person',
}

/** What a tool does, in the past tense. */
export const whatItDid = ({ tool, isTask }: ReportCall): string => (isTask ? 'A whole task' : (verbs[tool] ?? `Used the tool “${tool}”`))

/** The task of a call, with its iteration and attempt unless they are the first. */
export function taskName({ nodeId, iteration, attempt }: ReportCall): string {
  const repeated = iteration > 0 ? `, iteration ${iteration}` : ''
  return `${nodeId}${repeated}${attempt > 1 ? `, attempt ${attempt}` : ''}`
}

/** How long a call took; at least 0, because clocks can be set back. */
export const durationMs = ({ startedAtMs, finishedAtMs }: ReportCall): number | null =>
  finishedAtMs === null ? null : Math.max(0, finishedAtMs - startedAtMs)

const meaningOf = (exit: string): string => {
  if (exit === 'timed out') return 'it took longer than it was allowed.'
  return exit.startsWith('exit') ? 'most commands say so that something did not work.' : 'something stopped it.'
}

/** The facts about a call besides its texts. */
export function remarks(call: ReportCall, calls: readonly ReportCall[]): string[] {
  const parts = [endings[call.ending].meaning]
  if (call.exit !== '' && call.ending === 'success')
    parts.push(`Its command ended with ${call.exit}, which the agent was told: ${meaningOf(call.exit)}`)
  if (call.attempt > 1) parts.push(`This is attempt ${call.attempt} of its task: an earlier attempt did not finish.`)
  if (call.waitedMs !== null && call.waitedMs > 0) parts.push(`It waited ${formatDuration(call.waitedMs)} for permission.`)
  const others = calls.filter((other) => other !== call && overlap(call, other)).length
  if (others > 0) parts.push(`${others === 1 ? 'One other call' : `${others} other calls`} ran at the same time.`)
  const before = waitBefore(call, calls)
  if (before !== null && before >= 1_000) parts.push(`${formatDuration(before)} passed since the call before it in this task ended.`)
  if (call.revertStatus === 'reverted') parts.push('It was undone later.')
  else if (call.revertStatus === 'revert-failed') parts.push('Undoing it was tried, and failed.')
  else if (call.revertStatus !== null) parts.push(`Undoing it: ${call.revertStatus}.`)
  if (call.sideEffect === false) parts.push('It changes nothing, so it can be repeated.')
  else if (call.idempotent === true) parts.push('It can be repeated safely.')
  return parts
}

const isTogether = (one: ReportCall, other: ReportCall): boolean =>
  one.runId === other.runId && one.nodeId === other.nodeId && one.iteration === other.iteration && one.attempt === other.attempt

function overlap(one: ReportCall, other: ReportCall): boolean {
  if (one.runId !== other.runId || one.isTask || other.isTask) return false
  const end = (call: ReportCall): number => call.finishedAtMs ?? call.startedAtMs
  return one.startedAtMs < end(other) && other.startedAtMs < end(one)
}

/** How long the task was idle before this call; `null` for the first. */
function waitBefore(call: ReportCall, calls: readonly ReportCall[]): number | null {
  let last: number | null = null
  for (const other of calls) {
    if (other === call || !isTogether(call, other) || other.startedAtMs > call.startedAtMs || other.row >= call.row) continue
    last = Math.max(last ?? 0, other.finishedAtMs ?? call.startedAtMs)
  }
  return last === null ? null : Math.max(0, call.startedAtMs - last)
}

/** A summary of the shown calls, in two or three sentences. */
export function summary(calls: readonly ReportCall[]): string {
  if (calls.length === 0) return 'No calls are shown.'
  const tasks = new Set(calls.map((call) => `${call.runId}\n${call.nodeId}`)).size
  const start = calls.reduce((least, call) => Math.min(least, call.startedAtMs), Number.POSITIVE_INFINITY)
  const end = calls.reduce((latest, call) => Math.max(latest, call.finishedAtMs ?? call.startedAtMs), 0)
  const count = (ending: CallEnding): number => calls.filter((call) => call.ending === ending).length
  const sentences = [
    `${counted(calls.length, 'call')} of ${counted(new Set(calls.map(({ tool }) => tool)).size, 'tool')} in ${counted(tasks, 'task')}, within ${formatDuration(end - start)}.`,
  ]
  const bad = [
    [count('error'), 'failed'],
    [count('refused'), 'refused before anything was done'],
    [count('unknown'), 'with an unknown outcome'],
    [count('started'), 'not ended'],
  ] as const
  const named = bad.filter(([amount]) => amount > 0).map(([amount, what]) => `${amount.toLocaleString()} ${what}`)
  sentences.push(named.length === 0 ? 'All of them succeeded.' : `${count('success').toLocaleString()} succeeded, ${named.join(', ')}.`)
  return sentences.join(' ')
}

const counted = (amount: number, noun: string): string => `${amount.toLocaleString()} ${noun}${amount === 1 ? '' : 's'}`
