import type { ContractCode } from '../registry/envelope.js'
import type { PermissionAction, Rule } from '../permissions/rule.js'

/** What a session would decide about a call if it were made now. */
export interface Judgement {
  /** `allow`: the call would be made; `ask`: the user would be asked first; `deny`: it would be refused. */
  readonly action: PermissionAction
  /** The targets of the call that follow from its arguments, with the verdict of the rules on each. */
  readonly subjects: readonly JudgedSubject[]
  /** The reason of the watchdog. */
  readonly reason?: string | undefined
  /** The rules that an `always` would record. Empty if no safe rule exists. */
  readonly rules: readonly Pick<Rule, 'permission' | 'pattern'>[]
  /** The code with which the call would fail. */
  readonly code?: ContractCode
  /** The text with which it would fail. */
  readonly error_text?: string
}

/** One capability that a call uses, on one resource. */
export interface JudgedSubject {
  readonly capability: string
  /** The real path, the host, or one of the commands of a command line. */
  readonly resource: string
  readonly action: PermissionAction
  /** Why only a rule for everything may allow it: the command is not fully known before it runs. */
  readonly why?: string | undefined
}

/** A question in one sentence, for a user who sees the call. */
export function questionOf({ subjects, reason }: Judgement): string {
  const asked = subjects.filter(({ action }) => action === 'ask')
  const what = asked.map(({ capability, resource }) => (resource === '' ? capability : `${capability} ${resource}`)).join(', ')
  return [what, reason].filter((part) => part !== undefined && part !== '').join(': ')
}
