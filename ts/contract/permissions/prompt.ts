import { ContractFailure } from '../registry/envelope.js'
import type { Rule, RuleSource } from './rule.js'
import { isAbsolute, relative } from 'node:path'
import type { ContractAddon } from './session-capabilities.js'
import type { Subject } from './rule-store.js'

/** A decision of the user about a call. */
export type PromptDecision = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'

/** A user's answer. */
export interface PromptAnswer {
  decision: PromptDecision
  /** The scope in which an `always` is recorded. @default 'session' */
  scope?: Exclude<RuleSource, 'manifest'> | undefined
  /** The rules that an `always` records, instead of those of the request. */
  rules?: Pick<Rule, 'permission' | 'pattern'>[] | undefined
}

/** A call about which the user is asked. */
export interface PromptRequest {
  readonly session_id: string
  readonly call_id: string
  readonly tool: string
  readonly args: unknown
  /** The targets of the call. The user's answer covers all of them. */
  readonly subjects: readonly { capability: string; resource: string; why?: string | undefined }[]
  /** The reason of the watchdog. */
  readonly reason?: string | undefined
  /** The rules that an `always` would record. Empty if no safe rule exists: then the answer holds once. */
  readonly rules: readonly Pick<Rule, 'permission' | 'pattern'>[]
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal
}

/** Asks the user about a call, and resolves to the answer. */
export type Prompt = (request: PromptRequest) => PromptAnswer | PromptDecision | PromiseLike<PromptAnswer | PromptDecision>

const decisions: readonly unknown[] = ['allow_once', 'allow_always', 'reject_once', 'reject_always']

/** The answer with its defaults; `undefined` for what is none. */
export function parsedAnswer(answer: unknown): (PromptAnswer & { scope: 'session' | 'project' }) | undefined {
  const decided = (typeof answer === 'string' ? { decision: answer } : answer) as Partial<PromptAnswer> | null | undefined
  const { decision, scope = 'session', rules } = decided ?? {}
  if (!decisions.includes(decision) || (scope !== 'session' && scope !== 'project')) return undefined
  if (rules !== undefined && !isRules(rules)) return undefined
  const answered = { decision: decision as PromptDecision, scope }
  return rules === undefined ? answered : { ...answered, rules }
}

const isRules = (rules: unknown): boolean =>
  Array.isArray(rules) &&
  rules.every((rule: Partial<Rule> | null) => typeof rule?.permission === 'string' && typeof rule.pattern === 'string')

/** @throws {ContractFailure} permission_rejected for an invalid answer. */
export function checkAnswer(answer: unknown): PromptAnswer & { scope: 'session' | 'project' } {
  const parsed = parsedAnswer(answer)
  if (parsed !== undefined) return parsed
  throw new ContractFailure('permission_rejected', 'The host gave no valid answer to the permission prompt, which refuses the call.')
}

/** The rules that an `always` for these subjects would record: as narrow as possible. */
export function suggestedRules(
  addon: ContractAddon,
  toolId: string,
  subjects: readonly Subject[],
  roots: readonly string[],
): Pick<Rule, 'permission' | 'pattern'>[] {
  const patterns = (some: readonly Subject[]): Set<string> => new Set(some.flatMap((subject) => patternsOf(addon, subject, roots)))
  // Patterns of these tools are for commands: a host needs a rule of its capability.
  const hosts = FOR_COMMANDS.has(toolId) ? subjects.filter(({ kind }) => kind === 'host') : []
  const own = patterns(subjects.filter((subject) => !hosts.includes(subject)))
  return [
    ...[...own].map((pattern) => ({ permission: toolId, pattern })),
    ...[...patterns(hosts)].map((pattern) => ({ permission: 'net.fetch', pattern })),
  ]
}

const FOR_COMMANDS: ReadonlySet<string> = new Set(['bash', 'process_start', 'process_write'])

function patternsOf(addon: ContractAddon, { kind, resource, below, shell }: Subject, roots: readonly string[]): string[] {
  if (kind === 'command') return addon.suggestPattern(resource, shell)
  if (kind === 'path') {
    const pattern = pathPattern(resource, roots)
    return below === true && pattern !== '**' ? [pattern, `${pattern}/**`] : [pattern]
  }
  // The pattern of a host is not a glob.
  if (kind === 'host') return [resource]
  // A tool that touches nothing has no resource to name.
  return [resource === '' ? '*' : escapeGlob(resource)]
}

/** The path, relative to its root if it has one, so that the rule means the same in another checkout. */
function pathPattern(path: string, roots: readonly string[]): string {
  const [root] = roots
  const below = root === undefined ? path : relative(root, path)
  if (below === '') return '**'
  return escapeGlob(below.startsWith('..') || isAbsolute(below) ? path : below)
}

/** A pattern that matches only this text. */
export const escapeGlob = (text: string): string => text.replace(/[*?[\]{}\\]/gu, '\\$&')
