import type { RuleSource, StoredRule } from '../permissions/rule.js'
import type { PermissionRules } from '../permissions/rule-store.js'

/** What a child without rules of its own has of its parent's: all but what the user agreed to for that session. */
export function delegatedRules(above: PermissionRules): Record<RuleSource, StoredRule[]> {
  return {
    manifest: [...above.rules('manifest')],
    session: above.rules('session').filter(({ action }) => action !== 'allow'),
    project: [...above.rules('project')],
  }
}
