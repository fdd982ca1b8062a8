/** Language servers beside the tools: what an answer to a change says of new problems, and the tool `lsp`. */
import { extname, resolve } from 'node:path'
import { z } from 'zod'
import { grantedRoot, noteGrants } from '../../core/grants.js'
import { startProcess } from '../../core/kept-process.js'
import { call as callAddon, fileText } from '../../core/native.js'
import { isWithin } from '../../core/near-paths.js'
import { noVariables } from '../../core/network-guard/guard-network.js'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { SandboxOptions } from '../../core/sandbox.js'
import type { LanguageServers, ServerHost } from '../../language-servers/language-servers.js'
import { RequestRefused } from '../../language-servers/connection.js'
import { ServerRests } from '../../language-servers/server-slot.js'
import { type LspAction, lspActions } from '../../language-servers/queries.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { type CallPlan, callPlan, type CallSettings, commandOf, commandSettings, pathText } from './call-plan.js'
import { guideModel } from './model-errors.js'

/** The largest source file that a server is shown, in bytes. */
const MAX_SOURCE_BYTES = 2_000_000
/** The most bytes of a list of files, or of the lines that import something. */
const MAX_LIST_BYTES = 20_000_000
const LIST_MS = 10_000
/** What others have written is not checked, even where no rule leaves it out of searches. */
const PACKAGES = /(?:^|\/)(?:node_modules|\.venv|venv)\//u
/** How long the start of a server may take, in milliseconds. */
const START_MS = 30_000
/** How long the tool `lsp` waits for an answer, in milliseconds. */
const ASK_MS = 30_000

/** The language servers of a set, and the memory that one may use. */
export interface ServersOfSet {
  servers: LanguageServers
  memoryBytes: number
  bound: BoundToolOptions
}

/**
 * Makes a change, and adds to its note what is new among the problems of the files. The change itself waits for no server.
 *
 * @returns what `change` has returned, and the note.
 */
export async function changeWithProblems<T>(
  set: ServersOfSet | undefined,
  paths: readonly unknown[],
  call: CallSettings,
  change: () => Promise<T>,
): Promise<{ result: T; note: string | undefined }> {
  if (set === undefined) return { result: await change(), note: undefined }
  const host = serverHost(set, call)
  const files = paths.filter((path) => typeof path === 'string').map((path) => host.absolute(path))
  const noted = await set.servers.before(
    files.filter((path) => isWithin(host.rootDir, path)),
    host,
  )
  const result = await change().catch((error: unknown) => {
    set.servers.unchanged(noted)
    throw error
  })
  const late = set.servers.takeLate()
  const note = await set.servers.after(noted, host, call.signal)
  return { result, note: late === undefined ? note : note === undefined ? late : `${late}\n${note}` }
}

/** What language servers need of the tools, in the sandbox of commands but without a network. */
export function serverHost({ memoryBytes, bound }: ServersOfSet, call: CallSettings): ServerHost {
  const plan = callPlan(call)
  const { rootDir } = plan
  const absolute = (path: string): string => resolve(rootDir, path)
  const list = async (extensions: readonly string[]): Promise<string[]> => {
    const names = extensions.map((extension) => extension.slice(1))
    const pattern = names.length === 1 ? `*.${names[0]}` : `*.{${names.join(',')}}`
    const request = { pattern, path: '.', limitBytes: MAX_LIST_BYTES, timeoutMs: LIST_MS }
    const { text } = await callAddon(plan.limits('list sources'), (addon, cancel) => addon.glob(grantedRoot(addon, plan), request, cancel))
    return text
      .split('\n')
      .filter((line) => line !== '' && !PACKAGES.test(line))
      .map(absolute)
  }
  return {
    rootDir,
    path: (plan.env === 'inherit' ? undefined : plan.env.set?.['PATH']) ?? process.env['PATH'],
    absolute,
    list,
    read: async (path) => {
      const read = callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
        addon.read(grantedRoot(addon, plan), path, MAX_SOURCE_BYTES, true, cancel),
      )
      return read.then(fileText, () => undefined)
    },
    grep: async (pattern, extensions) => {
      const request = { pattern, path: '.', limitBytes: MAX_LIST_BYTES, timeoutMs: LIST_MS }
      const { text } = await callAddon(plan.limits('search imports'), (addon, cancel) =>
        addon.grep(grantedRoot(addon, plan), request, undefined, cancel),
      )
      return text
        .split('\n')
        .filter((line) => !PACKAGES.test(line) && extensions.includes(extname(line.slice(0, line.indexOf(':')))))
        .join('\n')
    },
    start: (server, signal) => {
      const { command } = server
      const [cmd = '', ...args] = command
      const own = confined(plan, memoryBytes)
      return startProcess(
        { signal, timeoutMs: START_MS, what: `language server ${server.name}` },
        (addon, keep, cancel) =>
          addon.startProcess(commandSettings(own, { ...bound })(addon), commandOf({ cmd, args, cwd: '.' }, noVariables), keep, cancel),
        // Its output waits in its pipe until it is read here.
        { input: 'pipe', stderrApart: true, holds: true, headBytes: 0 },
      )
    },
  }
}

/** The sandbox of a server: no network, and a limit of memory. */
function confined(plan: CallPlan, memoryBytes: number): CallPlan {
  const { network: _network, limits, ...sandbox } = plan.sandbox
  const least = Math.min(memoryBytes, limits?.memoryBytes ?? Infinity)
  const own: SandboxOptions = { ...sandbox, limits: { ...limits, memoryBytes: least } }
  noteGrants(own, plan.rootDir)
  return { ...plan, allowNetwork: false, sandbox: own }
}

/** Input of the `lsp` tool. */
export interface LspInput {
  action: LspAction
  path: string
  line?: number | undefined
  symbol?: string | undefined
}

/** The `lsp` tool: asks the language server of a file. */
export type LspTool = CallableTool<LspInput, string>

const schema = z.object({
  action: z
    .enum(lspActions)
    .describe('diagnostics: the problems of the file; symbols: its outline; definition, references, hover: of symbol'),
  path: z.string().describe('The file'),
  line: z.number().int().min(1).optional().describe('The line of the symbol, from 1; needed if it is in the file several times'),
  symbol: z.string().optional().describe('The text of the symbol, for definition, references and hover'),
})

const outputSchema = z.string().describe('Lines of path:line: text')

/** Makes the `lsp` tool of a tool set. */
export function createLspTool(bound: BoundToolOptions, description: string, set: ServersOfSet): LspTool {
  return defineBuiltIn(
    {
      name: 'lsp',
      description,
      schema,
      outputSchema,
      sideEffect: false,
      kind: 'read',
      execute: async (input: LspInput, call) => ask(set, input, call).catch(guideModel('lsp', call)),
    },
    bound,
  )
}

async function ask(set: ServersOfSet, { action, path, line, symbol }: LspInput, call: CallSettings): Promise<string> {
  const host = serverHost(set, call)
  const target = host.absolute(pathText(path))
  if (!isWithin(host.rootDir, target)) throw invalid(`path: ${path} is outside of the root directory.`)
  const limit = AbortSignal.timeout(ASK_MS)
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  const late = set.servers.takeLate()
  const answer = await set.servers.ask({ action, path: target, line, symbol }, host, signal).catch((error: unknown) => {
    throw serverError(error, limit)
  })
  return late === undefined ? answer : `${answer}\n${late}`
}

/** A failure of a server, for a model. */
function serverError(error: unknown, limit: AbortSignal): unknown {
  const code = 'TOOL_LANGUAGE_SERVER_FAILED'
  if (error instanceof ServerRests) {
    const hint = `It is started again by a call after ${Math.max(Math.ceil(error.restMs / 1_000), 1)} s. Until then, use grep, or run the compiler.`
    return new ToolError({ code, summary: `The language server has failed: ${error.message}`, hint, cause: error })
  }
  if (limit.aborted) {
    const hint = 'It may be reading the project: call again in a moment, or use grep.'
    return new ToolError({ code, summary: `The language server has not answered in ${ASK_MS / 1_000} s`, hint, cause: error })
  }
  if (error instanceof RequestRefused) {
    const hint = 'Give another symbol or file, or use grep.'
    return new ToolError({ code, summary: `The language server has refused this: ${error.message}`, hint, cause: error })
  }
  return error
}
