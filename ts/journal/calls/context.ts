import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { ownFile } from '../../core/addon.js'
import { loadLate } from '../../core/late-code.js'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { noteRoot } from '../../core/grants.js'
import type { Journal } from '../journal.js'
import { callable, checked, invalid } from '../../core/options.js'

/** The record of one call for a recorder, before it runs and after it has ended. */
// oxlint-disable-next-line typescript/consistent-type-definitions -- an interface is no Record, which recorders of the original take
export type ToolCallRecord = {
  /** `started` before the tool runs, then `finished` or `failed`. */
  phase: 'started' | 'finished' | 'failed'
  /** `intended`, then `succeeded`, or `unknown` after a failure. */
  effectStatus: 'intended' | 'succeeded' | 'unknown'
  /** The number of the call within its task, from 1. */
  seq: number
  /** The arguments. */
  input: unknown
  /** The result of the tool, in phase `finished`; for an aborted `bash`, its output so far. */
  output?: unknown
  /** The error of the tool, in phase `failed`. */
  error?: unknown
  kind: 'tool'
  toolName: string
  sideEffect: boolean
  idempotent: boolean
  acceptsIdempotencyKey: boolean
  hasRevert: boolean
  /** The idempotency key if `execute` takes a context and can use it; otherwise `null`. */
  idempotencyKey: string | null
  /** The AI SDK's id of the call, if an agent made it. */
  toolCallId?: string | undefined
}

/**
 * The runtime context of a task: provided by a workflow engine or by {@link runWithToolContext},
 * read by tools.
 */
export interface ToolContext {
  /** The host's database handle; passed through untouched. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the host chooses the type, as in the original's own types
  db?: any
  /** The run this call belongs to. */
  runId?: string | undefined
  /** The task within the run. */
  nodeId?: string | undefined
  /** The loop iteration of the task. @default 0 */
  iteration?: number | undefined
  /** The retry attempt of the task. @default 0 */
  attempt?: number | undefined
  /** A key that is stable across retries of the task. @default built from the ids */
  idempotencyKey?: string | null | undefined
  /** The directory to which built-in tools are confined. */
  rootDir?: string | undefined
  /** Whether `bash` may reach the network. */
  allowNetwork?: boolean | undefined
  /** The most bytes that one tool call returns or takes. */
  maxOutputBytes?: number | undefined
  /** The time after which `bash` and `grep` are stopped, in milliseconds. */
  timeoutMs?: number | undefined
  /** The number of tool calls so far, which {@link nextToolSeq} increments. */
  seq?: number | undefined
  /** Aborts the calls in this context. */
  signal?: AbortSignal | undefined
  /** The AI SDK's id of the current call, under the original's name. */
  toolUseId?: string | undefined
  /** The journal of calls, unless `recordToolCall` records them. */
  journal?: Journal | undefined
  /** Called before and after every call of a tool. */
  recordToolCall?: ((record: ToolCallRecord) => unknown) | undefined
  /** Called after a tool with a side effect has succeeded. */
  durabilitySnapshot?: ((toolName: string, toolUseId: string | undefined) => unknown) | undefined
  /** Called by an engine's own tools; passed through untouched. */
  emitEvent?: ((event: never) => unknown) | undefined
}

interface ContextStore {
  run<T>(context: ToolContext, fn: () => T): T
  get(): ToolContext | undefined
}

const ENGINE = 'smithers-orchestrator'
const CONTEXT = '@smithers-orchestrator/tool-context'

let store: ContextStore | undefined

/**
 * The store, looked for at the first use, so that a program that only imports this package loads nothing else for it.
 * Inside the Smithers engine, its context is the context: the engine keeps it in a module-private
 * AsyncLocalStorage that only its own package can reach. Anywhere else it is ours, found through a
 * global symbol so that two installed copies of this package share one.
 */
function currentStore(): ContextStore {
  store ??= engineStore()
  if (store !== undefined) return store
  warnIfEngineIsOutOfReach()
  return (store = ownStore())
}

// A command could put a package of that name beside this one.
loadLate(async () => currentStore())

function engineStore(): ContextStore | undefined {
  // Typed by hand, because the package is an optional companion. Required and not imported, because an import would have
  // to be awaited; it is the same module either way.
  const require = createRequire(ownFile())
  if (!mayResolve(require)) return undefined
  for (const name of [`${CONTEXT}/toolContext`, CONTEXT]) {
    try {
      const engine = require(name) as Record<string, unknown>
      const { runWithToolContext: run, getToolContext: get } = engine
      if (typeof run === 'function' && typeof get === 'function') {
        return { run: run as ContextStore['run'], get: get as ContextStore['get'] }
      }
    } catch {
      // Not installed, or of another shape.
    }
  }
  return undefined
}

/** Looks for a folder of that name, which takes a tenth of the time of two failures to resolve it. */
function mayResolve(require: NodeJS.Require): boolean {
  const folders = process.versions['pnp'] === undefined ? require.resolve.paths?.(CONTEXT) : undefined
  return folders?.some((folder) => existsSync(join(folder, CONTEXT))) ?? true
}

function ownStore(): ContextStore {
  const key = Symbol.for('toolwright.tool-context')
  const shared = globalThis as { [key]?: AsyncLocalStorage<ToolContext> }
  const storage = (shared[key] ??= new AsyncLocalStorage<ToolContext>())
  return { run: (context, fn) => storage.run(context, fn), get: () => storage.getStore() }
}

/**
 * Warns that tools do not see the context of the Smithers engine, where the engine is installed and the package that
 * holds its context cannot be resolved from here. Tools would work in the wrong directory, unrecorded and unnoticed.
 */
export function warnIfEngineIsOutOfReach(from?: string): void {
  if (!isInstalled(ENGINE, from)) return
  console.warn(
    `[toolwright] ${ENGINE} is installed, but ${CONTEXT} cannot be resolved from toolwright, so tools do not see the engine's context: ` +
      `they work in the current directory, and the engine records none of their calls. Install ${CONTEXT} beside toolwright.`,
  )
}

/** The root where there is no working directory any more, which the first call reports. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    return '/'
  }
}

/** Searches the folders without resolving: where there is no `node_modules`, Bun resolves a name by installing it. */
function isInstalled(name: string, from = join(workingDirectory(), 'index.js')): boolean {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true
    if (folder === dirname(folder)) return false
  }
}

/**
 * Runs `fn` with `context` as the context of every tool called in it, at any depth and at any time.
 *
 * @returns the result of `fn`.
 * @throws {ToolError} INVALID_INPUT for a context that is no object, and an `fn` that is no function. `undefined`, which
 * {@link getToolContext} returns outside any task, stands for no context.
 */
export function runWithToolContext<T>(context: ToolContext, fn: () => T): T {
  const rootDir = checked('runWithToolContext', () => {
    if (typeof (context ?? {}) !== 'object') throw invalid('The context must be an object.')
    callable()(fn, 'fn')
    return context?.rootDir
  })
  if (rootDir !== undefined) noteRoot(context, rootDir, getToolContext())
  return currentStore().run(context, fn)
}

/** The context of the current task; `undefined` outside any task. */
export function getToolContext(): ToolContext | undefined {
  return currentStore().get()
}

/**
 * The key of a task: `context.idempotencyKey` if it is a non-empty string, otherwise `smithers:RUN:NODE:ITERATION` if run and
 * node are known, otherwise `null`.
 *
 * @param context the context. @default the current one
 */
export function getToolIdempotencyKey(context: ToolContext | undefined = getToolContext()): string | null {
  return checked('getToolIdempotencyKey', () => {
    const key = context?.idempotencyKey
    if (typeof key === 'string' && key !== '') return key
    if (!context?.runId || !context.nodeId) return null
    return `smithers:${context.runId}:${context.nodeId}:${context.iteration ?? 0}`
  })
}

/** Increments `context.seq` and returns the new number. The first is 1. */
export function nextToolSeq(context: ToolContext | null | undefined): number {
  if (typeof context !== 'object' || context === null) return 1
  return checked('nextToolSeq', () => {
    const seq = (context.seq ?? 0) + 1
    // A frozen context cannot count, which must not fail the call.
    Reflect.set(context, 'seq', seq)
    return seq
  })
}
