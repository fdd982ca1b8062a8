import { checked, invalid } from '../core/options.js'
import { nearestName } from '../core/text.js'

/** The required keys of providers' tools in a tool set, by the tool's id without its version. */
const keys: Readonly<Record<string, string>> = {
  'openai.apply_patch': 'apply_patch',
  'openai.shell': 'shell',
  'openai.local_shell': 'local_shell',
  'anthropic.bash': 'bash',
  'anthropic.memory': 'memory',
}

/** Versions of the editor before Claude 4 have another name. */
const oldEditors: ReadonlySet<string> = new Set(['anthropic.text_editor_20241022', 'anthropic.text_editor_20250124'])

/** The required key of a tool, or `undefined` if the tool may have any key. */
function keyOf(id: string): string | undefined {
  if (id.startsWith('anthropic.text_editor_')) return oldEditors.has(id) ? 'str_replace_editor' : 'str_replace_based_edit_tool'
  const name = id.replace(/_\d{8}$/u, '')
  return Object.hasOwn(keys, name) ? keys[name] : undefined
}

/**
 * Checks that each provider's tool has the key by which the provider knows it, and returns the same tool set. With another
 * key, the AI SDK sends the result of an `apply_patch` as the result of a function, which the provider refuses after the
 * first call.
 *
 * @example
 * ```ts
 * const tools = checkProviderTools({ apply_patch: openai.tools.applyPatch({ execute: executors.openai.applyPatch }) })
 * ```
 * @throws {ToolError} INVALID_INPUT that names the key.
 */
export function checkProviderTools<TOOLS extends Readonly<Record<string, unknown>>>(tools: TOOLS): TOOLS {
  return checked('checkProviderTools', () => {
    if (typeof tools !== 'object' || tools === null || Array.isArray(tools))
      throw invalid('The tools must be an object of tools by their keys.')
    for (const [key, tool] of Object.entries(tools)) {
      const id = (tool as { id?: unknown } | null | undefined)?.id
      const expected = typeof id === 'string' ? keyOf(id) : undefined
      if (expected !== undefined && expected !== key) {
        throw invalid(
          `The tool ${String(id)} has the key ${JSON.stringify(key)}, and its provider knows it as ${JSON.stringify(expected)}.`,
          {
            key,
            wanted: expected,
            id,
          },
        )
      }
      checkTool(key, tool)
    }
    return tools
  })
}

/** Refuses anything that is not a tool, such as an executor. The AI SDK would fail only at the first request. */
function checkTool(key: string, tool: unknown): void {
  if (typeof tool !== 'function') {
    if (typeof tool !== 'object' || tool === null) throw invalid(`${key} is no tool.`)
    return
  }
  const near = nearestName(key, Object.values(keys))
  throw invalid(`${key} is a function, and no tool: pass it as the execute of ${near === undefined ? 'a' : `the provider's ${near}`} tool.`)
}
