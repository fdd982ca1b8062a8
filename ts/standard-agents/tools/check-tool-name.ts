import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import { isWellFormed } from '../../core/well-formed.js'

/** The most bytes of a name that a store keeps. */
const MOST_BYTES = 512
/** Control characters, and what turns the direction of the text around it. */
const unfit = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/**
 * A name that a call can be stored under.
 *
 * @throws {ToolError} INVALID_INPUT for what is no string, THREAD_NAME_REFUSED for what no store takes.
 */
export function checkToolName(caller: string, name: unknown): asserts name is string {
  if (typeof name !== 'string') throw invalid(`${caller}: a tool is called by its name, which is a string.`)
  const fault = faultOf(name)
  if (fault === undefined) return
  const summary = 'Name refused'
  throw new ToolError({
    code: 'THREAD_NAME_REFUSED',
    summary,
    place: `${summary}: the tool name given to ${caller} ${fault}`,
    hint: 'Give the name of a tool of the thread, on one line.',
    details: { toolName: name.slice(0, 100) },
  })
}

function faultOf(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (!isWellFormed(name)) return 'has half of a surrogate pair'
  if (Buffer.byteLength(name) > MOST_BYTES) return `is longer than ${MOST_BYTES} bytes`
  return unfit.test(name) ? 'holds a control character' : undefined
}
