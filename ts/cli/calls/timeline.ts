import type { ToolCallRow } from '../../journal/journal-store.js'
import { durationOf, type Ending, endingOf, errorOf, exitOf, inputBytesOf, outputBytesOf } from '../../report/call-fields.js'
import { shownTarget } from '../../report/shown-target.js'
import { cut, formatBytes, formatDate, formatDuration, formatTime } from '../../report/format.js'
import { cutToWidth, textWidth, wrapped } from '../../core/columns.js'
import { printable } from '../../core/printable.js'
import { joined, painted, type Part, shown, type TerminalText } from '../../core/terminal.js'

/** The most characters of a name, a target or a reason, on a terminal of any width. */
const MAX_TEXT = 200
/** How many calls make one part of the output. */
const BATCH = 200
/** The widest column of tools. A longer name shifts the rest of its line. */
const MAX_TOOL_WIDTH = 16
/** A terminal with fewer columns is shown less of a call: no bytes, and its start to the second. */
const WIDE = 80
/** A target with fewer columns stands on a line of its own. */
const LEAST_TARGET = 16
/** How far a target on its own line, and the rest of a heading, are indented. */
const INDENT = 4

const colours: Record<Ending, 'red' | 'green' | 'yellow'> = {
  started: 'yellow',
  success: 'green',
  error: 'red',
  refused: 'yellow',
  unknown: 'yellow',
}
const ENDING_WIDTH = Math.max(...Object.keys(colours).map(({ length }) => length))

/** Calls as lines: a heading for each run, one for each attempt of a task, a line for each call. */
export interface Timeline {
  /** All calls of a run, in the order in which they began, in parts of several lines. */
  parts(calls: readonly ToolCallRow[], onUnread?: (call: ToolCallRow, error: unknown) => void): Iterable<TerminalText>
  /** The next call of a journal that is followed, with the headings that it needs. */
  next(call: ToolCallRow): TerminalText
}

/** Makes a timeline for a terminal of this width; without a width, for a file or a pipe. `leftOpen` are calls whose process is gone. */
export function makeTimeline(options: { isColoured: boolean; columns?: number | undefined; leftOpen?: ReadonlySet<number> }): Timeline {
  const paint = (look: Parameters<typeof painted>[0], text: Part): TerminalText =>
    options.isColoured ? painted(look, text) : shown`${text}`
  const columns = options.columns ?? Number.POSITIVE_INFINITY
  let run: string | undefined
  let task: string | undefined
  let toolWidth = 0

  const isWide = columns >= WIDE

  const fit = (text: string, taken: number): string => cutToWidth(printable(text), Math.min(MAX_TEXT, Math.max(10, columns - taken)))

  const runHeading = (first: ToolCallRow, calls: readonly ToolCallRow[]): TerminalText => {
    const gap = run === undefined ? shown`` : shown`\n`
    run = first.runId
    task = undefined
    toolWidth = 'tool'.length
    for (const call of calls) widen(call)
    const name = fit(`run ${first.runId}`, 0)
    const rest = [formatDate(first.startedAtMs), ...summary(calls)].join('  ')
    const isShort = textWidth(name) + 2 + rest.length <= columns
    const indented = `${' '.repeat(INDENT)}${rest}`
    const lines = isShort ? [`  ${rest}`] : ['', ...wrapped(indented, Math.max(columns, 2 * INDENT)).split('\n')]
    return shown`${gap}${paint('bold', name)}${joined(lines, shown`\n`)}\n${columnHeadings()}`
  }

  /** The names of the columns, over the calls of a run. */
  const columnHeadings = (): TerminalText => {
    const bytes = isWide ? ` ${'in→out'.padStart(11)}` : ''
    const before = `  ${'start'.padEnd(isWide ? 12 : 8)}  # ${'tool'.padEnd(toolWidth)} ${'status'.padEnd(ENDING_WIDTH)}`
    const heading = `${before} ${'time'.padStart(6)}${bytes}`
    const target = columns - heading.length - 2 >= LEAST_TARGET ? '  target' : ''
    return shown`${paint('dim', cutToWidth(`${heading}${target}`, columns))}\n`
  }

  const taskHeading = (call: ToolCallRow): TerminalText => {
    const name = taskOf(call)
    if (name === task) return shown``
    task = name
    return shown` ${fit(name, 1)}\n`
  }

  const widen = (call: ToolCallRow): void => {
    toolWidth = Math.max(toolWidth, Math.min(MAX_TOOL_WIDTH, toolOf(call).length))
  }

  const line = (call: ToolCallRow): TerminalText => {
    const ending = endingOf(call)
    widen(call)
    const bytes = isWide ? ` ${`${formatBytes(inputBytesOf(call))}→${formatBytes(outputBytesOf(call))}`.padStart(11)}` : ''
    const start = isWide ? formatTime(call.startedAtMs) : formatTime(call.startedAtMs).slice(0, '00:00:00'.length)
    const tool = isWide ? toolOf(call) : cutToWidth(toolOf(call), MAX_TOOL_WIDTH)
    const before = `  ${start} ${String(call.seq).padStart(2)} ${tool.padEnd(toolWidth)} `
    const after = ` ${formatDuration(durationOf(call)).padStart(6)}${bytes}  `
    const marks = [call.revertStatus ?? '', exitOf(call)].filter(Boolean).map((mark) => `[${mark}] `)
    const target = `${marks.join('')}${shownTarget(call)}`
    const taken = textWidth(before) + ENDING_WIDTH + textWidth(after)
    const status = paint(colours[ending], ending.padEnd(ENDING_WIDTH))
    const facts = shown`${before}${status}${paint('dim', after)}`
    if (columns - taken >= LEAST_TARGET) return shown`${shown`${facts}${fit(target, taken)}`.trimEnd()}\n${reason(call, ending)}`
    const below = target === '' ? '' : shown`${' '.repeat(INDENT)}${fit(target, INDENT)}\n`
    return shown`${facts.trimEnd()}\n${below}${reason(call, ending)}`
  }

  /** The reason for a failure, on a line of its own below the call. */
  const reason = (call: ToolCallRow, ending: Ending): TerminalText => {
    const isLeft = options.leftOpen?.has(call.row) === true
    const why = isLeft ? 'its process is gone, and nobody knows how it ended' : errorOf(call)
    const indent = ' '.repeat(isWide ? '  00:00:00.000 00 '.length : INDENT)
    return why === '' ? shown`` : shown`${indent}${paint(colours[ending], fit(why, indent.length))}\n`
  }

  return {
    *parts(calls, onUnread) {
      const [first] = calls
      if (first === undefined) return
      yield runHeading(first, calls)
      for (let start = 0; start < calls.length; start += BATCH) {
        const lines = calls.slice(start, start + BATCH).map((call) => {
          try {
            return shown`${taskHeading(call)}${line(call)}`
          } catch (error) {
            if (onUnread === undefined) throw error
            onUnread(call, error)
            return shown``
          }
        })
        yield joined(lines)
      }
    },
    next(call) {
      const heading = call.runId === run ? shown`` : runHeading(call, [])
      return shown`${heading}${taskHeading(call)}${line(call)}`
    },
  }
}

function toolOf({ kind, toolName }: ToolCallRow): string {
  return kind === 'task' ? 'task' : cut(printable(toolName), MAX_TEXT)
}

/** The task of a call, with its iteration and attempt unless they are the first. */
function taskOf({ nodeId, iteration, attempt }: ToolCallRow): string {
  return [nodeId, ...(iteration > 0 ? [`iteration ${iteration}`] : []), ...(attempt > 1 ? [`attempt ${attempt}`] : [])].join(', ')
}

/** How many calls there are, how many did not succeed, and how long they took; empty without calls. */
function summary(calls: readonly ToolCallRow[]): string[] {
  if (calls.length === 0) return []
  const counts = new Map<Ending, number>()
  let began = Number.POSITIVE_INFINITY
  let ended = 0
  for (const call of calls) {
    const ending = endingOf(call)
    counts.set(ending, (counts.get(ending) ?? 0) + 1)
    began = Math.min(began, call.startedAtMs)
    ended = Math.max(ended, call.finishedAtMs ?? 0)
  }
  const others = (['error', 'refused', 'unknown', 'started'] as const).flatMap((ending) => {
    const count = counts.get(ending)
    return count === undefined ? [] : [`${count} ${counted(ending, count)}`]
  })
  const all = `${calls.length} ${calls.length === 1 ? 'call' : 'calls'}`
  return [[all, ...others].join(', '), formatDuration(ended === 0 ? null : Math.max(0, ended - began))]
}

/** A word for calls that did not succeed, behind their number. */
function counted(ending: Ending, count: number): string {
  if (ending === 'started') return 'not ended'
  return ending === 'error' && count !== 1 ? 'errors' : ending
}

/** Whether to use colours: on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function wantsColours(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}
