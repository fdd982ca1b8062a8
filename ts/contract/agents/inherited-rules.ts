import type { ContractAddon, NativeRules, NativeVariables } from '../native-surface.js'
import type { Rule, RuleSource, StoredRule } from '../permissions/rule.js'
import { type PermissionVerdict, RuleStore, type Subject } from '../permissions/rule-store.js'

/** What a session asks of its rules. */
export type PermissionRules = Pick<RuleStore, 'evaluate' | 'record' | 'rules' | 'forSearches'>

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** The rules of a child: the strictest of its own and of every session above it. */
export class InheritedRules implements PermissionRules {
  readonly #addon: ContractAddon
  readonly #variables: NativeVariables
  readonly #own: RuleStore
  readonly #above: PermissionRules
  readonly #isFree: (toolId: string) => boolean
  readonly #closedDirectory: string
  #searches: { text: string; rules: NativeRules } | undefined

  constructor(from: {
    addon: ContractAddon
    variables: NativeVariables
    /** The child's own rules; without them, its parent's. */
    permissions: readonly Rule[] | undefined
    above: PermissionRules
    /** Whether a tool reaches nothing, and so needs no rule. */
    isFree: (toolId: string) => boolean
    closedDirectory: string
  }) {
    this.#addon = from.addon
    this.#variables = from.variables
    this.#above = from.above
    this.#isFree = from.isFree
    this.#closedDirectory = from.closedDirectory
    this.#own = new RuleStore(from.addon, from.variables, from.permissions === undefined ? delegated(from.above) : { manifest: from.permissions })
  }

  get forSearches(): NativeRules {
    const denies = this.#denies()
    const text = JSON.stringify(denies)
    if (this.#searches?.text !== text) {
      // As rules of one manifest: nobody's allow makes a hole into another's deny.
      const rules = new RuleStore(this.#addon, this.#variables, { manifest: denies }, this.#closedDirectory).forSearches
      this.#searches = { text, rules }
    }
    return this.#searches.rules
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

  #denies(): Rule[] {
    const all = (['manifest', 'session', 'project'] as const).flatMap((source) => this.rules(source))
    return all.filter(({ action }) => action === 'deny').map(({ permission, pattern, action }) => ({ permission, pattern, action }))
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
