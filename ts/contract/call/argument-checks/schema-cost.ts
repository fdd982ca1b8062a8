import type { JsonSchema } from '../../registry/contract-tool.js'

export interface ArgumentSize {
  values: number
  characters: number
}

/**
 * The maximum cost of comparing arguments of a size with a schema, in steps of a microsecond or two. It is infinite for a
 * schema without a known bound: one that refers to itself, or has a pattern that may backtrack exponentially.
 */
export type SchemaCost = (size: ArgumentSize) => number

/** How many steps of a regular expression take as long as one of the validator. */
const PATTERN_STEPS = 50
/** Schemas that are nested more deeply have no known bound. */
const MAX_DEPTH = 64

export function schemaCost(schema: JsonSchema): SchemaCost {
  const complexity: Complexity = { schemas: 0, branches: 0, patterns: [], endless: false, unique: false }
  look(schema, complexity, 0)
  return ({ values, characters }) => {
    if (complexity.endless) return Infinity
    // Every branch goes through the whole value.
    const ofValues = (values + 1) * (complexity.branches === 0 ? 1 : complexity.schemas)
    const ofPatterns = complexity.patterns.reduce((sum, { factor, power }) => sum + factor * (characters + 1) ** power, 0)
    return ofValues + (complexity.unique ? values ** 2 : 0) + ofPatterns / PATTERN_STEPS
  }
}

interface Complexity {
  schemas: number
  /** Schemas that apply to the same value as another one. */
  branches: number
  patterns: PatternCost[]
  endless: boolean
  unique: boolean
}

const branching = `allOf anyOf oneOf not if then else contains propertyNames dependentSchemas dependencies
  unevaluatedProperties unevaluatedItems`.split(/\s+/u)
const leading = ['$ref', '$dynamicRef', '$recursiveRef']

/** Counts objects that are not schemas too, as in `properties` or `enum`: the cost is never too low. */
function look(schema: unknown, complexity: Complexity, depth: number): void {
  if (typeof schema !== 'object' || schema === null) return
  if (depth > MAX_DEPTH) {
    complexity.endless = true
    return
  }
  complexity.schemas += 1
  if (Array.isArray(schema)) {
    for (const one of schema) look(one, complexity, depth + 1)
    // Every value is compared with the whole `enum`.
    if (schema.length > 50) complexity.branches += 1
    return
  }
  for (const [name, value] of Object.entries(schema)) {
    if (leading.includes(name) && typeof value === 'string') complexity.endless = true
    if (branching.includes(name)) complexity.branches += 1
    if (name === 'uniqueItems' && value === true) complexity.unique = true
    if (name === 'pattern' && typeof value === 'string') complexity.patterns.push(patternCost(value))
    if (name === 'patternProperties' && typeof value === 'object' && value !== null) {
      complexity.branches += 1
      complexity.patterns.push(...Object.keys(value).map(patternCost))
    }
    // The validator implements some formats by regular expressions.
    if (name === 'format' && typeof value === 'string') complexity.patterns.push({ factor: 1, power: 3 })
    look(value, complexity, depth + 1)
  }
}

/** The maximum number of steps of a regular expression: `factor * length ** power`. */
export interface PatternCost {
  factor: number
  power: number
}

const unknown: PatternCost = { factor: Infinity, power: 1 }

/**
 * The maximum number of steps of a backtracking engine. It is known for patterns without loops around groups, references
 * and look-around: each loop of one character can end anywhere.
 */
export function patternCost(pattern: string): PatternCost {
  let factor = 1
  let power = pattern.startsWith('^') && !pattern.includes('|') ? 0 : 1
  for (let at = 0; at < pattern.length; at += 1) {
    const rest = pattern.slice(at, at + 40)
    if (/^\\[1-9k]|^\(\?(?:[=!]|<[=!])/u.test(rest)) return unknown
    // A repeated group can match a text in exponentially many ways.
    if (/^\)(?:[*+]|\{)/u.test(rest)) return unknown
    if (rest.startsWith('\\')) {
      at += 1
    } else if (rest.startsWith('[')) {
      at = endOfClass(pattern, at)
    } else if (rest.startsWith('(?')) {
      at += 1
    } else if (/^\{\d+\}/u.test(rest)) {
      at = pattern.indexOf('}', at)
    } else if (rest.startsWith('|')) {
      factor *= 2
    } else if (/^[*+]|^\{\d+,\d*\}/u.test(rest)) {
      power += 1
    } else if (rest.startsWith('?') && !/[*+?}]/u.test(pattern[at - 1] ?? '')) {
      factor *= 2
    }
  }
  return { factor, power: Math.max(power, 1) }
}

function endOfClass(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1
    else if (pattern[at] === ']') return at
  }
  return pattern.length
}
