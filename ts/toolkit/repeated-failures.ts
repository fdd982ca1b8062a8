/**
 * The same call that fails again in the same words. A model that reads the same refusal a third time is told so, since it has not done
 * what the words advise.
 */
import { createHash } from 'node:crypto'
import { ToolError } from '../core/errors.js'
import { isGenerator } from './streaming-tools.js'

/** The most calls that are remembered. The oldest are forgotten. */
const MAX_CALLS = 64
/** From this failure on a model is told. */
const TOLD = 3
const ORDINALS = ['third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

/** The failures of one set of tools. */
export class RepeatedFailures {
  readonly #failures = new Map<string, { words: string; count: number }>()

  /** Counts a failure. @returns it, with what a model should know of it */
  failed(tool: string, input: unknown, error: unknown): unknown {
    const call = nameOf(tool, input)
    if (call === undefined || !ToolError.isInstance(error)) return error
    // A message can be as long as an output.
    const words = digest(error.message)
    const last = this.#failures.get(call)
    const count = last?.words === words ? last.count + 1 : 1
    this.#failures.delete(call)
    this.#failures.set(call, { words, count })
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > MAX_CALLS && oldest !== undefined) this.#failures.delete(oldest)
    return count < TOLD ? error : withCount(error, count)
  }

  /** A call that has succeeded is not the one that failed any more. */
  succeeded(tool: string, input: unknown): void {
    if (this.#failures.size === 0) return
    const call = nameOf(tool, input)
    if (call !== undefined) this.#failures.delete(call)
  }

  /** The same call, whose failures are counted. A generator stays one. */
  counting<INPUT, CALL, RESULT>(tool: string, execute: (input: INPUT, call: CALL) => RESULT): (input: INPUT, call: CALL) => RESULT {
    const fail = (input: INPUT, error: unknown): never => {
      throw this.failed(tool, input, error)
    }
    const succeed = (input: INPUT): void => this.succeeded(tool, input)
    if (!isGenerator(execute)) {
      // One more promise and no more: reads take some microseconds.
      const counted = (input: INPUT, call: CALL): Promise<unknown> =>
        Promise.resolve<unknown>(execute(input, call)).then(
          (result) => {
            succeed(input)
            return result
          },
          (error: unknown) => fail(input, error),
        )
      return counted as (input: INPUT, call: CALL) => RESULT
    }
    return async function* (input: INPUT, call: CALL) {
      try {
        yield* execute(input, call) as AsyncGenerator<unknown>
        succeed(input)
      } catch (error) {
        fail(input, error)
      }
    } as (input: INPUT, call: CALL) => RESULT
  }
}

function withCount(error: ToolError, count: number): ToolError {
  const which = ORDINALS[count - TOLD] ?? `${count}th`
  const note = `This is the ${which} time that this very call fails in these words: do first what they say, or make another call.`
  const { code, summary, details, cause, hint } = error
  return new ToolError({ code, summary, details, cause, message: `${error.message.trimEnd()}\n${note}`, hint: hint === '' ? note : hint })
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64')

function nameOf(tool: string, input: unknown): string | undefined {
  try {
    return digest(`${tool}\n${JSON.stringify(input)}`)
  } catch {
    // Arguments that are no JSON are no call of a model.
    return undefined
  }
}
