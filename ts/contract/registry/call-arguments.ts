import { type ArgumentLimits, ArgumentProblem, jsonCopy } from '../../core/argument-copy.js'
import { ContractFailure } from './envelope.js'

/** The arguments of a call at the moment it was made. Later changes by the caller do not reach them. */
export interface ArgumentSnapshot {
  /** Frozen; `undefined` where there are none. */
  readonly args: unknown
  /** The number of values in them. */
  readonly values: number
  /** The length of all texts in them. */
  readonly characters: number
  /** Why the call cannot be made with these arguments. In this case {@link args} serves only records. */
  readonly refusal: ContractFailure | undefined
}

/** More than a model writes. Checking this many values takes some tens of milliseconds. */
const MAX_VALUES = 20_000
const MAX_DEPTH = 100

/** Room for the two texts of `edit` at the host's limit, and for the other arguments. */
const limitsFor = (textBytes: number): ArgumentLimits => ({ values: MAX_VALUES, depth: MAX_DEPTH, characters: 2 * textBytes + 1_000_000 })

/** Copies the arguments of a call once, before any check. */
export function snapshotArguments(tool: string, given: unknown, textBytes: number): ArgumentSnapshot {
  try {
    const { value: args, values, characters } = jsonCopy(given, limitsFor(textBytes))
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
