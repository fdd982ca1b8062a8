/** Arguments that do not fit the schema of a tool, and what to send in their place: the words of every door. */
import { type ToolError, withHint } from '../errors.js'
import { invalid, isNames } from '../options.js'
import { printable } from '../printable.js'
import { nearestName } from '../text.js'

type JsonSchema = Readonly<Record<string, unknown>>

/** Values by a name. */
export type Habits = Readonly<Record<string, string>>

/** What one door knows of its tools, by their ids. */
export interface ToolWords {
  /** The name that an argument of other tools has here, or a sentence about how to do without it. */
  habits: Readonly<Record<string, Habits>>
  /** What follows after the name of an argument that is empty. */
  empty?: Readonly<Record<string, Habits>>
  /** The problem of a text that does not match its pattern. */
  unlikely?: Readonly<Record<string, Habits>>
}

/** Several names for one argument, or with one remark. */
export const all = (names: string, value: string): Habits => Object.fromEntries(names.split(' ').map((name) => [name, value]))

/** How many problems a failure lists, and how much of each. */
const MAX_PROBLEMS = 5
const MAX_PROBLEM_LENGTH = 2_000

const NEXT = 'Correct them and call again.'

/** The error of a call that no schema has checked, with the text of a refusal. */
export function refusedArguments(text: string): ToolError {
  return withHint(invalid(text.endsWith(NEXT) ? text.slice(0, -NEXT.length).trimEnd() : text), NEXT)
}

/** The text of a refusal. `findings` are in the words of the validator of JSON Schema. */
export function refusalText(words: ToolWords, tool: string, schema: JsonSchema, args: unknown, findings: readonly string[]): string {
  const { problems, moves } = argumentAdvice(words, tool, schema, args, findings)
  const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : ''
  const listed = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => (problem.length > MAX_PROBLEM_LENGTH ? `${problem.slice(0, MAX_PROBLEM_LENGTH)}…` : problem))
  const next = [...moves.slice(0, MAX_PROBLEMS), NEXT].join(' ')
  return `Invalid arguments for ${tool}: ${listed.join('; ')}${more}. ${next}`
}

/** Longer names of arguments are cut. */
const MAX_NAME_LENGTH = 100
const MAX_NAMED = 10
const NO_PATTERN = ': String does not match pattern'
const EMPTY = ': String is too short (0 < 1)'

/**
 * Turns the output of the validator into advice for the author of the arguments: which arguments exist, and how to write
 * them. `moves` say what arguments that the tool does not have are called here.
 */
function argumentAdvice(words: ToolWords, tool: string, schema: JsonSchema, args: unknown, findings: readonly string[]) {
  const unknown = new Map<string, string[]>()
  const missing: { at: string; name: string }[] = []
  const others: string[] = []
  // There may be as many as a model can write.
  const known = new Set(findings)
  for (const problem of findings) {
    // An empty text fits no pattern either, and is reported as that.
    if (problem.endsWith(NO_PATTERN) && known.has(problem.replace(NO_PATTERN, EMPTY))) continue
    const [, at = '', name] = /^(.*)\/([^/]*): there is no such property$/su.exec(problem) ?? []
    const [, where, required] = /^(.*): Instance does not have required property "(.+)"$/su.exec(problem) ?? []
    if (name !== undefined) {
      const names = unknown.get(at)
      if (names === undefined) unknown.set(at, [unescaped(name)])
      else names.push(unescaped(name))
    } else if (required !== undefined) missing.push({ at: where === '/' ? '' : (where ?? ''), name: required })
    else others.push(plainProblem(words, tool, schema, problem, args))
  }
  const renamed = new Set<string>()
  const moves: string[] = []
  const problems: string[] = []
  for (const [at, names] of unknown) {
    const allowed = propertiesAt(schema, at)
    for (const name of names.slice(0, MAX_NAMED)) {
      const move = moveFor(words, tool, name, { allowed, given: at === '' ? args : undefined })
      if (move?.to !== undefined) renamed.add(`${at}/${move.to}`)
      if (move !== undefined && !moves.includes(move.text)) moves.push(move.text)
    }
    problems.push(noSuch(tool, at, names, allowed))
  }
  // A misspelt name is not reported as missing too.
  const stillMissing = missing.filter(({ at, name }) => !renamed.has(`${at}/${name}`))
  problems.push(...stillMissing.map(({ at, name }) => `${at === '' ? '/' : at}: \`${name}\` is missing`), ...others)
  return { problems, moves }
}

function noSuch(tool: string, at: string, names: readonly string[], allowed: readonly string[]): string {
  const listed = names.slice(0, MAX_NAMED).map((name) => `\`${at}/${shown(name)}\``)
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
  const has = allowed.length === 0 ? 'no arguments' : allowed.map((name) => `\`${name}\``).join(', ')
  return `there is no ${listed.join(' and no ')}${more}; ${at === '' ? tool : `\`${at}\``} takes ${has}`
}

/** A model may name anything, and the message may come to a terminal. */
const shown = (name: string): string =>
  printable(name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name).replaceAll('`', '?')

/** The name that an unknown argument has here, or how to do without it. */
function moveFor(
  { habits }: ToolWords,
  tool: string,
  name: string,
  { allowed, given }: { allowed: readonly string[]; given: unknown },
): { text: string; to?: string } | undefined {
  const habit = own(habits, tool, name)
  const plain = plainName(name)
  const to = allowed.find((one) => one === habit) ?? allowed.find((one) => plainName(one) === plain)
  if (to !== undefined) return { text: `\`${name}\` is called \`${to}\` here.`, to }
  if (habit?.includes(' ') === true) return { text: habit.replace(/(?<=\b[Ll]eave )it(?= out\b)/u, `\`${name}\``) }
  // What was given under its own name was not meant by another one.
  const free = allowed.filter((one) => (given as Record<string, unknown> | null | undefined)?.[one] === undefined)
  const near = nearestName(name, free)
  return near === undefined ? undefined : { text: `Did you mean \`${near}\`?`, to: near }
}

/** `caseInsensitive`, `case-insensitive` and `case_insensitive` are one name. */
const plainName = (name: string): string => name.replace(/[^A-Za-z0-9]/gu, '').toLowerCase()

/** Rewords a problem if the words of the validator do not say what to do. */
function plainProblem({ habits, empty, unlikely }: ToolWords, tool: string, schema: JsonSchema, problem: string, args: unknown): string {
  const [, whole] = /^\/: Instance type "(\w+)" is invalid\. Expected "object"$/u.exec(problem) ?? []
  if (whole !== undefined) return wholeOf(whole, schema)
  const [, at = ''] = /^((?:\/[^/:]+)+): /u.exec(problem) ?? []
  const name = at.slice(1)
  const isPath = Object.hasOwn(habits, tool) && (name === 'path' || name === 'workdir')
  if (problem.endsWith(EMPTY)) {
    const named = isPath && name === 'path' ? ': name the file, by its path below the root' : ''
    return `${at} is empty${own(empty, tool, name) ?? named}`
  }
  if (problem.endsWith(NO_PATTERN)) {
    return `${at} ${isPath ? 'holds a NUL character, which no path can' : (own(unlikely, tool, name) ?? 'does not match its pattern')}`
  }
  const [, given, expected] = /Instance type "(\w+)" is invalid\. Expected "(\w+)"$/u.exec(problem) ?? []
  const advice = expected === undefined ? undefined : adviceForType(given, expected, at, schema, args)
  return advice === undefined ? problem : `${problem}: give ${advice}`
}

/** The problem of arguments that are none. */
function wholeOf(given: string, schema: JsonSchema): string {
  const names = isNames(schema['required']) ? schema['required'] : Object.keys(recordOf(schema['properties']))
  const has = names.length === 0 ? 'without arguments' : `with ${names.map((one) => `\`${one}\``).join(', ')}`
  const what = given === 'array' ? 'a list' : given === 'string' ? 'a text' : given
  return `the arguments are ${what}, and have to be an object ${has}`
}

function adviceForType(given: string | undefined, expected: string, at: string, schema: JsonSchema, args: unknown): string | undefined {
  if (expected === 'string') return otherThanText(given, at.slice(1))
  if (given !== 'string' || !['array', 'object', 'integer', 'number', 'boolean'].includes(expected)) return undefined
  const { required } = schemaAt(schema, at)
  const isOfMany = /\/\d+$/u.test(at)
  if (expected === 'object' && isOfMany && isNames(required)) return `an object with ${required.map((one) => `\`${one}\``).join(' and ')}`
  const name = at.slice(1)
  if (typeof (args as Record<string, unknown> | null)?.[name] !== 'string') return undefined
  if (expected === 'array' || expected === 'object') return `\`${name}\` the ${expected} itself, not a text that holds one`
  return `\`${name}\` without quotes, as ${expected === 'boolean' ? 'true or false' : 'a number'}`
}

/** How to give a text, if one value was given in another form. */
function otherThanText(given: string | undefined, name: string): string | undefined {
  if (given === 'number' || given === 'integer' || given === 'boolean') return `\`${name}\` in quotes, as a text`
  if (given === 'array') return `\`${name}\` one text, in a call for each`
  if (given === 'object') return `\`${name}\` as a text, for example the JSON of the object`
  return undefined
}

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
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

function own(table: Readonly<Record<string, Habits>> | undefined, tool: string, name: string): string | undefined {
  const names = table !== undefined && Object.hasOwn(table, tool) ? table[tool] : undefined
  return names !== undefined && Object.hasOwn(names, name) ? names[name] : undefined
}

const unescaped = (step: string): string => step.replace(/~1/gu, '/').replace(/~0/gu, '~')
