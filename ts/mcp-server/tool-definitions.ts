import type { ToolAnnotations } from '@modelcontextprotocol/server'
import { type ContractTool, hasSideEffect, type JsonSchema } from '../contract/registry/contract-tool.js'
import { withoutUnsupportedKeywords } from '../contract/registry/model-tools.js'
import { listOfTexts, successSchema } from '../contract/registry/output-schema.js'
import type { Sdk } from './sdk.js'
import { readOnlyTools, runsCommands, type ServerSettings } from './tool-sessions.js'

/** The annotations of a tool, which a client shows. */
const titles: Record<string, string> = {
  read: 'Read a file',
  grep: 'Search in files',
  glob: 'Find files',
  write: 'Write a file',
  edit: 'Edit a file',
  bash: 'Run a command',
  todo: 'Keep a list of tasks',
  skill: 'Read a skill',
  web_fetch: 'Fetch a web page',
  repo_overview: 'Look at a repository',
  apply_patch: 'Change several files',
  process_start: 'Start a program that goes on',
  process_read: 'Read the output of a program',
  process_write: 'Give input to a program',
  process_stop: 'Stop a program',
  lsp: 'Ask a language server',
}

/** A tool as `registerTool` of the SDK takes it, besides its name. */
export function definitionOf(sdk: Sdk, tool: ContractTool, settings: ServerSettings) {
  const { id, description, parameters } = tool
  // Clients refuse a result that does not fit, and the beginning of a long result does not.
  const outputSchema = successSchema(withNotes(tool), listOfTexts)
  const title = titles[id] ?? id
  return {
    title,
    description,
    inputSchema: unchecked(sdk, withoutUnsupportedKeywords(id, parameters)),
    ...(outputSchema === undefined ? {} : { outputSchema: unchecked(sdk, outputSchema) }),
    annotations: annotationsOf(tool, title, settings),
    // Claude Code stores longer results in a file, unless a server says that they are to be read.
    ...(settings.maxOutputBytes === undefined
      ? {}
      : // As JSON, a line end and a quote take two characters.
        { _meta: { 'anthropic/maxResultSizeChars': Math.min(2 * settings.maxOutputBytes, 500_000) } }),
  }
}

/** A tool whose data may have notes. */
function withNotes({ outputSchema }: ContractTool): Pick<ContractTool, 'outputSchema'> {
  const properties = outputSchema?.['properties']
  return properties === undefined
    ? { outputSchema }
    : { outputSchema: { ...outputSchema, properties: { ...properties, notes: listOfTexts } } }
}

function annotationsOf(tool: ContractTool, title: string, { allowNetwork }: ServerSettings): ToolAnnotations {
  const isReadOnly = readOnlyTools.includes(tool.id) && !hasSideEffect(tool)
  const isWeb = tool.id === 'web_fetch'
  return {
    title,
    readOnlyHint: isReadOnly || isWeb,
    destructiveHint: !isReadOnly && !isWeb,
    // Writing the same text again changes nothing. A repeated fetch may return another page, but changes nothing here.
    idempotentHint: isReadOnly || isWeb || tool.id === 'write',
    openWorldHint: isWeb || (runsCommands(tool.id) && allowNetwork),
  }
}

/** A schema for clients only. The session checks arguments, because its messages tell a model what to write instead. */
function unchecked(sdk: Sdk, schema: JsonSchema) {
  return sdk.fromJsonSchema<Record<string, unknown>>(schema as Parameters<Sdk['fromJsonSchema']>[0], acceptAll)
}

const acceptAll: NonNullable<Parameters<Sdk['fromJsonSchema']>[1]> = {
  getValidator() {
    return (data: unknown) => ({ valid: true as const, data: data as never, errorMessage: undefined })
  },
}
