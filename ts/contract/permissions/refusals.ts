import { ContractFailure } from '../registry/envelope.js'
import type { StoredRule } from './rule.js'
import type { CurrentRules, Subject, SubjectVerdict } from './rule-store.js'

/**
 * Why a rule that would allow the words of a command does not allow the command: it redirects its output, or sets a
 * variable. `undefined` if that makes no difference.
 */
export function whyRestricted(
  rules: CurrentRules,
  tool: string,
  verdict: SubjectVerdict | undefined,
  shell: Subject['shell'],
): string | undefined {
  const { capability = '', resource = '', restricted } = verdict ?? {}
  if (restricted === undefined) return undefined
  const alone = rules.evaluate(tool, [{ capability, kind: 'command', resource, ...(shell === undefined ? {} : { shell }) }])
  return alone.action === 'allow' ? restricted : undefined
}

/** The refusal by a rule. It names the rule, so that the model can find another way. */
export function deniedByRule(verdict: SubjectVerdict | undefined, tool: string, why?: string): ContractFailure {
  const { rule, final, capability, resource } = verdict ?? {}
  const what = resource === undefined || resource === '' ? tool : `${capability} of \`${resource}\``
  const by = rule === undefined ? 'a permission rule' : `the ${rule.source} rule \`${rule.permission} ${rule.pattern}\``
  const next = final === true ? 'No user can allow it: do it in another way.' : 'Do it in another way, or ask the user for it.'
  if (why !== undefined)
    return new ContractFailure('permission_denied', `Permission denied: ${by} denies ${what}, because it ${why}: run it without.`)
  return new ContractFailure('permission_denied', `Permission denied: ${by} denies ${what}. ${next}`)
}

/** The refusal of a request with a credential whose path could be another one, where a rule is about paths. */
export function unclearPath({ source, permission, pattern }: StoredRule, method: string, host: string): ContractFailure {
  const by = `the ${source} rule \`${permission} ${pattern}\``
  const text = `Permission denied: a server may take the path of this ${method} of ${host} for another one, and ${by} is about paths. Write the path without dots, empty names and escaped slashes.`
  return new ContractFailure('permission_denied', text)
}

/** The refusal of a use of a credential that would be one question too many. */
export function tooManyUses(resource: string, most: number): ContractFailure {
  const text = `Permission denied: net.credential of \`${resource}\` needs the agreement of a user, who was asked about ${most} uses in this call. Make fewer different requests in one command.`
  return new ContractFailure('permission_denied', text)
}

/** The refusal of a call that needs agreement when no user is attached. */
export function deniedUnattended(
  open: SubjectVerdict | undefined,
  tool: string,
  reason: string | undefined,
  why?: string,
): ContractFailure {
  const what = open === undefined || open.resource === '' ? tool : `${open.capability} of \`${open.resource}\``
  const by = reason === undefined ? '' : ` (${reason})`
  const needs = `Permission denied: ${what} needs the agreement of a user${by}`
  const text =
    why === undefined
      ? `${needs}, and none is attached. Nothing was done. Do what is allowed, and say what was not.`
      : `${needs}, because it ${why}: run it without. No user is attached, and nothing was done.`
  return new ContractFailure('permission_unattended', text)
}

/** The refusal of a call whose approval was for another one. */
export function approvalUnfit(tool: string): ContractFailure {
  const what = `The user's approval does not hold for this call of ${tool}`
  const why = 'it was used before, or the arguments, what they lead to or the reason for asking have changed since'
  return new ContractFailure(
    'permission_unattended',
    `${what}: ${why}. Make the call again, so that the user is asked about it as it is now.`,
  )
}

export function rejectedByUser(tool: string, reason?: string): ContractFailure {
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`
  return new ContractFailure(
    'permission_rejected',
    `The user rejected this call of ${tool}${why}. Do not repeat it; ask what to do instead.`,
  )
}

export function unanswered(tool: string, limitMs: number): ContractFailure {
  return new ContractFailure(
    'permission_timeout',
    `Nobody answered the permission prompt for ${tool} within ${limitMs} ms, which refuses the call. Go on with what is allowed.`,
  )
}
