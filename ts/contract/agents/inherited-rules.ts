import type { ContractRules } from '../../../index.js'
import type { Rule, RuleSource, StoredRule } from '../permissions/rule.js'
import type { PermissionRules, PermissionVerdict, Subject } from '../permissions/rule-store.js'

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** The rules of a child: the strictest of its own and of every session above it. */
export class InheritedRules implements PermissionRules {
  readonly #own: PermissionRules
  readonly #above: PermissionRules
  readonly #isFree: (toolId: string) => boolean

  /**
   * @param own the child's rules.
   * @param isFree whether a tool reaches nothing, and so needs no rule.
   */
  constructor(own: PermissionRules, above: PermissionRules, isFree: (toolId: string) => boolean) {
    this.#own = own
    this.#above = above
    this.#isFree = isFree
  }

  now(): PermissionRules {
    return new InheritedRules(this.#own.now(), this.#above.now(), this.#isFree)
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
    return strictness[second.action] > strictness[first.action]
      ? second
      : { ...first, userAllowed: own.userAllowed && (isAgreed || above.userAllowed) }
  }

  record(rule: Rule, source: 'session' | 'project'): StoredRule {
    // An agreement with the child is none with its parent.
    return this.#own.record(rule, source)
  }
}

/** What a child without rules of its own has of its parent's: all but what the user agreed to for that session. */
export function delegatedRules(above: PermissionRules): Record<RuleSource, StoredRule[]> {
  return {
    manifest: [...above.rules('manifest')],
    session: above.rules('session').filter(({ action }) => action !== 'allow'),
    project: [...above.rules('project')],
  }
}
