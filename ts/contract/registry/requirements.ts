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

/** The problem of a value that is not a requirement set; `undefined` if it is one. Patterns are checked later. */
export function findRequirementProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'requires must be an object'
  const unknown = Object.keys(value).find((key) => !['fs', 'net', 'shell', 'capabilities'].includes(key))
  if (unknown !== undefined) return `requires.${unknown} is not known; it has fs, net, shell and capabilities`
  const { fs, net, shell, capabilities } = value
  return (
    groupProblem('fs', fs, ['read', 'write']) ??
    groupProblem('net', net, ['hosts']) ??
    (capabilities === undefined || isStrings(capabilities) ? undefined : 'requires.capabilities must be strings') ??
    shellProblem(shell)
  )
}

function groupProblem(name: string, group: unknown, keys: readonly string[]): string | undefined {
  if (group === undefined) return undefined
  if (!isRecord(group)) return `requires.${name} must be an object`
  for (const [key, value] of Object.entries(group)) {
    if (!keys.includes(key)) return `requires.${name}.${key} is not known`
    if (value !== undefined && !isStrings(value)) return `requires.${name}.${key} must be strings`
  }
  return undefined
}

function shellProblem(shell: unknown): string | undefined {
  if (shell === undefined) return undefined
  if (!Array.isArray(shell)) return 'requires.shell must be an array'
  for (const [index, entry] of (shell as unknown[]).entries()) {
    if (!isRecord(entry) || typeof entry['cmd'] !== 'string' || entry['cmd'] === '') {
      return `requires.shell[${index}].cmd must be the name of a program`
    }
    // Without its args a program may be run with any.
    const unknown = Object.keys(entry).find((key) => !['cmd', 'args'].includes(key))
    if (unknown !== undefined) return `requires.shell[${index}].${unknown} is not known; it has cmd and args`
    const { args = [] } = entry as { args?: unknown }
    if (!Array.isArray(args) || !args.every(isArgPattern)) {
      return `requires.shell[${index}].args must be texts, { wildcard: true } or { prefix }`
    }
  }
  return undefined
}

function isArgPattern(value: unknown): boolean {
  return typeof value === 'string' || (isRecord(value) && (value['wildcard'] === true || typeof value['prefix'] === 'string'))
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const isStrings = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
