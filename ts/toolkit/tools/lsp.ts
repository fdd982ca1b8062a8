import { z } from 'zod'
import { isWithin } from '../../core/near-paths.js'
import { invalid } from '../../core/options.js'
import type { LanguageServers } from '../../language-servers/language-servers.js'
import { ASK_MS, type LspAction, lspActions } from '../../language-servers/queries.js'
import { serverError } from '../../language-servers/server-error.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { type CallSettings, pathText } from './call-plan.js'
import { guideModel } from './model-errors.js'
import { serverHost } from './server-host.js'

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
export function createLspTool(bound: BoundToolOptions, description: string, servers: LanguageServers): LspTool {
  return defineBuiltIn(
    {
      name: 'lsp',
      description,
      schema,
      outputSchema,
      sideEffect: false,
      kind: 'read',
      execute: async (input: LspInput, call) => ask(servers, bound, input, call).catch(guideModel('lsp', call)),
    },
    bound,
  )
}

async function ask(
  servers: LanguageServers,
  bound: BoundToolOptions,
  { action, path, line, symbol }: LspInput,
  call: CallSettings,
): Promise<string> {
  const host = serverHost(servers, bound, call)
  const target = host.absolute(pathText(path))
  if (!isWithin(host.rootDir, target)) throw invalid(`path: ${path} is outside of the root directory.`)
  const limit = AbortSignal.timeout(ASK_MS)
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  const late = servers.takeLate()
  const answer = await servers.ask({ action, path: target, line, symbol }, host, signal).catch((error: unknown) => {
    call.signal?.throwIfAborted()
    throw serverError(error, limit) ?? error
  })
  return late === undefined ? answer : `${answer}\n${late}`
}
