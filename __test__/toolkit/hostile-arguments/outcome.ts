import { ToolError, toolErrorCodes } from 'toolwright'

/** How a call ended. */
export type Outcome = { answer: unknown } | { refusal: ToolError } | { fault: string }

/** No call may take longer, in milliseconds. */
const LIMIT_MS = 10_000

/** Words of a runtime for what nobody has looked at. */
const bare =
  /Cannot (?:read propert|destructure|set|convert)|is not (?:a function|iterable|an object|a constructor)|undefined is not|null is not/iu

/** Makes a call, and tells how it ended; `fault` for what no caller could act upon. */
export async function outcomeOf(work: () => unknown): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ fault: `it did not answer within ${LIMIT_MS} ms` }), LIMIT_MS)
  })
  const ended = (async (): Promise<Outcome> => {
    try {
      return { answer: await settled(work()) }
    } catch (error) {
      return refusalOf(error)
    }
  })()
  const outcome = await Promise.race([ended, late])
  clearTimeout(timer)
  return outcome
}

/** A promise's value, a generator's first; what is open is closed. */
async function settled(returned: unknown): Promise<unknown> {
  const value: unknown = await returned
  const { next, close } = (typeof value === 'object' && value !== null ? value : {}) as { next?: unknown; close?: unknown }
  if (typeof next === 'function') {
    const first: unknown = await next.call(value)
    await (value as AsyncGenerator).return?.(undefined)
    return first
  }
  if (typeof close === 'function') await close.call(value)
  return value
}

function refusalOf(error: unknown): Outcome {
  if (!ToolError.isInstance(error))
    return { fault: `${String((error as Error | undefined)?.name)}: ${String((error as Error | undefined)?.message)}` }
  const { code, message, summary, hint } = error
  if (!toolErrorCodes.includes(code)) return { fault: `the code ${code} is not public` }
  if (summary === '' || hint === '' || bare.test(message)) return { fault: `nobody can act upon: ${message}` }
  return { refusal: error }
}
