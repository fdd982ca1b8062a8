import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withinTime } from '../../core/abort.js'
import { type AnyTool, isTool } from '../tools/tool-definition.js'
import type { ToolFile } from './tool-files.js'

/** Imports a file, which runs its code, and returns its tool or what is wrong with it. */
export async function importTool(
  { path, base }: ToolFile,
  timeoutMs: number,
  version?: string,
): Promise<{ tool: AnyTool } | { fault: string; error?: unknown }> {
  const late = (): Error => new Error(`it has not loaded within ${timeoutMs} ms`)
  try {
    const exported = {
      ...((await withinTime(() => import(specifier(path, version)), timeoutMs, undefined, late)) as Record<string, unknown>),
    }
    return chooseTool(exported, base)
  } catch (error) {
    return { fault: `Tool file '${base}' cannot be loaded: ${explain(error, path)}`, error }
  }
}

/** A query makes a URL another module for Node. Bun does the same for paths, and not for URLs. */
function specifier(path: string, version: string | undefined): string {
  const { href } = pathToFileURL(path)
  if (version === undefined) return href
  return `${process.versions['bun'] === undefined ? href : path}?version=${version}`
}

function chooseTool(exported: Record<string, unknown>, base: string): { tool: AnyTool } | { fault: string } {
  const tool = exported['default']
  if (!isTool(tool)) return { fault: `Tool file '${base}' must have a default export using defineTool()` }
  const others = Object.keys(exported).filter((name) => isTool(exported[name]) && exported[name] !== tool)
  if (others.length === 0) return { tool }
  return { fault: `Tool file '${base}' must define one tool, and exports another as ${others.join(', ')}` }
}

/** Node's errors for TypeScript that it cannot run. */
const NO_TYPESCRIPT = new Set([
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_NO_TYPESCRIPT',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
])

function explain(error: unknown, path: string): string {
  const { message, code } = (typeof error === 'object' && error !== null ? error : {}) as Partial<NodeJS.ErrnoException>
  const text = message ?? String(error)
  if (!basename(path).endsWith('.ts') || code === undefined || !NO_TYPESCRIPT.has(code)) return text
  return `${text}. Node runs TypeScript by stripping its types, from Node 22.18 on (22.13 with --experimental-strip-types), outside of node_modules and without enums and namespaces; Bun runs all of it. Or compile the file to .js.`
}
