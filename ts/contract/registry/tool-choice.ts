import { anything, type Check, group, invalid, listOf, must, optional } from '../../core/options.js'
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

/** The tools of an option, which are checked later, and the choice among all tools. */
export interface ToolOption {
  own: readonly ContractTool[]
  only?: readonly string[] | undefined
  except?: readonly string[] | undefined
}

const tools = listOf(anything<ContractTool>(), 'an array of tools')
const ids = optional(must<readonly string[]>(isTexts, 'an array of ids of tools'))
const choice = group({ own: optional(tools, []), only: ids, except: ids })

/** A list of own tools, or a {@link ToolChoice}. */
export const toolOption: Check<ToolOption> = (value, name) => {
  if (Array.isArray(value)) return { own: tools(value, name) }
  if (typeof value !== 'object' || value === null)
    throw invalid(`${name} must be an array of tools, or { only }, { except } with or without { own }.`)
  const chosen = choice(value, name)
  if (chosen.only !== undefined && chosen.except !== undefined) throw invalid(`${name} has either only or except, not both.`)
  return chosen
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((id) => typeof id === 'string')
}

/**
 * Makes the test of whether the host wants a tool.
 *
 * @param allIds the ids of the known tools.
 * @param servers servers whose tools come later.
 * @throws {ToolError} INVALID_INPUT for an unknown id, with the known ones in `details.tools`.
 */
export function chooseTools(
  { only, except = [] }: ToolOption,
  allIds: readonly string[],
  servers: readonly string[] = [],
): (id: string) => boolean {
  const chosen = only ?? except
  const beginnings = servers.map((server) => `${server.replace(/[^A-Za-z0-9_]/gu, '_')}_`)
  const unknown = chosen.find((id) => !allIds.includes(id) && !beginnings.some((start) => id.startsWith(start)))
  if (unknown !== undefined) {
    const near = nearestName(unknown, allIds)
    const hint = near === undefined ? `There are ${allIds.join(', ')}` : `Did you mean ${near}`
    throw invalid(
      `tools.${only === undefined ? 'except' : 'only'}: no tool has the id ${JSON.stringify(unknown.slice(0, 100))}. ${hint}${near === undefined ? '.' : '?'}`,
      {
        toolId: unknown,
        tools: [...allIds],
      },
    )
  }
  const set = new Set(chosen)
  return (id) => set.has(id) === (only !== undefined)
}
