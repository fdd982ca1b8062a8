import type { Validator } from '@cfworker/json-schema'
import { ContractFailure } from './codes.js'
import type { JsonSchema } from './contract-tool.js'

/** Checks the arguments of one tool; throws what the model is told. */
export type CheckArguments = (args: unknown) => void

/** Makes the check of a tool's schema. */
export type MakeCheck = (toolId: string, schema: JsonSchema) => CheckArguments

/** How many things that are wrong are told at once. */
const MOST_TOLD = 5

/** Loads the validator; gives what makes a check of a tool's schema. */
export async function loadArgumentChecks(): Promise<MakeCheck> {
  const { Validator } = await import('@cfworker/json-schema')
  return (toolId, schema) => {
    let validator: Validator | undefined
    return (args) => {
      // The validator writes into the schemas that it is given.
      validator ??= new Validator(structuredClone(schema), draftOf(schema), false)
      const problems = problemsOf(validator, args)
      if (problems.length === 0) return
      const more = problems.length > MOST_TOLD ? `; and ${problems.length - MOST_TOLD} more` : ''
      const told = problems.slice(0, MOST_TOLD).join('; ')
      throw new ContractFailure(
        'invalid_arguments',
        `Invalid arguments for ${toolId}: ${told}${more}. Correct them and call again.`,
      )
    }
  }
}

function draftOf({ $schema }: JsonSchema): '7' | '2019-09' | '2020-12' {
  const named = typeof $schema === 'string' ? $schema : ''
  if (named.includes('2020-12')) return '2020-12'
  return named.includes('2019-09') ? '2019-09' : '7'
}

function problemsOf(validator: Validator, args: unknown): string[] {
  // Arguments that are no JSON can come from a direct call.
  if (args === undefined) return ['the arguments are missing']
  try {
    const { valid, errors } = validator.validate(args)
    if (valid) return []
    const told = errors.filter(({ keyword }) => !framing.has(keyword)).map(describeProblem)
    return told.length > 0 ? [...new Set(told)] : ['they do not fit the schema']
  } catch (error) {
    return [error instanceof Error ? error.message : 'they cannot be checked']
  }
}

/** Keywords that only say that something further down is wrong. */
const framing = new Set(['properties', 'items', 'prefixItems', 'additionalProperties', '$ref', 'allOf', 'dependentSchemas'])

interface Problem {
  instanceLocation: string
  keyword: string
  error: string
}

/** `/questions/0/question: …`, with the place as a JSON pointer. */
function describeProblem({ instanceLocation, keyword, error }: Problem): string {
  const path = instanceLocation.replace(/^#/u, '')
  if (keyword === 'false') return `${path}: there is no such property`
  return `${path === '' ? '/' : path}: ${error.replace(/\.$/u, '')}`
}
