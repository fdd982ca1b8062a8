import { createHash } from 'node:crypto'
import { type ContractTool, copyTool } from '../registry/contract-tool.js'
import { type JsonSchema, resultSchema, schemaAt } from '../registry/json-schema.js'
import { aCount, aText, dataSchemaOf } from '../registry/output-schema.js'
import { isLockedToolId } from '../registry/tool-ids.js'
import type { ServerTool } from './mcp-connection.js'
import type { McpOutput } from './tool-output.js'

const MAX_DESCRIPTION = 200
const MAX_ID = 64
const MAX_NAME = 200
/** The maximum size of a schema, since every step of the agent pays for it. */
const MAX_SCHEMA_BYTES = 100_000

export const mcpCapability = (server: string): string => `mcp:${server}`

/** A server's tool as permission rules see it: `mcp:<server>:<tool>`. */
export const mcpResource = (server: string, tool: string): string => `mcp:${server}:${tool}`

/** Characters that a prompt, a rule or a terminal would show wrongly, or not at all. */
const unshowable = /[\p{C}\p{Zl}\p{Zp}]/u

/** The ids of a session's tools. An id never changes its tool during a session. */
export class McpToolIds {
  readonly #owners = new Map<string, string>()

  /** @param taken Ids of other tools. */
  constructor(taken: Iterable<string>) {
    for (const id of taken) this.#owners.set(id, '')
  }

  /** `<client>_<tool>` in letters, digits and `_`; a name that is taken, or too long, ends in its hash. */
  of(server: string, tool: string): string {
    const owner = `${server}\0${tool}`
    const isFree = (id: string): boolean => (this.#owners.get(id) ?? owner) === owner
    const plain = `${server}_${tool}`.replace(/[^A-Za-z0-9_]/gu, '_')
    const hash = createHash('sha256').update(owner).digest('hex').slice(0, 8)
    const id = plain.length <= MAX_ID && !isLockedToolId(plain) && isFree(plain) ? plain : `${plain.slice(0, MAX_ID - 9)}_${hash}`
    if (!isFree(id)) throw new Error(`the id ${id} is taken`)
    this.#owners.set(id, owner)
    return id
  }
}

/** Converts a server's tools to tools of the session. Invalid ones are left out with a warning. */
export function mcpTools(server: string, listed: readonly ServerTool[], ids: McpToolIds): { tools: ContractTool[]; warnings: string[] } {
  const tools = new Map<string, ContractTool>()
  const warnings: string[] = []
  const inOrder = [...listed].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  for (const one of inOrder) {
    try {
      if (one.name === '' || one.name.length > MAX_NAME) throw new Error(`its name must have 1 to ${MAX_NAME} characters`)
      if (unshowable.test(one.name)) throw new Error('its name has characters that cannot be shown')
      if (JSON.stringify(one.inputSchema).length > MAX_SCHEMA_BYTES) throw new Error(`its schema is longer than ${MAX_SCHEMA_BYTES} bytes`)
      const tool = copyTool(contractTool(server, one, ids.of(server, one.name)))
      if (tools.has(tool.id)) throw new Error('it is listed twice')
      tools.set(tool.id, tool)
    } catch (error) {
      const name = one.name.slice(0, 100).replace(new RegExp(unshowable, 'gu'), '�')
      warnings.push(`The tool ${name} of mcp server ${server} is left out: ${(error as Error).message}`)
    }
  }
  return { tools: [...tools.values()], warnings }
}

/** A part of a result in our own shape (`McpPart`). */
const part: JsonSchema = {
  anyOf: [
    { type: 'object', properties: { type: { const: 'text' }, text: aText }, required: ['type', 'text'] },
    {
      type: 'object',
      properties: { type: { const: 'binary' }, mime_type: aText, bytes: aCount, uri: aText },
      required: ['type', 'mime_type', 'bytes'],
    },
    { type: 'object', properties: { type: { const: 'link' }, uri: aText, name: aText }, required: ['type', 'uri'] },
  ],
}

/** The schema of the results of a server's tool, with what the server says of its structured content, if that can be used. */
function outputSchemaOf(declared: Record<string, unknown> | undefined): JsonSchema {
  const any = dataSchemaOf<McpOutput>({ content: { type: 'array', items: part }, structured_content: {} }, ['content'])
  if (declared === undefined || JSON.stringify(declared).length > MAX_SCHEMA_BYTES) return any
  try {
    const structured = schemaAt('#/properties/structured_content', resultSchema(declared, 'outputSchema'))
    const { $schema } = declared
    const properties = { ...(any['properties'] as object), structured_content: structured }
    return resultSchema({ ...(typeof $schema === 'string' ? { $schema } : {}), ...any, properties }, 'outputSchema')
  } catch {
    // It is a help to readers, and the tool works without it.
    return any
  }
}

function contractTool(server: string, { name, description = '', inputSchema, outputSchema }: ServerTool, id: string): ContractTool {
  const capability = mcpCapability(server)
  const target = { kind: 'capability', name: capability, resource: mcpResource(server, name) } as const
  return {
    id,
    description: clip(oneLine(description)) || `The tool ${clip(name)} of the server ${server}.`,
    parameters: { ...inputSchema, type: 'object' },
    outputSchema: outputSchemaOf(outputSchema),
    requires: { capabilities: [capability] },
    targets: () => [target],
    kind: 'other',
    sideEffect: true,
    extension: true,
    execute: (args: Record<string, unknown>, { mcp }) => mcp.call(server, name, args),
  }
}

/** Removes characters that move a terminal's cursor or turn the direction of a text. */
const oneLine = (text: string): string => text.replace(/[\p{C}\s]+/gu, ' ').trim()

function clip(text: string): string {
  const characters = [...text]
  return characters.length <= MAX_DESCRIPTION ? text : `${characters.slice(0, MAX_DESCRIPTION - 1).join('')}…`
}
