import { type LspAction, lspActions, lspDescription, type LspQuery } from '../../language-servers/queries.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { aText, dataSchemaOf } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `lsp`. */
export interface LspArguments {
  action: LspAction
  path: string
  line?: number
  symbol?: string
}

/** The result of `lsp`: lines `path:line: text`. */
export interface LspData {
  text: string
}

/** Who answers: the servers of a session. */
export interface LspServers {
  ask(query: LspQuery, signal: AbortSignal): Promise<string>
}

/** The tool `lsp` of a session with `languageServers`. */
export const lspTool = (servers: LspServers): ContractTool<LspArguments, LspData> => ({
  id: 'lsp',
  description: lspDescription,
  parameters: parameters(
    {
      action: { type: 'string', enum: [...lspActions], description: 'What to ask' },
      path: pathParameter('The file'),
      line: { type: 'integer', minimum: 1, description: 'The line of the symbol, from 1. Default: the first line that has it' },
      symbol: {
        type: 'string',
        minLength: 1,
        maxLength: 4096,
        description: 'The text of the symbol, for definition, references and hover',
      },
    },
    ['action', 'path'],
  ),
  outputSchema: dataSchemaOf<LspData>({ text: aText }, ['text']),
  requires: { fs: { read: ['{workspace}/**'] } },
  kind: 'read',
  sideEffect: false,
  targets: ({ path }) => [{ kind: 'file', path, access: 'read' }],
  execute: async (query, { signal }) => ({ text: await servers.ask(query, signal) }),
})
