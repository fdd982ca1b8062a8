import type { ContractRules, ContractVariables } from '../../../index.js'
import type { ContractAddon } from '../native-policy.js'
import type { Rule, RuleSource, StoredRule } from '../permissions/rule.js'
import { type PermissionVerdict, RuleStore, type Subject } from '../permissions/rule-store.js'

/** What a session asks of its rules. */
export type PermissionRules = Pick<RuleStore, 'evaluate' | 'record' | 'rules' | 'forSearches'>

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** The rules of a child: the strictest of its own and of every session above it. */
export class InheritedRules implements PermissionRules {
  readonly #own: RuleStore
  readonly #above: PermissionRules
  readonly #isFree: (toolId: string) => boolean

  constructor(from: {
    addon: ContractAddon
    variables: ContractVariables
    /** The child's own rules; without them, its parent's. */
    permissions: readonly Rule[] | undefined
    above: PermissionRules
    /** Whether a tool reaches nothing, and so needs no rule. */
    isFree: (toolId: string) => boolean
  }) {
    this.#above = from.above
    this.#isFree = from.isFree
    this.#own = new RuleStore(from.addon, from.variables, from.permissions === undefined ? delegated(from.above) : { manifest: from.permissions })
  }

  /** Its own first: each of them has its say. */
  get forSearches(): readonly ContractRules[] {
    return [...this.#own.forSearches, ...this.#above.forSearches]
  }

  rules(source: RuleSource): readonly StoredRule[] {
    return [...this.#above.rules(source).filter(({ action }) => action !== 'allow'), ...this.#own.rules(source)]
  }

  evaluate(toolId: string, subjects: Subject[]): PermissionVerdict {
    const own = this.#own.evaluate(toolId, subjects)
    const above = this.#above.evaluate(toolId, subjects)
    // Where the user has agreed to it for the child, what its parents would ask is answered.
    const isAgreed = above.action === 'ask' && own.userAllowed && own.matched
    const isOpen = (verdict: PermissionVerdict): boolean => !verdict.matched && this.#isFree(toolId)
    const judged = [own, ...(isAgreed ? [] : [above])].filter((verdict) => !isOpen(verdict))
    const [first = own, second = first] = judged
    return strictness[second.action] > strictness[first.action] ? second : { ...first, userAllowed: own.userAllowed && (isAgreed || above.userAllowed) }
  }

  record(rule: Rule, source: 'session' | 'project'): StoredRule {
    // An agreement with the child is none with its parent.
    return this.#own.record(rule, source)
  }
}

/** What a child has of its parent's rules: all but what the user agreed to for that session. */
function delegated(above: PermissionRules): Record<RuleSource, StoredRule[]> {
  return {
    manifest: [...above.rules('manifest')],
    session: above.rules('session').filter(({ action }) => action !== 'allow'),
    project: [...above.rules('project')],
  }
}
