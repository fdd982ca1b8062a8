import { parseObject } from '../core/parse-rows.js'
import { targetOf } from '../journal/call-target.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import { shownFork } from './fork-texts.js'

type Given = Record<string, unknown>

/** Descriptions of calls whose arguments name no file, command or address. */
const shown: Record<string, (input: Given) => unknown> = {
  approval: whatWasAsked,
  approval_answer: whatWasAsked,
  fork_apply: shownFork,
  fork_discard: shownFork,
  fork_done: shownFork,
  fork_open: shownFork,
  fork_undo: shownFork,
  process_read: ({ process_id: id }) => id,
  process_stop: ({ process_id: id }) => id,
  process_write: ({ process_id: id }) => id,
  question: ({ questions }) => firstOf(questions)['question'],
  skill: ({ name }) => name,
  task: ({ subagent_type: agent, prompt }) => (typeof agent === 'string' ? [agent, prompt].filter(isText).join(': ') : undefined),
  todo: ({ todos }) => (Array.isArray(todos) ? listed(todos) : undefined),
  tool_search: ({ query }) => query,
  web_search: ({ query }) => query,
}

/** The target of a call, for a reader. No decision depends on it, because a call can have further targets. */
export function shownTarget(call: Pick<ToolCallRow, 'kind' | 'inputJson' | 'toolName'>): string {
  const { toolName, inputJson } = call
  const input = Object.hasOwn(shown, toolName) && inputJson !== null ? parseObject(inputJson) : undefined
  const target = input === undefined ? undefined : shown[toolName]?.(input)
  return isText(target) ? target : targetOf(call)
}

/** The call in a question to the user, with its targets. */
function whatWasAsked({ tool, subjects }: Given): string | undefined {
  return isText(tool) && Array.isArray(subjects) ? [tool, ...subjects.map(String)].join(' ') : undefined
}

/** The progress of a list, and its current entry. */
function listed(todos: unknown[]): string {
  const done = todos.filter((todo) => recordOf(todo)['status'] === 'completed').length
  const { content } = recordOf(todos.find((todo) => recordOf(todo)['status'] === 'in_progress'))
  return [`${done} of ${todos.length} done`, content].filter(isText).join(': ')
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const firstOf = (value: unknown): Given => recordOf(Array.isArray(value) ? (value as unknown[])[0] : undefined)
const recordOf = (value: unknown): Given => (typeof value === 'object' && value !== null ? (value as Given) : {})
