import type { ContractRules, ContractSubject, ContractVariables } from '../../../index.js'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from './session-policy.js'
import { type PermissionAction, type Rule, type RuleSource, type StoredRule, storedRule, storedRules } from './rule.js'

/** One capability, used on one resource. */
export type Subject = ContractSubject & {
  /** Whether it is a search, which covers everything below the path. */
  below?: boolean
}

/** The verdict of the rules on one subject. */
export interface SubjectVerdict {
  capability: string
  /** The path, host or text; of a command line, one of its simple commands. */
  resource: string
  action: PermissionAction
  /** The rule that decided; `undefined` when none matched. */
  rule: StoredRule | undefined
  /** Whether no other rule can overrule it: a deny of the manifest. */
  final: boolean
  /** Why only a rule for everything may allow it: the command is not fully known before it runs. */
  restricted: string | undefined
}

/** The verdict of the rules on a call: the strictest of the verdicts on its subjects. */
export interface PermissionVerdict {
  action: PermissionAction
  /** Whether any rule matched. */
  matched: boolean
  /** Whether rules of the session and the project alone allow all of it. */
  userAllowed: boolean
  /** The subject that decided. */
  decisive: SubjectVerdict | undefined
  subjects: SubjectVerdict[]
}

/** The rules of one session, compiled, and as they were stored. */
export interface RuleList {
  compiled: ContractRules
  stored: readonly StoredRule[]
}

/** The rules of a session. */
export interface PermissionRules {
  /** The rules of the session, then those of the sessions above it. */
  readonly chain: readonly RuleList[]
  /** The rules of one scope. */
  rules(source: RuleSource): readonly StoredRule[]
  /** Evaluates a call. A tool that requires nothing needs no rule while it touches nothing. */
  evaluate(toolId: string, subjects: Subject[], requiresNothing?: boolean): PermissionVerdict
  /** Adds a rule; one with the same permission and pattern in that scope gives way. */
  record(rule: Rule, source: 'session' | 'project'): StoredRule
  /** The same rules with the current values of their variables. Rules added later still count. */
  now(): PermissionRules
}

/** The rules of a session, in their three scopes, and those of the sessions above it. */
export class RuleStore implements PermissionRules {
  readonly #addon: ContractAddon
  readonly #variables: () => ContractVariables
  /** The name of the manifest's list in errors. */
  readonly #manifestList: string
  readonly #above: PermissionRules | undefined
  readonly #manifest: readonly StoredRule[]
  readonly #session: StoredRule[]
  readonly #project: StoredRule[]
  #stored: readonly StoredRule[] = []
  /** The compiled rules by the values of the variables: the current ones, and those of running calls. */
  #compiled = new WeakMap<ContractVariables, ContractRules>()

  /** @throws {ToolError} CONTRACT_RULE_INVALID with the place of the problem. */
  constructor(
    addon: ContractAddon,
    variables: ContractVariables | (() => ContractVariables),
    rules: { manifest?: unknown; session?: unknown; project?: unknown },
    manifestList = 'manifest.permissions',
    above?: PermissionRules,
  ) {
    this.#addon = addon
    this.#variables = typeof variables === 'function' ? variables : () => variables
    this.#manifestList = manifestList
    this.#above = above
    this.#manifest = storedRules(rules.manifest, 'manifest', manifestList)
    this.#session = storedRules(rules.session, 'session', 'permissions.session')
    this.#project = storedRules(rules.project, 'project', 'permissions.project')
    this.#stored = this.#list()
    this.#compiledFor(this.#variables())
  }

  /** @throws {ToolError} INVALID_INPUT, CONTRACT_RULE_INVALID with the place of the problem. */
  static check(addon: ContractAddon, variables: ContractVariables, rules: unknown, list: string): void {
    const store = new RuleStore(addon, variables, { manifest: rules }, list)
    store.now()
  }

  get chain(): readonly RuleList[] {
    return this.#chain(this.#variables(), this.#above)
  }

  #chain(variables: ContractVariables, above: PermissionRules | undefined): RuleList[] {
    return [{ compiled: this.#compiledFor(variables), stored: this.#stored }, ...(above?.chain ?? [])]
  }

  now(): PermissionRules {
    const variables = this.#variables()
    const above = this.#above?.now()
    const chain = (): RuleList[] => this.#chain(variables, above)
    const view: PermissionRules = {
      get chain() {
        return chain()
      },
      rules: (source) => this.rules(source),
      evaluate: (toolId, subjects, requiresNothing) => this.#evaluate(chain(), toolId, subjects, requiresNothing),
      record: (rule, source) => this.record(rule, source),
      now: () => view,
    }
    return view
  }

  /** The own rules, and those of the sessions above that deny or ask. */
  rules(source: RuleSource): readonly StoredRule[] {
    const own = source === 'manifest' ? this.#manifest : source === 'session' ? this.#session : this.#project
    return [...(this.#above?.rules(source) ?? []).filter(({ action }) => action !== 'allow'), ...own]
  }

  evaluate(toolId: string, subjects: Subject[], requiresNothing?: boolean): PermissionVerdict {
    return this.#evaluate(this.chain, toolId, subjects, requiresNothing)
  }

  #evaluate(chain: readonly RuleList[], toolId: string, subjects: Subject[], requiresNothing = false): PermissionVerdict {
    const compiled = chain.map((list) => list.compiled)
    const {
      action,
      matched,
      userAllowed,
      level,
      decisive,
      subjects: judged,
    } = this.#addon.decideCall(compiled, { toolId, subjects, requiresNothing })
    const verdicts = judged.map(({ capability, resource, action: own, rule, final, restricted }) => ({
      capability,
      resource,
      action: own,
      rule: rule === undefined ? undefined : chain[level]?.stored[rule],
      final,
      restricted,
    }))
    return { action, matched, userAllowed, decisive: decisive === undefined ? undefined : verdicts[decisive], subjects: verdicts }
  }

  /** Records a rule of this session alone: agreement with a child is not agreement with its parent. */
  record(rule: Rule, source: 'session' | 'project'): StoredRule {
    const stored = storedRule({ added_at: new Date().toISOString(), ...rule }, source, 'rule')
    const scope = source === 'session' ? this.#session : this.#project
    const index = scope.findIndex(({ permission, pattern }) => permission === stored.permission && pattern === stored.pattern)
    const before = [...scope]
    if (index === -1) scope.push(stored)
    else scope[index] = stored
    const variables = this.#variables()
    let compiled: ContractRules
    try {
      compiled = this.#compile(variables)
    } catch (error) {
      scope.splice(0, Infinity, ...before)
      throw error
    }
    this.#compiled = new WeakMap([[variables, compiled]])
    this.#stored = this.#list()
    return stored
  }

  #compiledFor(variables: ContractVariables): ContractRules {
    const known = this.#compiled.get(variables)
    if (known !== undefined) return known
    const compiled = this.#compile(variables)
    this.#compiled.set(variables, compiled)
    return compiled
  }

  #compile(variables: ContractVariables): ContractRules {
    const list = this.#list().map(({ permission, pattern, action, source }) => ({ permission, pattern, action, source }))
    return unwrap(this.#addon.compileRules(variables, list, this.#manifestList))
  }

  #list(): StoredRule[] {
    return [...this.#manifest, ...this.#session, ...this.#project]
  }
}

/** The rules that a child without own rules takes from its parent: all except those that the user agreed to for the parent's session. */
export function delegatedRules(above: PermissionRules): Record<RuleSource, StoredRule[]> {
  return {
    manifest: [...above.rules('manifest')],
    session: above.rules('session').filter(({ action }) => action !== 'allow'),
    project: [...above.rules('project')],
  }
}
