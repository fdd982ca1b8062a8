import { checkNames, invalid } from '../../core/options.js'

/** The decision of a rule or a watchdog. */
export type PermissionAction = 'allow' | 'deny' | 'ask'

/** Where a rule comes from. */
export type RuleSource = 'manifest' | 'session' | 'project'

/** One permission rule. */
export interface Rule {
  /** A tool's id, a capability (`fs.read`, `fs.write`, `shell.run`, `net.fetch`, a name), or `*`. */
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

const actions: readonly unknown[] = ['allow', 'deny', 'ask']

/** @throws {ToolError} INVALID_INPUT for an invalid list of rules. */
export function storedRules(rules: unknown, source: RuleSource, where: string): StoredRule[] {
  if (rules === undefined) return []
  if (!Array.isArray(rules)) throw invalid(`${where} must be an array of rules.`)
  return (rules as unknown[]).map((rule, index) => storedRule(rule, source, `${where}[${index}]`))
}

/** @throws {ToolError} INVALID_INPUT for an invalid rule. */
export function storedRule(rule: unknown, source: RuleSource, where: string): StoredRule {
  if (typeof rule !== 'object' || rule === null) throw invalid(`${where} must be a rule.`)
  // A misspelt `action` would mean the default.
  checkNames(`${where}.`, rule, ['permission', 'pattern', 'action', 'source', 'added_at'])
  const { permission, pattern, action = 'ask', added_at } = rule as Record<string, unknown>
  if (typeof permission !== 'string' || permission === '') throw invalid(`${where}.permission must be a name or "*".`)
  if (typeof pattern !== 'string') throw invalid(`${where}.pattern must be a string.`)
  if (!actions.includes(action)) throw invalid(`${where}.action must be allow, deny or ask.`)
  if (added_at !== undefined && typeof added_at !== 'string') throw invalid(`${where}.added_at must be a string.`)
  const stored: StoredRule = { permission, pattern, action: action as PermissionAction, source }
  return Object.freeze(added_at === undefined ? stored : { ...stored, added_at })
}

/** The rules that a session begins with, by scope. */
export interface ScopedRules {
  session?: readonly Rule[] | undefined
  project?: readonly Rule[] | undefined
}

/** The lists of an option that is a list, which is the project's, or both. */
export const ruleLists = (given: readonly Rule[] | ScopedRules): ScopedRules => (isList(given) ? { project: given } : given)

const isList = (given: readonly Rule[] | ScopedRules): given is readonly Rule[] => Array.isArray(given)

/** @throws {ToolError} INVALID_INPUT for invalid lists of rules. */
export function checkRuleLists(given: unknown): void {
  if (Array.isArray(given)) return
  if (typeof given !== 'object' || given === null) throw invalid('permissions must be an array of rules, or { session, project }.')
  checkNames('permissions.', given, ['session', 'project'])
}

const everything = (permission: string): Rule => Object.freeze({ permission, pattern: '**', action: 'allow' })

const reads = everything('fs.read')
const writes = everything('fs.write')

/**
 * Lists of rules for `permissions`: alone, or with rules of your own behind them, which win since any pattern is more
 * specific: `[...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }]`. What they do not
 * allow is asked for, and refused where nobody can be asked. They widen no capability, and what the manifest denies stays denied.
 */
export const presets = Object.freeze({
  /** Reading and searching files needs no agreement. */
  readOnly: Object.freeze([reads]) as readonly Rule[],
  /** Neither does creating, writing and editing files. Commands, the web and tools of servers are asked for. */
  acceptEdits: Object.freeze([reads, writes]) as readonly Rule[],
  /** Nothing needs agreement: every command runs, in the sandbox. It also answers what a watchdog would have asked. */
  allowAll: Object.freeze([everything('*')]) as readonly Rule[],
})
