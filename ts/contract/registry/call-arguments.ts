import { type ArgumentLimits, ArgumentProblem, jsonCopy } from '../../core/argument-copy.js'
import { ContractFailure } from './codes.js'

/** The arguments of a call as they were when it came: nobody can change them any more. */
export interface TakenArguments {
  /** Frozen; `undefined` where there are none. */
  readonly args: unknown
  /** How many values there are in them. */
  readonly values: number
  /** How much text. */
  readonly characters: number
  /** Why the call cannot be made with them. What {@link args} holds then is only for records. */
  readonly refusal: ContractFailure | undefined
}

/** A model cannot write as many; a check of as many takes a few hundredths of a second. */
const MOST_VALUES = 20_000
const DEEPEST = 100

/** Two texts of the host's limit fit, for `edit`, and what goes with them. */
const limitsFor = (textBytes: number): ArgumentLimits => ({ values: MOST_VALUES, depth: DEEPEST, characters: 2 * textBytes + 1_000_000 })

/** Copies the arguments of a call, once, before anybody looks at them. */
export function takeArguments(tool: string, given: unknown, textBytes: number): TakenArguments {
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
