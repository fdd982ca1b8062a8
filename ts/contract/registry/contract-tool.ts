import { checked, checkNames, invalid, isPlain } from '../../core/options.js'
import { type AcpToolKind, acpToolKinds, isLockedToolId } from './tool-ids.js'
import { isEmptySet, findRequirementProblem, type RequirementSet } from './requirements.js'
import { findSchemaProblem } from './schema-problem.js'
import type { ToolRuntime } from './tool-runtime.js'

/** A JSON Schema of an object: draft-07 unless `$schema` says 2019-09 or 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What a call does with a path. */
export type FileAccess = 'read' | 'write' | 'edit' | 'search'

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
       * written; `search`: a directory or a file.
       */
      access: FileAccess
      /** A search of all roots of the workspace: no path was given. */
      everywhere?: boolean | undefined
    }
  | { kind: 'command'; command: string; workdir?: string | undefined }
  /** A resource on which the tool uses a capability that it requires by name, as permission rules see it. */
  | { kind: 'capability'; name: string; resource: string }
  /** A host of the web: of a URL, or of a service. */
  | { kind: 'host'; host: string; port: number }

/** A tool: five fields that it publishes, and a few that it may. */
// oxlint-disable-next-line typescript/no-explicit-any -- each tool knows its own arguments; the schema checks them
export interface ContractTool<ARGS = any, DATA = unknown> {
  /** Stable across agents and sessions: letters, digits, `_` and `-`, at most 64. */
  readonly id: string
  /** What the model reads to decide whether to call it. */
  readonly description: string
  /** Checked before `execute`. */
  readonly parameters: JsonSchema
  /** What it reaches. */
  readonly requires: RequirementSet
  /** Runs the call. Its result, as JSON, becomes the envelope's `data`; its error becomes `error_text`. */
  readonly execute: (args: ARGS, runtime: ToolRuntime) => DATA | PromiseLike<DATA>
  /**
   * What the call will touch. Anything else that a tool touches is judged at that moment.
   * @default nothing
   */
  readonly targets?: ((args: ARGS) => readonly CallTarget[]) | undefined
  /** How clients of the Agent Client Protocol show it. @default 'other' */
  readonly kind?: AcpToolKind | undefined
  /**
   * Whether a call changes anything outside of the session. Such a call is recorded before it is made.
   * @default whether it requires more than to read files
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
    checkTool(tool)
    if (isLockedToolId(tool.id)) throw lockedId(tool.id)
    return Object.freeze({ ...tool })
  })
}

/** The error of a tool that takes a locked id. */
export function lockedId(id: string): Error {
  return invalid(`The tool id ${id} is locked: it means the same in every host. Offer the tool under another id.`)
}

/** @throws {ToolError} INVALID_INPUT for an invalid tool. */
export function checkTool(tool: unknown): asserts tool is ContractTool {
  if (typeof tool !== 'object' || tool === null) throw invalid('A tool must be an object.')
  // An instance of a class may have fields of its own.
  if (isPlain(tool)) checkNames('tool.', tool, toolNames)
  const { id, description, parameters, requires, execute, targets, kind, sideEffect, extension } = tool as Record<string, unknown>
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/u.test(id)) {
    throw invalid('A tool needs an id of 1 to 64 letters, digits, "_" and "-".')
  }
  if (id in Object.prototype) throw invalid(`The tool id ${id} is a name that every object has. Take another one.`)
  const missing = (what: string): Error => invalid(`The tool ${id} needs ${what}.`)
  if (typeof description !== 'string' || description.trim() === '') throw missing('a description')
  const problem = findSchemaProblem(parameters)
  if (problem !== undefined) throw missing(`parameters that are a JSON Schema: ${problem}`)
  if (requires === undefined) throw missing('requires ({} for a tool that reaches nothing)')
  const wrong = findRequirementProblem(requires)
  if (wrong !== undefined) throw missing(`a requirement set: ${wrong}`)
  if (typeof execute !== 'function') throw missing('a function execute')
  if (targets !== undefined && typeof targets !== 'function') throw missing('targets that are a function')
  if (kind !== undefined && !(acpToolKinds as readonly unknown[]).includes(kind)) throw missing(`a kind of ${acpToolKinds.join(', ')}`)
  for (const [name, value] of Object.entries({ sideEffect, extension })) {
    if (value !== undefined && typeof value !== 'boolean') throw missing(`${name} that is true or false`)
  }
}

const toolNames = ['id', 'description', 'parameters', 'requires', 'execute', 'targets', 'kind', 'sideEffect', 'extension']

/** An immutable copy of a tool. */
export function freezeTool(tool: ContractTool): ContractTool {
  const { id, description, parameters, requires, kind, sideEffect, extension } = tool
  const targets = tool.targets?.bind(tool)
  return Object.freeze({
    id,
    description,
    parameters: structuredClone(parameters),
    requires: structuredClone(requires),
    execute: tool.execute.bind(tool),
    ...(targets === undefined ? {} : { targets }),
    ...(kind === undefined ? {} : { kind }),
    ...(sideEffect === undefined ? {} : { sideEffect }),
    ...(extension === undefined ? {} : { extension }),
  })
}

/** Whether calls of a tool are recorded before they are made. */
export function hasSideEffect({ sideEffect, requires }: ContractTool): boolean {
  return sideEffect ?? !isEmptySet({ ...requires, fs: { write: requires.fs?.write } })
}
