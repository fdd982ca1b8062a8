/**
 * Preliminary results of a growing output. Each result of the AI SDK replaces the one before, and the last comes twice. So a
 * result has only the end of a long output, and results come in proportion to the output: together they have half the size of
 * the output, or one window a second if that is more.
 */
import type { FinishedCommand } from '../../../index.js'
import { setTimeout } from 'node:timers/promises'
import { settledWithin } from '../../core/abort.js'
import { startStep } from '../../core/call-channel.js'
import { type CommandFacts, type CommandMessage, programName } from '../../core/call-message.js'
import type { CommandPatches } from '../../core/command-patches.js'
import { ToolError } from '../../core/errors.js'
import { stream } from '../../core/native.js'
import type { CommandPlan } from './call-plan.js'

/** The pause between two parts of the output, in milliseconds. */
const PAUSE_MS = 10

/** Runs a command. Yields the output so far, or the end of a long output, and last the whole output. */
export async function* streamCommand(
  { settings, command, limits }: CommandPlan,
  onEnd: (ended: FinishedCommand) => void,
  patches: CommandPatches,
): AsyncGenerator<string, void, undefined> {
  const events = stream(limits, (addon, cancel) =>
    addon.bashStream(settings(addon), command, cancel, patches.of(addon, [command.cmd, ...command.args])),
  )
  const live = new LiveOutput()
  const step = startStep('command', { program: programName(command.cmd) })
  let isOver = false
  const end = (error?: unknown, ended?: FinishedCommand): void => {
    if (step === undefined || isOver) return
    isOver = true
    noteExit(step.message, error, ended)
    if (error === undefined) step.succeeded()
    else step.failed(error)
  }
  let last = ''
  try {
    let next = nextOf(events)
    for (;;) {
      const dueInMs = live.dueIn(performance.now())
      if (dueInMs !== undefined && !(await settledWithin(next, dueInMs))) {
        yield (last = live.take(performance.now()))
        continue
      }
      const event = await next
      if (event.done === true) {
        const { output: whole } = event.value
        end(undefined, event.value)
        onEnd(event.value)
        if (whole !== last || whole === '') yield whole
        return
      }
      live.add(event.value.text)
      if (live.dueIn(performance.now()) === 0) yield (last = live.take(performance.now()))
      await setTimeout(PAUSE_MS)
      next = nextOf(events)
    }
  } catch (error) {
    end(error)
    throw error
  } finally {
    await events.return({ output: '', leftRunning: 0, notes: [], connections: [], denials: [], masked: [] })
    end(new DOMException('The results were no longer wanted', 'AbortError'))
  }
}

/** Sets the outcome of a command on the call's message. Only a failure adds to it. */
export function noteExit(message: CommandMessage, error: unknown, ended?: CommandFacts): void {
  if (ended !== undefined) message.call?.noteCommand(ended)
  const { code, details } = ToolError.isInstance(error) ? error : {}
  if (code === 'PROCESS_TIMEOUT') message.timedOut = true
  const exitCode = error === undefined ? 0 : details?.['exitCode']
  if (typeof exitCode !== 'number') return
  message.exitCode = exitCode
  message.call?.commandEnded(exitCode)
}

/** The next event. It may fail while nothing waits for it, because the reader still handles the previous one. */
function nextOf<T, R>(events: AsyncGenerator<T, R, undefined>): Promise<IteratorResult<T, R>> {
  const next = events.next()
  next.catch(() => undefined)
  return next
}

/** The most characters of a preliminary result. */
const WINDOW = 4_000
/** The shortest time between two results, in milliseconds. More results would not help a reader. */
const MIN_INTERVAL_MS = 100
/** The longest time between two results while there is new output, in milliseconds. */
const MAX_INTERVAL_MS = 1_000

/** The output of one command so far, and the time of its next result. */
export class LiveOutput {
  #text = ''
  #spent = 0
  #isNew = false
  #lastMs = Number.NEGATIVE_INFINITY

  add(text: string): void {
    this.#text += text
    this.#isNew ||= text !== ''
  }

  /** The milliseconds until the next result; `undefined` if there is no new output. */
  dueIn(now: number): number | undefined {
    if (!this.#isNew) return undefined
    const paid = this.#spent === 0 || this.#spent + Math.min(this.#text.length, WINDOW) <= this.#text.length / 2
    return Math.max(0, this.#lastMs + (paid ? MIN_INTERVAL_MS : MAX_INTERVAL_MS) - now)
  }

  /** The result to show now: the whole output, or its end. */
  take(now: number): string {
    this.#isNew = false
    this.#lastMs = now
    const part = endOf(this.#text)
    this.#spent += part.length
    return part
  }
}

function endOf(text: string): string {
  if (text.length <= WINDOW) return text
  let from = text.length - WINDOW
  // Begins at the start of a line if one is near, and never in the middle of a character.
  const line = text.indexOf('\n', from - 1) + 1
  if (line > 0 && line < from + WINDOW / 2) from = line
  else if (isLowSurrogate(text.charCodeAt(from))) from += 1
  return `[${from} characters before this]\n${text.slice(from)}`
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
