import type { ContractTool } from '../registry/contract-tool.js'
import type { ToolMatch } from '../registry/tool-runtime.js'
import { parameters } from './parameters.js'

/** Arguments of `tool_search`. */
export interface ToolSearchArguments {
  query: string
}

/** The result of `tool_search`, best matches first. */
export interface ToolSearchData {
  matches: ToolMatch[]
}

/** Finds tools that are not listed. They can be called from the next step on. */
export const toolSearchTool: ContractTool<ToolSearchArguments, ToolSearchData> = {
  id: 'tool_search',
  description:
    'Search for more tools, from connected servers and extensions, by what they do. You can call the tools it finds from your next step on.',
  parameters: parameters(
    { query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What the tool should do, in a few words' } },
    ['query'],
  ),
  requires: {},
  kind: 'search',
  async execute({ query }, { session }) {
    return { matches: await session.searchTools(query) }
  },
}
