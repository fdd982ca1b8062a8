import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invalid } from '../../core/options.js'

/** Where tools are, relative to the working directory. */
export const TOOLS_DIRECTORY = 'agents/tools'

/** The absolute path of a directory. */
export function directoryPath(directory: unknown): string {
  if (directory instanceof URL && directory.protocol === 'file:') return fileURLToPath(directory)
  if (typeof directory !== 'string' || directory === '') throw invalid('A directory of tools is a path or a file URL.')
  return resolve(directory)
}
