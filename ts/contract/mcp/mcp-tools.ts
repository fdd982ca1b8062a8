import { createHash } from 'node:crypto'
import { checkTool, type ContractTool, frozenTool } from '../contract-tool.js'
import { isLockedToolId } from '../locked-tools.js'
import type { ServerTool } from './mcp-connection.js'

/** The most of a server's description that is shown. */
const MAX_DESCRIPTION = 200
const MAX_ID = 64

/** The capability of a server. */
export const mcpCapability = (server: string): string => `mcp:${server}`

/** What permission rules see of a server's tool: `mcp:<server>:<tool>`. */
export const mcpResource = (server: string, tool: string): string => `mcp:${server}:${tool}`

/**
 * A server's tools as tools of the session. What is no tool is told and left out.
 *
 * @param taken Ids that other tools have.
 */
export function mcpTools(server: string, listed: readonly ServerTool[], taken: ReadonlySet<string>): { tools: ContractTool[]; warnings: string[] } {
  const ids = new Set(taken)
  const tools: ContractTool[] = []
  const warnings: string[] = []
  const inOrder = [...listed].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  for (const one of inOrder) {
    const id = toolId(server, one.name, ids)
    try {
      const tool = contractTool(server, one, id)
      checkTool(tool)
      tools.push(frozenTool(tool))
      ids.add(id)
    } catch (error) {
      warnings.push(`The tool ${one.name.slice(0, 100)} of mcp server ${server} is left out: ${(error as Error).message}`)
    }
  }
  return { tools, warnings }
}

function contractTool(server: string, { name, description = '', inputSchema }: ServerTool, id: string): ContractTool {
  const capability = mcpCapability(server)
  const target = { kind: 'capability', name: capability, resource: mcpResource(server, name) } as const
  return {
    id,
    description: clip(description.trim()) || `The tool ${clip(name)} of the server ${server}.`,
    parameters: { ...inputSchema, type: 'object' },
    requires: { capabilities: [capability] },
    targets: () => [target],
    kind: 'other',
    sideEffect: true,
    extension: true,
    execute: (args: Record<string, unknown>, { mcp }) => mcp.call(server, name, args),
  }
}

/** `<client>_<tool>` in letters, digits and `_`; a name that is taken, or too long, ends in its hash. */
function toolId(server: string, tool: string, taken: ReadonlySet<string>): string {
  const id = `${server}_${tool}`.replace(/[^A-Za-z0-9_]/gu, '_')
  if (id.length <= MAX_ID && !taken.has(id) && !isLockedToolId(id)) return id
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, 8)
  return `${id.slice(0, MAX_ID - 9)}_${hash}`
}

function clip(text: string): string {
  const characters = [...text]
  return characters.length <= MAX_DESCRIPTION ? text : `${characters.slice(0, MAX_DESCRIPTION - 1).join('')}…`
}
