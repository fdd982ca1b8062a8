import { type ArgumentLimits, ArgumentProblem, jsonCopy } from '../../core/argument-copy.js'
import { withoutAbsent } from '../../core/optional-arguments.js'
import type { JsonSchema } from './contract-tool.js'
import { ContractFailure } from './envelope.js'

/** More than a model writes. Checking this many values takes some tens of milliseconds. */
const MAX_VALUES = 20_000
const MAX_DEPTH = 100

/** Room for the two texts of `edit` at the host's limit, and for the other arguments. */
const limitsFor = (textBytes: number): ArgumentLimits => ({ values: MAX_VALUES, depth: MAX_DEPTH, characters: 2 * textBytes + 1_000_000 })

/**
 * Copies the arguments of a call once, before any check: frozen, without optional ones that say nothing, with the number of values and the length of all texts in
 * them. Arguments with which the call cannot be made come with the refusal, and serve only records.
 */
export function snapshotArguments(tool: string, schema: JsonSchema | undefined, input: unknown, textBytes: number) {
  try {
    const { value, values, characters } = jsonCopy(input, limitsFor(textBytes))
    const args = schema === undefined ? value : withoutAbsent(schema, value)
    return { args, values, characters, refusal: undefined }
  } catch (error) {
    if (!(error instanceof ArgumentProblem)) throw error
    const code = error.limit === 'characters' ? 'too_large' : 'invalid_arguments'
    const text = `Invalid arguments for ${tool}: ${error.message}. ${moves[error.limit ?? 'none']}`
    return { args: Object.freeze({ refused: error.message }), values: 1, characters: 0, refusal: new ContractFailure(code, text) }
  }
}

const moves = {
  none: 'Correct them and call again.',
  depth: 'Give them with fewer levels.',
  values: 'Call again with fewer at once.',
  characters: 'Divide them over several calls.',
} as const
