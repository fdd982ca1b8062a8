import { type Checks, group, listOf, must, optional, text } from '../../core/options.js'

/** A glob of paths, relative to each root of the workspace, or absolute; may hold variables. */
export type PathPattern = string
/** A host: `example.com`, `*.example.com`, `api*`, `10.0.0.*` or `*`, with a port (`:8443`) or without. */
export type HostPattern = string
/** A capability that the other fields do not cover. */
export type CapabilityName = string

/** A pattern for one argument of a program: a text, any text, or a prefix. */
export type ArgPattern = string | { wildcard: true } | { prefix: string }

/** A program that commands may run. */
export interface ShellRunRequirement {
  /** The program's name; `*` for any. */
  cmd: string
  /** One pattern for each argument. @default any arguments */
  args?: ArgPattern[] | undefined
}

/** What a tool, or a session, may reach. Anything left out is closed. */
export interface RequirementSet {
  fs?: { read?: PathPattern[] | undefined; write?: PathPattern[] | undefined } | undefined
  net?: { hosts?: HostPattern[] | undefined } | undefined
  shell?: ShellRunRequirement[] | undefined
  capabilities?: CapabilityName[] | undefined
}

/** The values of the variables in patterns. */
export interface RequirementVariables {
  /** `{workspace}`: the roots of the workspace, absolute. Without roots, patterns with it match nothing. */
  workspace: string[]
  /** `{ad-hoc}`: the directories of files opened one by one. */
  adHoc: string[]
  /** `{user-data}`: the host's directory for its user. */
  userData?: string | undefined
}

/** The requirements of a session, and what it may do. */
export interface SessionRequirements {
  /** The union of what the manifest and every tool require. */
  declared: RequirementSet
  /** The upper bound set by the host. */
  ceiling?: RequirementSet | undefined
  /** The sets that hold. An access needs all of them. */
  effective: RequirementSet[]
}

/** Whether a set reaches nothing. A tool with such a set needs no permission. */
export function isEmptySet(set: RequirementSet): boolean {
  const { fs, net, shell, capabilities } = set
  const lists: (readonly unknown[] | undefined)[] = [fs?.read, fs?.write, net?.hosts, shell, capabilities]
  return lists.every((list) => list === undefined || list.length === 0)
}

/** The union of sets, without duplicates. */
export function uniteRequirements(sets: readonly RequirementSet[]): RequirementSet {
  const all = <T>(pick: (set: RequirementSet) => readonly T[] | undefined): T[] => {
    const byText = new Map<string, T>()
    for (const item of sets.flatMap((set) => pick(set) ?? [])) byText.set(JSON.stringify(item), item)
    return [...byText.values()]
  }
  return {
    fs: { read: all((set) => set.fs?.read), write: all((set) => set.fs?.write) },
    net: { hosts: all((set) => set.net?.hosts) },
    shell: all((set) => set.shell),
    capabilities: all((set) => set.capabilities),
  }
}

const isArgPattern = (value: unknown): boolean => {
  const { wildcard, prefix } = (value ?? {}) as { wildcard?: unknown; prefix?: unknown }
  return typeof value === 'string' || wildcard === true || typeof prefix === 'string'
}

const texts = optional(listOf(text))

/** A copy of a requirement set. Its patterns are checked when they are compiled. */
export const requirementSet = group({
  fs: optional(group({ read: texts, write: texts })),
  net: optional(group({ hosts: texts })),
  shell: optional(
    listOf(group({ cmd: text, args: optional(listOf(must<ArgPattern>(isArgPattern, 'a text, { wildcard: true } or { prefix }'))) })),
  ),
  capabilities: texts,
} satisfies Checks<RequirementSet>)
