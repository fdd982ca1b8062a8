import { ContractFailure } from '../registry/codes.js'
import type { Rule, RuleSource } from './rule.js'

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

/** A call that the user has to agree to. */
export interface PromptRequest {
  readonly session_id: string
  readonly call_id: string
  readonly tool: string
  readonly args: unknown
  /** What the call touches. The user agrees to all of it. */
  readonly subjects: readonly { capability: string; resource: string; why?: string | undefined }[]
  /** The reason of the watchdog. */
  readonly reason?: string | undefined
  /** The rules that an `always` would record. Empty if no safe rule exists: then the answer holds once. */
  readonly rules: readonly Pick<Rule, 'permission' | 'pattern'>[]
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal
}

/** Shows a call to the user, and resolves to the answer. */
export type Prompt = (request: PromptRequest) => PromptAnswer | PromptDecision | PromiseLike<PromptAnswer | PromptDecision>

const decisions: readonly unknown[] = ['allow_once', 'allow_always', 'reject_once', 'reject_always']

/** @throws {ContractFailure} permission_rejected for an invalid answer. */
export function checkAnswer(answer: unknown): PromptAnswer & { scope: 'session' | 'project' } {
  const given = (typeof answer === 'string' ? { decision: answer } : answer) as Partial<PromptAnswer> | null | undefined
  const { decision, scope = 'session', rules } = given ?? {}
  if (!decisions.includes(decision) || (scope !== 'session' && scope !== 'project')) {
    throw new ContractFailure('permission_rejected', 'The host gave no valid answer to the permission prompt, which refuses the call.')
  }
  const answered = { decision: decision as PromptDecision, scope }
  return rules === undefined ? answered : { ...answered, rules }
}
