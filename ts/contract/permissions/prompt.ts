import { ContractFailure } from '../registry/codes.js'
import type { Rule, RuleSource } from './rule.js'

/** What a user can say to a call that has to be asked for. */
export type PromptDecision = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'

/** A user's answer. */
export interface PromptAnswer {
  decision: PromptDecision
  /** For which scope an `always` is kept. @default 'session' */
  scope?: Exclude<RuleSource, 'manifest'> | undefined
  /** What an `always` is kept for, instead of the rules of the request. */
  rules?: Pick<Rule, 'permission' | 'pattern'>[] | undefined
}

/** A call that somebody has to agree to. */
export interface PromptRequest {
  readonly session_id: string
  readonly call_id: string
  readonly tool: string
  readonly args: unknown
  /** What the call touches, and so what has to be agreed to. */
  readonly subjects: readonly { capability: string; resource: string; why?: string | undefined }[]
  /** What the watchdog says. */
  readonly reason?: string | undefined
  /** What an `always` would be kept for; empty where nothing safe can be said, and it is for once. */
  readonly rules: readonly Pick<Rule, 'permission' | 'pattern'>[]
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** Shows a call to the user. */
export type Prompt = (request: PromptRequest) => PromptAnswer | PromptDecision | PromiseLike<PromptAnswer | PromptDecision>

const decisions: readonly unknown[] = ['allow_once', 'allow_always', 'reject_once', 'reject_always']

/** @throws {ContractFailure} permission_rejected for what is no answer: nobody has agreed. */
export function checkAnswer(answer: unknown): PromptAnswer & { scope: 'session' | 'project' } {
  const told = (typeof answer === 'string' ? { decision: answer } : answer) as Partial<PromptAnswer> | null | undefined
  const { decision, scope = 'session', rules } = told ?? {}
  if (!decisions.includes(decision) || (scope !== 'session' && scope !== 'project')) {
    throw new ContractFailure('permission_rejected', 'The host gave no valid answer to the permission prompt, which refuses the call.')
  }
  const answered = { decision: decision as PromptDecision, scope }
  return rules === undefined ? answered : { ...answered, rules }
}
