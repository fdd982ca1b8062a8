import { argumentAdvice } from './argument-advice.js'
import { problemsOnThread } from './argument-checks/check-thread.js'
import { type ArgumentSize, type SchemaCost, schemaCost } from './argument-checks/schema-cost.js'
import type { FindProblems } from './argument-checks/schema-problems.js'
import { ContractFailure } from './codes.js'
import type { JsonSchema } from '../registry/contract-tool.js'

/** Checks the arguments of one tool; throws what the model is told. */
export type CheckArguments = (args: unknown, size: ArgumentSize, signal: AbortSignal) => void | Promise<void>

/** Makes the check of a tool's schema. Our own schemas take no longer than their arguments are long. */
export type MakeCheck = (toolId: string, schema: JsonSchema, isOurs?: boolean) => CheckArguments

/** How many things that are wrong are told at once, and how much of each. */
const MOST_TOLD = 5
const MOST_OF_ONE = 2_000

/** What is compared on the host's own thread, about a fiftieth of a second: a plain schema with all that arguments may hold. */
const MOST_COST = 25_000

/** Loads the validator; gives what makes a check of a tool's schema. */
export async function loadArgumentChecks(): Promise<MakeCheck> {
  const { problemFinder } = await import('./argument-checks/schema-problems.js')
  return (toolId, schema, isOurs = false) => {
    let find: FindProblems | undefined
    let cost: SchemaCost | undefined
    return (args, size, signal) => {
      if (args === undefined) return refuse(toolId, schema, args, ['the arguments are missing'])
      if (!isOurs) {
        cost ??= schemaCost(schema)
        if (cost(size) > MOST_COST) return problemsOnThread(schema, args, signal).then((problems) => refuse(toolId, schema, args, problems))
      }
      find ??= problemFinder(schema)
      refuse(toolId, schema, args, find(args))
    }
  }
}

function refuse(toolId: string, schema: JsonSchema, args: unknown, found: readonly string[]): void {
  if (found.length === 0) return
  const { problems, moves } = argumentAdvice(toolId, schema, args, found)
  const more = problems.length > MOST_TOLD ? `; and ${problems.length - MOST_TOLD} more` : ''
  const told = problems.slice(0, MOST_TOLD).map((problem) => (problem.length > MOST_OF_ONE ? `${problem.slice(0, MOST_OF_ONE)}…` : problem))
  const next = [...moves.slice(0, MOST_TOLD), 'Correct them and call again.'].join(' ')
  throw new ContractFailure('invalid_arguments', `Invalid arguments for ${toolId}: ${told.join('; ')}${more}. ${next}`)
}
