import { pathToFileURL } from 'node:url'
import { withinTime } from '../../core/abort.js'
import { type Checks, checked, optional, parseOptions, positive } from '../../core/options.js'
import { type AnyTool, isTool, type NamedTools } from '../tools/tool-definition.js'
import { directoryPath, listToolFiles, type ToolFile, type ToolLoadError, TOOLS_DIRECTORY } from './tool-files.js'

/** How tools are loaded. */
export interface LoadToolsOptions {
  /** The time limit for loading one file, in milliseconds. @default 10000 */
  timeoutMs?: number | undefined
}

/** The tools of a directory. */
export interface LoadedTools {
  /** By name, sorted. */
  tools: NamedTools
  /** Every file that gives no tool, with the reason, sorted by name. */
  errors: ToolLoadError[]
}

export const loadChecks = { timeoutMs: optional(positive(), 10_000) } satisfies Checks<LoadToolsOptions>

/**
 * Loads the tools of a directory: one default export of `defineTool` for each file, named as the file is.
 *
 * Files are `.ts`, `.js` and `.mjs`, without `.d.ts`, `.test.ts` and the directories below. Node runs
 * TypeScript by stripping types (22.18 and later), Bun runs all of it. A file with a fault is listed in
 * `errors` and hides no other. A missing directory has no tools.
 *
 * @param directory @default 'agents/tools'
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export async function loadTools(directory: string | URL = TOOLS_DIRECTORY, options: LoadToolsOptions = {}): Promise<LoadedTools> {
  const { timeoutMs } = parseOptions('loadTools', options, loadChecks)
  return loadVersions(
    checked('loadTools', () => directoryPath(directory)),
    timeoutMs,
    () => undefined,
  )
}

/** @param versionOf the version of a file, so that a changed one does not come from the module cache */
export async function loadVersions(
  directory: string,
  timeoutMs: number,
  versionOf: (file: ToolFile) => string | undefined,
): Promise<LoadedTools> {
  const { files, errors } = await listToolFiles(directory)
  const outcomes = await Promise.all(
    files.map(async (file) => {
      const faults = nameFaults(file, files)
      const imported = await importTool(file, timeoutMs, versionOf(file))
      if (imported.fault !== undefined) faults.push(imported.fault)
      return { file, faults, ...imported }
    }),
  )
  const tools: NamedTools = {}
  for (const { file, faults, tool, error } of outcomes) {
    if (tool !== undefined && faults.length === 0) tools[file.name] = tool
    else errors.push({ file: file.path, name: file.name, message: faults.join(' | '), ...(error === undefined ? {} : { error }) })
  }
  errors.sort((a, b) => (a.file < b.file ? -1 : 1))
  return { tools, errors }
}

const SNAKE_CASE = /^[a-z]$|^[a-z][a-z0-9_]*[a-z0-9]$/u

function nameFaults({ name }: ToolFile, files: readonly ToolFile[]): string[] {
  const faults: string[] = []
  if (!SNAKE_CASE.test(name)) faults.push("Tool name should be in snake_case format (e.g., 'log_name', 'send_email')")
  const twins = files.filter((file) => file.name === name)
  if (twins.length > 1) faults.push(`Tool "${name}" is defined by more than one file: ${twins.map(({ base }) => base).join(', ')}`)
  return faults
}

/** A tool, or what is wrong with its file. */
type Imported = { tool: AnyTool; fault?: undefined; error?: undefined } | { tool?: undefined; fault: string; error?: unknown }

/** Imports a file, which runs its code. */
async function importTool({ path, base }: ToolFile, timeoutMs: number, version: string | undefined): Promise<Imported> {
  const late = (): Error => new Error(`it has not loaded within ${timeoutMs} ms`)
  try {
    const exported: unknown = await withinTime(() => import(specifier(path, version)), timeoutMs, undefined, late)
    return chooseTool({ ...(exported as Record<string, unknown>) }, base)
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

function chooseTool(exported: Record<string, unknown>, base: string): Imported {
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
  if (!path.endsWith('.ts') || code === undefined || !NO_TYPESCRIPT.has(code)) return text
  return `${text}. Node runs TypeScript by stripping its types, from Node 22.18 on (22.13 with --experimental-strip-types), outside of node_modules and without enums and namespaces; Bun runs all of it. Or compile the file to .js.`
}
