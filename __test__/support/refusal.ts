import { ToolError } from 'toolwright'
import { expect } from 'vitest'

/** The `ToolError` that a call rejects with; anything else fails the test. */
export async function refusal(call: Promise<unknown>): Promise<ToolError> {
  const settled = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in settled)) throw new Error(`expected an error, got ${JSON.stringify(settled.value)}`)
  if (!ToolError.isInstance(settled.error)) throw settled.error
  return settled.error
}

/**
 * What every message of an error promises: it begins with the summary, has the
 * code in brackets and the hint, and sends nobody to a web site.
 */
export function expectReadable(error: ToolError): void {
  expect(error.name).toBe('ToolError')
  expect(error).toBeInstanceOf(Error)
  expect(error.message.startsWith(error.summary), `${error.message} begins with ${error.summary}`).toBe(true)
  expect(error.message).toContain(` [${error.code}]`)
  expect(error.message).toContain(error.hint)
  expect(error.message.indexOf(error.code)).toBeLessThan(error.message.length - error.hint.length)
  // What a message quotes may hold an address of its own.
  expect(error.message.replaceAll(/`[^`]*`/gu, '')).not.toMatch(/https?:\/\//u)
  expect(error).not.toHaveProperty('docsUrl')
}
