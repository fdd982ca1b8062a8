import { checkNames, invalid } from '../../core/options.js'
import { nearestName } from '../../core/text.js'
import type { ContractTool } from './contract-tool.js'

/** Which tools a session has. */
export type ToolChoice = {
  /** The agent's own tools, and those of extensions. @default [] */
  own?: readonly ContractTool[] | undefined
} & (
  | {
      /** The ids of the tools that there are, own ones and those of servers too. @default all */
      only?: readonly string[] | undefined
      except?: undefined
    }
  | {
      /** The ids of tools that are left out. @default [] */
      except?: readonly string[] | undefined
      only?: undefined
    }
)

/** @throws {ToolError} INVALID_INPUT for neither tools nor a choice of them. Ids are checked later. */
export function checkToolOption(tools: unknown): void {
  if (Array.isArray(tools)) return
  if (typeof tools !== 'object' || tools === null)
    throw invalid('tools must be an array of tools, or { only }, { except } with or without { own }.')
  checkNames('tools.', tools, ['own', 'only', 'except'])
  const { own = [], only, except } = tools as Record<string, unknown>
  if (!Array.isArray(own)) throw invalid('tools.own must be an array of tools.')
  if (only !== undefined && except !== undefined) throw invalid('tools has either only or except, not both.')
  for (const [name, ids] of Object.entries({ only, except })) {
    if (ids === undefined) continue
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) throw invalid(`tools.${name} must be an array of ids of tools.`)
  }
}

/** The tools of the options, without the built-in ones. */
export const ownTools = (tools: readonly ContractTool[] | ToolChoice): readonly ContractTool[] =>
  isChoice(tools) ? (tools.own ?? []) : tools

/**
 * Makes the test of whether the host wants a tool.
 *
 * @param ids the ids of the known tools.
 * @param servers servers whose tools come later.
 * @throws {ToolError} INVALID_INPUT for an unknown id, with the known ones in `details.tools`.
 */
export function chooseTools(
  tools: readonly ContractTool[] | ToolChoice,
  ids: readonly string[],
  servers: readonly string[] = [],
): (id: string) => boolean {
  if (!isChoice(tools)) return () => true
  const { only, except } = tools
  const name = only === undefined ? 'except' : 'only'
  const chosen = only ?? except ?? []
  const beginnings = servers.map((server) => `${server.replace(/[^A-Za-z0-9_]/gu, '_')}_`)
  const unknown = chosen.find((id) => !ids.includes(id) && !beginnings.some((start) => id.startsWith(start)))
  if (unknown !== undefined) {
    const near = nearestName(unknown, ids)
    const hint = near === undefined ? `There are ${ids.join(', ')}` : `Did you mean ${near}`
    throw invalid(`tools.${name}: no tool has the id ${JSON.stringify(unknown.slice(0, 100))}. ${hint}${near === undefined ? '.' : '?'}`, {
      toolId: unknown,
      tools: [...ids],
    })
  }
  const set = new Set(chosen)
  return (id) => set.has(id) === (only !== undefined)
}

const isChoice = (tools: readonly ContractTool[] | ToolChoice): tools is ToolChoice => !Array.isArray(tools)
