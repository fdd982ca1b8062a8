import { anything, type Check, type Checks, group, invalid, listOf, must, oneOf, optional, string } from '../../core/options.js'

/** The decision of a rule or a watchdog. */
export type PermissionAction = 'allow' | 'deny' | 'ask'

/** Where a rule comes from. */
export type RuleSource = 'manifest' | 'session' | 'project'

/** One permission rule. */
export interface Rule {
  /** A tool's id, a capability (`fs.read`, `fs.write`, `shell.run`, `net.fetch`, `net.credential`, a name), or `*`. */
  permission: string
  /** The paths, commands or hosts that the rule applies to: a glob, or a prefix with `*` at the end. */
  pattern: string
  /** @default 'ask' */
  action?: PermissionAction | undefined
  /** The scope of the rule. The session sets it. */
  source?: RuleSource | undefined
  /** When the user made it, in ISO 8601. */
  added_at?: string | undefined
}

/** A rule with all fields that matter for decisions. */
export type StoredRule = Rule & { action: PermissionAction; source: RuleSource }

const fields = group({
  permission: must<string>((value) => typeof value === 'string' && value !== '', 'a name or "*"'),
  pattern: string,
  // A misspelt `action` would mean the default.
  action: optional(oneOf('allow', 'deny', 'ask'), 'ask'),
  source: anything<RuleSource | undefined>(),
  added_at: optional(string),
} satisfies Checks<Rule>)

/** Copies of rules. Their patterns are checked when they are compiled. */
export const ruleList = listOf(fields, 'an array of rules')

/** Rules that a host allows; one that would deny or ask is a mistake. */
export const rulesThatAllow: Check<Rule[]> = (input, name) => {
  for (const [index, { permission, pattern }] of ruleList(input, name).entries()) {
    const { action = 'allow' } = (input as Rule[])[index] as Rule
    if (action !== 'allow') throw invalid(`${name}[${index}] (${permission} ${pattern}) must allow: it has the action ${action}.`)
  }
  return (input as Rule[]).map(({ permission, pattern }) => ({ permission, pattern, action: 'allow' }))
}

/** @throws {ToolError} INVALID_INPUT for an invalid list of rules. */
export function storedRules(rules: unknown, source: RuleSource, where: string): StoredRule[] {
  return rules === undefined ? [] : ruleList(rules, where).map((rule) => Object.freeze({ ...rule, source }))
}

/** @throws {ToolError} INVALID_INPUT for an invalid rule. */
export function storedRule(rule: unknown, source: RuleSource, where: string): StoredRule {
  return Object.freeze({ ...fields(rule, where), source })
}

/** The rules that a session begins with, by scope. */
export interface ScopedRules {
  session?: readonly Rule[] | undefined
  project?: readonly Rule[] | undefined
}

const scoped = group({ session: optional(ruleList), project: optional(ruleList) } satisfies Checks<ScopedRules>)

/** The lists of an option that is a list, which is the project's, or both. */
export const ruleLists: Check<ScopedRules> = (input, name) => {
  if (Array.isArray(input)) return { project: ruleList(input, `${name}.project`) }
  if (typeof input !== 'object' || input === null) throw invalid(`${name} must be an array of rules, or { session, project }.`)
  return scoped(input, name)
}

const everything = (permission: string): Rule => Object.freeze({ permission, pattern: '**', action: 'allow' })

const reads = everything('fs.read')
const writes = everything('fs.write')

/**
 * Lists of rules for `permissions`: alone, or with rules of your own after them, which win because any pattern is more
 * specific. The user is asked about anything that they do not allow, which is refused if there is no user. Presets widen no
 * capability, and cannot allow what the manifest denies.
 *
 * `[...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }]`
 */
export const presets = Object.freeze({
  /** Allows reading and searching files. */
  readOnly: Object.freeze([reads]) as readonly Rule[],
  /** Allows reading, searching, creating, writing and editing files. The user is asked about commands, the web and tools of servers. */
  acceptEdits: Object.freeze([reads, writes]) as readonly Rule[],
  /** Allows everything: every command runs, in the sandbox. It also answers the questions of a watchdog. */
  allowAll: Object.freeze([everything('*')]) as readonly Rule[],
})
