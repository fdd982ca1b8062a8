import type { ContractRules, ContractSubject, ContractVariables } from '../../../index.js'
import { unwrap } from '../../native.js'
import type { ContractAddon } from '../native-policy.js'
import { type PermissionAction, type Rule, type RuleSource, type StoredRule, storedRule, storedRules } from './rule.js'

/** What a call touches: one for each capability and resource. */
export type Subject = ContractSubject & {
  /** Whether it is a search, which goes through all that lies below. */
  below?: boolean
}

/** What the rules say of one subject. */
export interface SubjectVerdict {
  capability: string
  /** The path, host or text; of a command line, one of its simple commands. */
  resource: string
  action: PermissionAction
  /** The rule that decided; `undefined` when none matched. */
  rule: StoredRule | undefined
  /** Whether nobody can overrule it: a deny of the manifest. */
  final: boolean
  /** Why only a rule for everything may allow it, for a command that is not known before it runs. */
  restricted: string | undefined
}

/** What the rules say of a call: the strictest of what they say of its subjects. */
export interface PermissionVerdict {
  action: PermissionAction
  /** Whether any rule matched. */
  matched: boolean
  /** Whether rules of the session and the project alone allow all of it. */
  userAllowed: boolean
  /** What decided. */
  decisive: SubjectVerdict | undefined
  subjects: SubjectVerdict[]
}

/** The rules of a session, in their three scopes. */
export class RuleStore {
  readonly #addon: ContractAddon
  readonly #variables: ContractVariables
  readonly #manifest: readonly StoredRule[]
  readonly #session: StoredRule[]
  readonly #project: StoredRule[]
  #all: readonly StoredRule[] = []
  #compiled: ContractRules

  constructor(addon: ContractAddon, variables: ContractVariables, rules: { manifest?: unknown; session?: unknown; project?: unknown }) {
    this.#addon = addon
    this.#variables = variables
    this.#manifest = storedRules(rules.manifest, 'manifest', 'manifest.permissions')
    this.#session = storedRules(rules.session, 'session', 'permissions.session')
    this.#project = storedRules(rules.project, 'project', 'permissions.project')
    this.#compiled = this.#compile()
    this.#all = this.#list()
  }

  /** For what a search meets on its way. */
  get forSearches(): readonly ContractRules[] {
    return [this.#compiled]
  }

  /** The rules of one scope. */
  rules(source: RuleSource): readonly StoredRule[] {
    if (source === 'manifest') return this.#manifest
    return [...(source === 'session' ? this.#session : this.#project)]
  }

  /** What the rules say of a call. */
  evaluate(toolId: string, subjects: Subject[]): PermissionVerdict {
    const { action, matched, userAllowed, subjects: each } = this.#compiled.evaluate(toolId, subjects)
    const told = each.map(({ capability, resource, action: own, rule, final, restricted }) => ({
      capability,
      resource,
      action: own,
      rule: rule === undefined ? undefined : this.#all[rule],
      final,
      restricted,
    }))
    return { action, matched, userAllowed, decisive: told.find((one) => one.action === action), subjects: told }
  }

  /** Adds a rule; one with the same permission and pattern in that scope gives way. */
  record(rule: Rule, source: 'session' | 'project'): StoredRule {
    const stored = storedRule({ added_at: new Date().toISOString(), ...rule }, source, 'rule')
    const scope = source === 'session' ? this.#session : this.#project
    const index = scope.findIndex(({ permission, pattern }) => permission === stored.permission && pattern === stored.pattern)
    const before = [...scope]
    if (index === -1) scope.push(stored)
    else scope[index] = stored
    try {
      this.#compiled = this.#compile()
    } catch (error) {
      scope.splice(0, Infinity, ...before)
      throw error
    }
    this.#all = this.#list()
    return stored
  }

  #compile(): ContractRules {
    const told = this.#list().map(({ permission, pattern, action, source }) => ({ permission, pattern, action, source }))
    return unwrap(this.#addon.compileRules(this.#variables, told)).rules as ContractRules
  }

  #list(): StoredRule[] {
    return [...this.#manifest, ...this.#session, ...this.#project]
  }
}
