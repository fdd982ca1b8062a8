import { boolean, callable, type Check, checked, type Checks, group, invalid, must, oneOf, optional } from '../../core/options.js'
import { type AcpToolKind, acpToolKinds, isLockedToolId } from './tool-ids.js'
import { isEmptySet, requirementSet, type RequirementSet } from './requirements.js'
import { argumentsSchema, type JsonSchema, resultSchema } from './json-schema.js'
import type { PatchedFile, ToolRuntime } from './tool-runtime.js'

export type { JsonSchema } from './json-schema.js'

/** What a call does with a path. */
export type FileAccess = 'read' | 'write' | 'edit' | 'remove' | 'place' | 'search'

/**
 * What a call will touch, according to its arguments. It is opened and checked before the permission rules, the watchdog
 * and the user are asked, and stays open, so that they judge what is really used.
 */
export type CallTarget =
  | {
      kind: 'file'
      /** As the model wrote it. */
      path: string
      /**
       * `read`: an existing file; `write`: an existing or a new one; `edit`: an existing one, read and
       * written; `remove`: an existing one, or a link itself, that is deleted or moved away; `place`: the name that a moved file
       * or link gets; `search`: a directory or a file.
       */
      access: FileAccess
      /** A search of all roots of the workspace: no path was given. */
      everywhere?: boolean | undefined
    }
  | { kind: 'command'; command: string; workdir?: string | undefined }
  /** Text that is typed into a process. Rules judge it as a command line, because a shell may read it. */
  | { kind: 'input'; process: string; text: string; secret?: boolean | undefined }
  /** A resource on which the tool uses a capability that it requires by name, as permission rules see it. */
  | { kind: 'capability'; name: string; resource: string }
  /** A host of the web: of a URL, or of a service. */
  | { kind: 'host'; host: string; port: number }

type FileTarget = Extract<CallTarget, { kind: 'file' }>

const accessOf = { add: 'write', update: 'edit', delete: 'remove', move: 'remove' } as const

/** The targets of a patch: its files in their order, each followed by its new path if it is moved. */
export function patchTargets(files: readonly PatchedFile[]): FileTarget[] {
  return files.flatMap(({ path, change, moved_to }): FileTarget[] => {
    const first: FileTarget = { kind: 'file', path, access: accessOf[change] }
    return moved_to === undefined ? [first] : [first, { kind: 'file', path: moved_to, access: 'place' }]
  })
}

/** A tool: five fields that it publishes, and a few that it may. */
// oxlint-disable-next-line typescript/no-explicit-any -- each tool knows its own arguments; the schema checks them
export interface ContractTool<ARGS = any, DATA = unknown> {
  /** Stable across agents and sessions: letters, digits, `_` and `-`, at most 64. */
  readonly id: string
  /** The description, by which the model decides whether to call the tool. */
  readonly description: string
  /** The JSON Schema of the arguments, checked before `execute`. */
  readonly parameters: JsonSchema
  /** The capabilities that it needs. */
  readonly requires: RequirementSet
  /** Runs the call. Its result, as JSON, becomes the envelope's `data`; its error becomes `error_text`. */
  readonly execute: (args: ARGS, runtime: ToolRuntime) => DATA | PromiseLike<DATA>
  /**
   * What the call will touch. Anything else that a tool touches is judged at that moment.
   * @default nothing
   */
  readonly targets?: ((args: ARGS) => readonly CallTarget[]) | undefined
  /**
   * The JSON Schema of the result, for typed clients, MCP servers and generated code. The model does not get it, and no
   * result is checked against it, because the call has been made. `contractSuite` checks it.
   * @default unknown
   */
  readonly outputSchema?: JsonSchema | undefined
  /** How clients of the Agent Client Protocol show it. @default 'other' */
  readonly kind?: AcpToolKind | undefined
  /**
   * Whether a call changes anything outside the session. Such a call is recorded before it is made.
   * @default whether it requires more than reading files
   */
  readonly sideEffect?: boolean | undefined
  /**
   * Whether an extension brings the tool. Among many tools, it is hidden until `tool_search` finds it.
   * @default false
   */
  readonly extension?: boolean | undefined
}

/**
 * Checks a tool and returns it, frozen, with the types of its arguments.
 *
 * @throws {ToolError} INVALID_INPUT for a missing or invalid field, and for a locked id.
 */
export function defineContractTool<ARGS, DATA>(tool: ContractTool<ARGS, DATA>): ContractTool<ARGS, DATA> {
  return checked('defineContractTool', () => {
    copyTool(tool)
    if (isLockedToolId(tool.id)) throw lockedId(tool.id)
    return Object.freeze({ ...tool })
  })
}

/** The error of a tool that takes a locked id. */
export function lockedId(id: string): Error {
  return invalid(`The tool id ${id} is locked: it means the same in every host. Offer the tool under another id.`)
}

const isId = (id: unknown): boolean => typeof id === 'string' && /^[A-Za-z0-9_-]{1,64}$/u.test(id) && !(id in Object.prototype)

const requirements: Check<RequirementSet> = (value, name) => {
  if (value === undefined) throw invalid(`${name} is missing; {} is that of a tool that reaches nothing.`)
  return requirementSet(value, name)
}

const fields = group({
  id: must<string>(isId, '1 to 64 letters, digits, "_" and "-", and no name that every object has'),
  description: must<string>((value) => typeof value === 'string' && value.trim() !== '', 'a text for the model'),
  parameters: argumentsSchema,
  requires: requirements,
  execute: callable<ContractTool['execute']>(),
  targets: optional(callable<NonNullable<ContractTool['targets']>>()),
  outputSchema: optional(resultSchema),
  kind: optional(oneOf(...acpToolKinds)),
  sideEffect: optional(boolean),
  extension: optional(boolean),
} satisfies Checks<ContractTool>)

/**
 * An immutable copy of a tool.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid tool.
 */
export function copyTool(tool: unknown): ContractTool {
  const { id } = (tool ?? {}) as { id?: unknown }
  const copy = fields(tool, typeof id === 'string' ? `tool ${id.slice(0, 64)}` : 'A tool')
  // A tool may be an object of a class.
  return Object.freeze({ ...copy, execute: copy.execute.bind(tool), ...(copy.targets && { targets: copy.targets.bind(tool) }) })
}

/** Whether calls of a tool are recorded before they are made. */
export function hasSideEffect({ sideEffect, requires }: ContractTool): boolean {
  return sideEffect ?? !isEmptySet({ ...requires, fs: { write: requires.fs?.write } })
}
