import type { ContractRules, ContractSubject, ContractVariables } from '../../../index.js'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from '../session/native-policy.js'
import { type PermissionAction, type Rule, type RuleSource, type StoredRule, storedRule, storedRules } from './rule.js'

/** What a call touches: one for each capability and resource. */
export type Subject = ContractSubject & {
  /** Whether it is a search, which goes through all that lies below. */
  below?: boolean
  /** Of a command line, the commands in it that need no rule. */
  free?: readonly string[]
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

/** What a session asks of its rules. */
export interface PermissionRules {
  /** For what a search meets on its way. */
  readonly forSearches: readonly ContractRules[]
  /** The rules of one scope. */
  rules(source: RuleSource): readonly StoredRule[]
  /** What the rules say of a call. */
  evaluate(toolId: string, subjects: Subject[]): PermissionVerdict
  /** Adds a rule; one with the same permission and pattern in that scope gives way. */
  record(rule: Rule, source: 'session' | 'project'): StoredRule
  /** The same rules, with their variables as they are now; rules that are added later count in it. */
  now(): PermissionRules
}

/** The rules of a session, in their three scopes. */
export class RuleStore implements PermissionRules {
  readonly #addon: ContractAddon
  readonly #variables: () => ContractVariables
  /** What errors call the list of the manifest's rules. */
  readonly #manifestList: string
  readonly #manifest: readonly StoredRule[]
  readonly #session: StoredRule[]
  readonly #project: StoredRule[]
  #all: readonly StoredRule[] = []
  /** The rules, compiled for what variables stand for: now, and when calls that run began. */
  #compiled = new WeakMap<ContractVariables, ContractRules>()

  /** @throws {ToolError} CONTRACT_RULE_INVALID with the place of what is wrong. */
  constructor(
    addon: ContractAddon,
    variables: ContractVariables | (() => ContractVariables),
    rules: { manifest?: unknown; session?: unknown; project?: unknown },
    manifestList = 'manifest.permissions',
  ) {
    this.#addon = addon
    this.#variables = typeof variables === 'function' ? variables : () => variables
    this.#manifestList = manifestList
    this.#manifest = storedRules(rules.manifest, 'manifest', manifestList)
    this.#session = storedRules(rules.session, 'session', 'permissions.session')
    this.#project = storedRules(rules.project, 'project', 'permissions.project')
    this.#all = this.#list()
    this.#compiledFor(this.#variables())
  }

  /** @throws {ToolError} INVALID_INPUT, CONTRACT_RULE_INVALID with the place of what is wrong. */
  static check(addon: ContractAddon, variables: ContractVariables, rules: unknown, list: string): void {
    const store = new RuleStore(addon, variables, { manifest: rules }, list)
    store.now()
  }

  get forSearches(): readonly ContractRules[] {
    return [this.#compiledFor(this.#variables())]
  }

  now(): PermissionRules {
    const variables = this.#variables()
    const compiled = (): ContractRules => this.#compiledFor(variables)
    const view: PermissionRules = {
      get forSearches() {
        return [compiled()]
      },
      rules: (source) => this.rules(source),
      evaluate: (toolId, subjects) => this.#evaluate(variables, toolId, subjects),
      record: (rule, source) => this.record(rule, source),
      now: () => view,
    }
    return view
  }

  rules(source: RuleSource): readonly StoredRule[] {
    if (source === 'manifest') return this.#manifest
    return [...(source === 'session' ? this.#session : this.#project)]
  }

  evaluate(toolId: string, subjects: Subject[]): PermissionVerdict {
    return this.#evaluate(this.#variables(), toolId, subjects)
  }

  #evaluate(variables: ContractVariables, toolId: string, subjects: Subject[]): PermissionVerdict {
    const { action, matched, userAllowed, subjects: each } = this.#compiledFor(variables).evaluate(toolId, subjects)
    const told = each.map(({ capability, resource, action: own, rule, final, restricted }) => ({
      capability,
      resource,
      action: own,
      rule: rule === undefined ? undefined : this.#all[rule],
      final,
      restricted,
    }))
    const isFree = ({ capability, resource, rule, restricted }: SubjectVerdict): boolean =>
      rule === undefined &&
      restricted === undefined &&
      subjects.some((one) => one.capability === capability && one.free?.includes(resource) === true)
    const judged = told.filter((one) => !isFree(one))
    if (judged.length === told.length)
      return { action, matched, userAllowed, decisive: told.find((one) => one.action === action), subjects: told }
    const decisive = strictestOf(judged)
    const shell = subjects.find(({ kind }) => kind === 'command')?.shell
    return {
      action: decisive?.action ?? 'allow',
      matched,
      userAllowed: judged.length > 0 && judged.every((one) => this.#isUserAllowed(variables, toolId, one, shell)),
      decisive,
      subjects: told.map((one) => (isFree(one) ? { ...one, action: 'allow' } : one)),
    }
  }

  /** Whether rules of the user alone allow a command. */
  #isUserAllowed(
    variables: ContractVariables,
    toolId: string,
    { capability, resource, restricted }: SubjectVerdict,
    shell: Subject['shell'],
  ): boolean {
    const alone: Subject = { capability, kind: 'command', resource, ...(shell === undefined ? {} : { shell }) }
    return restricted === undefined && this.#compiledFor(variables).evaluate(toolId, [alone]).userAllowed
  }

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
    this.#all = this.#list()
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
    const told = this.#list().map(({ permission, pattern, action, source }) => ({ permission, pattern, action, source }))
    return unwrap(this.#addon.compileRules(variables, told, this.#manifestList)).rules as ContractRules
  }

  #list(): StoredRule[] {
    return [...this.#manifest, ...this.#session, ...this.#project]
  }
}

/** The first of those that the strictest action has. */
function strictestOf(judged: readonly SubjectVerdict[]): SubjectVerdict | undefined {
  return judged.find(({ action }) => action === 'deny') ?? judged.find(({ action }) => action === 'ask') ?? judged[0]
}
