import { isAbsolute, relative } from 'node:path'
import type { ContractAddon } from './session-policy.js'
import type { Rule } from './rule.js'
import type { Subject } from './rule-store.js'

/** The rules that an `always` for these subjects would record: as narrow as possible. */
export function suggestedRules(
  addon: ContractAddon,
  toolId: string,
  subjects: readonly Subject[],
  roots: readonly string[],
): Pick<Rule, 'permission' | 'pattern'>[] {
  const patterns = subjects.flatMap((subject) => patternsOf(addon, subject, roots))
  return [...new Set(patterns)].map((pattern) => ({ permission: toolId, pattern }))
}

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
