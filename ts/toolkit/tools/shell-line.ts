/** Command lines, where a tool takes one: through bash, or through sh where there is no bash. */
import { findBash } from '../../core/find-bash.js'
import type { BuiltInContext } from '../define-tool.js'

/** The shell for a command line, with its arguments. bash reads none of its own files, and a line that begins with `-` is no option. */
export function shellFor(line: string, { settings }: Pick<BuiltInContext, 'settings'>): { cmd: string; args: string[] } {
  const bash = findBash([settings.rootDir, ...(settings.sandbox.writableRoots ?? [])])
  if (bash === undefined) return { cmd: 'sh', args: ['-c', '--', line] }
  return { cmd: bash, args: ['--norc', '--noprofile', '-c', '--', line] }
}
