import type { ContractRules, ContractSubject, ContractVariables } from '../../../index.js'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from './session-capabilities.js'
import { type PermissionAction, type Rule, type RuleSource, type StoredRule, storedRule, storedRules } from './rule.js'

/** One capability, used on one resource. */
export type Subject = ContractSubject & {
  /** Whether it is a search, which covers everything below the path. */
  below?: boolean
  /** Whether the resource is not to be recorded. */
  isSecret?: boolean
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

interface RuleList {
  compiled: ContractRules
  stored: readonly StoredRule[]
}

/** The rules of a session, in their three scopes, and those of the sessions above it. */
export class RuleStore {
  readonly #addon: ContractAddon
  readonly #variables: () => ContractVariables
  /** The name of the manifest's list in errors. */
  readonly #manifestList: string
  readonly #above: RuleStore | undefined
  readonly #scopes: Record<RuleSource, StoredRule[]>
  #stored: readonly StoredRule[]
  /** The compiled rules by the values of the variables: the current ones, and those of running calls. */
  #compiled = new WeakMap<ContractVariables, ContractRules>()

  /** @throws {ToolError} CONTRACT_RULE_INVALID with the place of the problem. */
  constructor(
    addon: ContractAddon,
    variables: () => ContractVariables,
    rules: { manifest?: unknown; session?: unknown; project?: unknown },
    manifestList = 'manifest.permissions',
    above?: RuleStore,
  ) {
    this.#addon = addon
    this.#variables = variables
    this.#manifestList = manifestList
    this.#above = above
    this.#scopes = {
      manifest: storedRules(rules.manifest, 'manifest', manifestList),
      session: storedRules(rules.session, 'session', 'permissions.session'),
      project: storedRules(rules.project, 'project', 'permissions.project'),
    }
    this.#stored = this.#list()
    this.listFor(variables())
  }

  /** The rules with the current values of their variables. */
  now(): CurrentRules {
    return new CurrentRules(this.#addon, this, this.#variables(), this.#above?.now())
  }

  /** The rules of one scope, and those of the sessions above that deny or ask. */
  rules(source: RuleSource): readonly StoredRule[] {
    return [...(this.#above?.rules(source) ?? []).filter(({ action }) => action !== 'allow'), ...this.#scopes[source]]
  }

  /**
   * Adds rules, all or none; one with the same permission and pattern in that scope gives way. They are rules of this session
   * alone: agreement with a child is not agreement with its parent.
   */
  record(rules: readonly Rule[], source: 'session' | 'project'): StoredRule[] {
    const added_at = new Date().toISOString()
    const stored = rules.map((rule, index) => storedRule({ added_at, ...rule }, source, `rules[${index}]`))
    const before = this.#scopes[source]
    this.#scopes[source] = stored.reduce(withRule, before)
    const variables = this.#variables()
    try {
      this.#compiled = new WeakMap([[variables, this.#compile(variables)]])
    } catch (error) {
      this.#scopes[source] = before
      throw error
    }
    this.#stored = this.#list()
    return stored
  }

  /** The rules of this session alone, compiled with these variables. */
  listFor(variables: ContractVariables): RuleList {
    let compiled = this.#compiled.get(variables)
    if (compiled === undefined) this.#compiled.set(variables, (compiled = this.#compile(variables)))
    return { compiled, stored: this.#stored }
  }

  #compile(variables: ContractVariables): ContractRules {
    const list = this.#list().map(({ permission, pattern, action, source }) => ({ permission, pattern, action, source }))
    return unwrap(this.#addon.compileRules(variables, list, this.#manifestList))
  }

  #list(): StoredRule[] {
    const { manifest, session, project } = this.#scopes
    return [...manifest, ...session, ...project]
  }
}

function withRule(rules: StoredRule[], rule: StoredRule): StoredRule[] {
  const index = rules.findIndex(({ permission, pattern }) => permission === rule.permission && pattern === rule.pattern)
  return index === -1 ? [...rules, rule] : rules.with(index, rule)
}

/** The rules of a session with the variables of one moment. Rules that are recorded later still count. */
export class CurrentRules {
  readonly #addon: ContractAddon
  readonly #store: RuleStore
  readonly #variables: ContractVariables
  readonly #above: CurrentRules | undefined

  constructor(addon: ContractAddon, store: RuleStore, variables: ContractVariables, above: CurrentRules | undefined) {
    this.#addon = addon
    this.#store = store
    this.#variables = variables
    this.#above = above
  }

  /** The rules of the session, then those of the sessions above it. */
  get chain(): RuleList[] {
    return [this.#store.listFor(this.#variables), ...(this.#above?.chain ?? [])]
  }

  /** A rule of the session, or of one above it, that fits. */
  find(fits: (rule: StoredRule) => boolean): StoredRule | undefined {
    return this.chain.flatMap(({ stored }) => stored).find(fits)
  }

  /** Evaluates a call. A tool that requires nothing needs no rule while it touches nothing. */
  evaluate(toolId: string, subjects: Subject[], requiresNothing = false): PermissionVerdict {
    const { chain } = this
    const compiled = chain.map((list) => list.compiled)
    const decided = this.#addon.decideCall(compiled, { toolId, subjects, requiresNothing })
    const verdicts = decided.subjects.map(({ capability, resource, action, rule, final, restricted }) => ({
      capability,
      resource,
      action,
      rule: rule === undefined ? undefined : chain[decided.level]?.stored[rule],
      final,
      restricted,
    }))
    const { action, matched, userAllowed, decisive } = decided
    return { action, matched, userAllowed, decisive: decisive === undefined ? undefined : verdicts[decisive], subjects: verdicts }
  }

  record(rules: readonly Rule[], source: 'session' | 'project'): StoredRule[] {
    return this.#store.record(rules, source)
  }
}

/** The rules that a child without own rules takes from its parent: all except those that the user agreed to for the parent's session. */
export function delegatedRules(above: RuleStore): Record<RuleSource, StoredRule[]> {
  return {
    manifest: [...above.rules('manifest')],
    session: above.rules('session').filter(({ action }) => action !== 'allow'),
    project: [...above.rules('project')],
  }
}
