import { ContractFailure } from '../registry/codes.js'
import type { PermissionRules, Subject, SubjectVerdict } from './rule-store.js'

/**
 * Why a command is not allowed by a rule that would allow its words alone: it redirects its output, sets a variable. Nothing
 * where that makes no difference.
 */
export function whyRestricted(
  rules: PermissionRules,
  tool: string,
  verdict: SubjectVerdict | undefined,
  shell: Subject['shell'],
): string | undefined {
  const { capability = '', resource = '', restricted } = verdict ?? {}
  if (restricted === undefined) return undefined
  const alone = rules.evaluate(tool, [{ capability, kind: 'command', resource, ...(shell === undefined ? {} : { shell }) }])
  return alone.action === 'allow' ? restricted : undefined
}

/** The refusal of a rule, with the rule, since the model may find a way within it. */
export function deniedByRule(verdict: SubjectVerdict | undefined, tool: string, why?: string): ContractFailure {
  const { rule, final, capability, resource } = verdict ?? {}
  const what = resource === undefined || resource === '' ? tool : `${capability} of \`${resource}\``
  const by = rule === undefined ? 'a permission rule' : `the ${rule.source} rule \`${rule.permission} ${rule.pattern}\``
  const next = final === true ? 'No user can allow it: do it in another way.' : 'Do it in another way, or ask the user for it.'
  if (why !== undefined)
    return new ContractFailure('permission_denied', `Permission denied: ${by} denies ${what}, because it ${why}: run it without.`)
  return new ContractFailure('permission_denied', `Permission denied: ${by} denies ${what}. ${next}`)
}

/** The refusal of what would have to be asked for, where nobody is. */
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
      ? `${needs}, and none is attached. Do what is allowed, and say what was not.`
      : `${needs}, because it ${why}: run it without. No user is attached.`
  return new ContractFailure('permission_unattended', text)
}

/** The refusal of the user. */
export function rejectedByUser(tool: string): ContractFailure {
  return new ContractFailure('permission_rejected', `The user rejected this call of ${tool}. Do not repeat it; ask what to do instead.`)
}

/** The refusal after a prompt that nobody answered. */
export function unanswered(tool: string, limitMs: number): ContractFailure {
  return new ContractFailure(
    'permission_timeout',
    `Nobody answered the permission prompt for ${tool} within ${limitMs} ms, which refuses the call. Go on with what is allowed.`,
  )
}
