import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ToolLoadError } from './import-tool.js'

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

/** The files of a directory that should define tools, by name; and those that cannot be looked at. */
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
      // What is no file is never opened: to import a pipe would wait for somebody to write into it.
      const found = await stat(path, { bigint: true })
      const fingerprint = `${found.ino}-${found.size}-${found.mtimeNs}`
      if (found.isFile()) files.push({ path, base, name, fingerprint })
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
