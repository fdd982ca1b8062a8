import { nearestName } from '../../core/nearest-name.js'
import { isNames } from '../../core/options.js'
import type { JsonSchema } from '../registry/contract-tool.js'
import { argumentHabits, emptyArguments, unlikelyText } from './argument-habits.js'

/** What is wrong with arguments, and what to do about it. */
export interface ArgumentAdvice {
  problems: string[]
  /** What arguments that the tool does not have are called here. */
  moves: string[]
}

/** Names of arguments are shown up to here. */
const LONGEST_NAME = 100
/** So many unknown arguments are named. */
const MOST_NAMED = 10

/** Turns what a validator says into what helps whoever wrote the arguments: what there is instead of what there is not. */
export function argumentAdvice(tool: string, schema: JsonSchema, args: unknown, found: readonly string[]): ArgumentAdvice {
  const unknown = new Map<string, string[]>()
  const missing: { at: string; name: string }[] = []
  const others: string[] = []
  for (const problem of found) {
    const [, at = '', name] = /^(.*)\/([^/]*): there is no such property$/su.exec(problem) ?? []
    const [, where, required] = /^(.*): Instance does not have required property "(.+)"$/su.exec(problem) ?? []
    if (name !== undefined) unknown.set(at, [...(unknown.get(at) ?? []), unescaped(name)])
    else if (required !== undefined) missing.push({ at: where === '/' ? '' : (where ?? ''), name: required })
    else others.push(plainProblem(tool, schema, problem, args))
  }
  const renamed = new Set<string>()
  const moves: string[] = []
  const problems: string[] = []
  for (const [at, names] of unknown) {
    const known = propertiesAt(schema, at)
    for (const name of names.slice(0, MOST_NAMED)) {
      const move = moveFor(tool, name, known)
      if (move?.to !== undefined) renamed.add(`${at}/${move.to}`)
      if (move !== undefined && !moves.includes(move.text)) moves.push(move.text)
    }
    problems.push(noSuch(tool, at, names, known))
  }
  // A name that was only misspelt is not missing besides.
  const left = missing.filter(({ at, name }) => !renamed.has(`${at}/${name}`))
  problems.push(...left.map(({ at, name }) => `${at === '' ? '/' : at}: \`${name}\` is missing`), ...others)
  return { problems, moves }
}

function noSuch(tool: string, at: string, names: readonly string[], known: readonly string[]): string {
  const shown = names
    .slice(0, MOST_NAMED)
    .map((name) => `\`${at}/${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}\``)
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : ''
  const has = known.length === 0 ? 'no arguments' : known.map((name) => `\`${name}\``).join(', ')
  return `there is no ${shown.join(' and no ')}${more}; ${at === '' ? tool : `\`${at}\``} takes ${has}`
}

/** What an argument that does not exist is called here, or how to do without it. */
function moveFor(tool: string, name: string, known: readonly string[]): { text: string; to?: string } | undefined {
  const habit = argumentHabits(tool, name)
  const plain = plainName(name)
  const to = known.find((one) => one === habit) ?? known.find((one) => plainName(one) === plain)
  if (to !== undefined) return { text: `\`${name}\` is called \`${to}\` here.`, to }
  if (habit?.includes(' ') === true) return { text: habit.replace(/(?<=\b[Ll]eave )it(?= out\b)/u, `\`${name}\``) }
  const near = nearestName(name, known)
  return near === undefined ? undefined : { text: `Did you mean \`${near}\`?`, to: near }
}

/** `caseInsensitive`, `case-insensitive` and `case_insensitive` are one name. */
const plainName = (name: string): string => name.replace(/[^A-Za-z0-9]/gu, '').toLowerCase()

/** One problem in other words, where those of the validator do not say what to do. */
function plainProblem(tool: string, schema: JsonSchema, problem: string, args: unknown): string {
  const [, at = ''] = /^((?:\/[^/:]+)+): /u.exec(problem) ?? []
  const name = at.slice(1)
  if (problem.endsWith(': String is too short (0 < 1)')) return `${at} is empty${emptyArguments(tool, name) ?? ''}`
  if (problem.endsWith(': String does not match pattern')) return `${at} ${unlikelyText(tool, name) ?? 'does not match its pattern'}`
  const [, wanted] = /Instance type "string" is invalid\. Expected "(array|object|integer|number|boolean)"$/u.exec(problem) ?? []
  const advice = wanted === undefined ? undefined : adviceForText(wanted, at, schema, args)
  return advice === undefined ? problem : `${problem}: give ${advice}`
}

/** What to give in place of a text. */
function adviceForText(wanted: string, at: string, schema: JsonSchema, args: unknown): string | undefined {
  const { required } = schemaAt(schema, at)
  const isOfMany = /\/\d+$/u.test(at)
  if (wanted === 'object' && isOfMany && isNames(required)) return `an object with ${required.map((one) => `\`${one}\``).join(' and ')}`
  const name = at.slice(1)
  if (typeof (args as Record<string, unknown> | null)?.[name] !== 'string') return undefined
  if (wanted === 'array' || wanted === 'object') return `\`${name}\` the ${wanted} itself, not a text that holds one`
  return `\`${name}\` without quotes, as ${wanted === 'boolean' ? 'true or false' : 'a number'}`
}

/** The names that the schema has at a place, where that can be told. */
const propertiesAt = (schema: JsonSchema, at: string): string[] => Object.keys(recordOf(schemaAt(schema, at)['properties']))

function schemaAt(schema: JsonSchema, at: string): Record<string, unknown> {
  let here: unknown = schema
  for (const step of at.split('/').slice(1)) {
    const { properties, items } = recordOf(here)
    const named = recordOf(properties)
    here = Object.hasOwn(named, unescaped(step)) ? named[unescaped(step)] : items
  }
  return recordOf(here)
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** A name as a JSON pointer writes it. */
const unescaped = (step: string): string => step.replace(/~1/gu, '/').replace(/~0/gu, '~')
