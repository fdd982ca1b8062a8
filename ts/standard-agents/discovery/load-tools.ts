import { checked, givenOptions, invalid } from '../../core/options.js'
import { importTool } from './import-tool.js'
import { directoryPath, isToolName, listToolFiles, notSnakeCase, type ToolFile, type ToolLoadError, TOOLS_DIRECTORY } from './tool-files.js'
import type { AnyTool, NamedTools } from '../tools/tool-definition.js'

export type { ToolLoadError } from './tool-files.js'

/** How tools are loaded. */
export interface LoadToolsOptions {
  /** The most one file may take to load, in milliseconds. @default 10000 */
  timeoutMs?: number | undefined
}

/** The tools of a directory. */
export interface LoadedTools {
  /** By name, sorted. */
  tools: NamedTools
  /** Every file that gives no tool, with the reason, sorted by name. */
  errors: ToolLoadError[]
}

/** The version of a file, so that a changed one does not come from the module cache. */
type Version = (file: ToolFile) => string | undefined

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
  const given = givenOptions('loadTools', options, ['timeoutMs'])
  const path = checked('loadTools', () => directoryPath(directory))
  return loadVersions(path, given, () => undefined)
}

/** Loads tools, and changed files anew. */
export async function loadVersions(
  directory: string | URL,
  { timeoutMs = 10_000 }: LoadToolsOptions,
  versionOf: Version,
): Promise<LoadedTools> {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) throw invalid('timeoutMs must be positive.')
  const { files, errors: unreadable } = await listToolFiles(directoryPath(directory))
  const outcomes = await Promise.all(files.map((file) => loadFile(file, files, timeoutMs, versionOf(file))))
  const tools: NamedTools = {}
  const errors = [...unreadable]
  for (const [index, outcome] of outcomes.entries()) {
    const file = files[index] as ToolFile
    if ('tool' in outcome) tools[file.name] = outcome.tool
    else errors.push({ file: file.path, name: file.name, message: outcome.faults.join(' | '), ...cause(outcome.error) })
  }
  errors.sort((a, b) => (a.file < b.file ? -1 : 1))
  return { tools, errors }
}

const cause = (error: unknown): { error?: unknown } => (error === undefined ? {} : { error })

async function loadFile(
  file: ToolFile,
  all: readonly ToolFile[],
  timeoutMs: number,
  version: string | undefined,
): Promise<{ tool: AnyTool } | { faults: string[]; error?: unknown }> {
  const faults: string[] = []
  if (!isToolName(file.name)) faults.push(notSnakeCase)
  const twins = all.filter(({ name }) => name === file.name)
  if (twins.length > 1) {
    faults.push(`Tool "${file.name}" is defined by more than one file: ${twins.map(({ base }) => base).join(', ')}`)
  }
  const imported = await importTool(file, timeoutMs, version)
  if ('tool' in imported) return faults.length === 0 ? imported : { faults }
  return { faults: [...faults, imported.fault], error: imported.error }
}
