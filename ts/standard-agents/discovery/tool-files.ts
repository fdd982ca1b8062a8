import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invalid } from '../../core/options.js'

/** The default directory, relative to the working directory. */
export const TOOLS_DIRECTORY = 'agents/tools'

/** Resolves a directory to its absolute path. */
export function directoryPath(directory: unknown): string {
  if (directory instanceof URL && directory.protocol === 'file:') return fileURLToPath(directory)
  if (typeof directory !== 'string' || directory === '') throw invalid('A directory of tools is a path or a file URL.')
  return resolve(directory)
}

/** A file that gives no tool. */
export interface ToolLoadError {
  /** Its absolute path, or that of the directory when the directory cannot be read. */
  file: string
  /** The name that its tool would have. */
  name: string
  /** What is wrong with it. Several faults are joined by ` | `. */
  message: string
  /** The error that loading it threw. */
  error?: unknown
}

/** A file that should define a tool. */
export interface ToolFile {
  path: string
  /** Its name in the directory. */
  base: string
  /** The name of its tool. */
  name: string
  /** Changes when the file does. */
  fingerprint: string
}

const TOOL_FILE = /^(?<name>.*)\.(?:ts|js|mjs)$/u
const NO_TOOL = /\.(?:d|test)\.(?:ts|js|mjs)$/u

/** Lists the files of a directory that should define tools, by name, and those that cannot be read. */
export async function listToolFiles(directory: string): Promise<{ files: ToolFile[]; errors: ToolLoadError[] }> {
  let bases: string[]
  try {
    bases = await readdir(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { files: [], errors: [] }
    return { files: [], errors: [unreadable(directory, '', error)] }
  }
  const files: ToolFile[] = []
  const errors: ToolLoadError[] = []
  for (const base of bases.sort()) {
    const name = NO_TOOL.test(base) ? undefined : TOOL_FILE.exec(base)?.groups?.['name']
    if (name === undefined) continue
    const path = join(directory, base)
    try {
      // Only regular files are imported: importing a pipe would wait for a writer.
      const stats = await stat(path, { bigint: true })
      const fingerprint = `${stats.ino}-${stats.size}-${stats.mtimeNs}`
      if (stats.isFile()) files.push({ path, base, name, fingerprint })
    } catch (error) {
      errors.push(unreadable(path, name, error))
    }
  }
  return { files, errors }
}

const unreadable = (file: string, name: string, error: unknown): ToolLoadError => ({
  file,
  name,
  message: `Tool file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
  error,
})
