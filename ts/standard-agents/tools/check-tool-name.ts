import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import { isWellFormed } from '../../core/text.js'

/** The longest name that a store accepts, in bytes. */
const MOST_BYTES = 512
/** Control characters, and characters that change the direction of text. */
const unfit = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/**
 * Checks a name under which a call is stored.
 *
 * @throws {ToolError} INVALID_INPUT for a value that is not a string, THREAD_NAME_REFUSED for a name that no store accepts.
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
