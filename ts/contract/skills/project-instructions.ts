import { join } from 'node:path'
import { homedir } from 'node:os'
import { headOf } from '../registry/limited-output.js'
import { upward } from './discover-skills.js'
import { ownersOf, readPlainFile, type TrustedOwners } from './skill-file.js'

/** The first existing name in a directory counts. */
const names = ['AGENTS.md', 'CLAUDE.md', 'CONTEXT.md']
/** About 8,000 tokens of four bytes. */
const MAX_BYTES = 32_000

/** The instructions of the project for every agent: the files around the workspace, the nearest last. */
export async function projectInstructions(roots: readonly string[], home: string | false = homedir()): Promise<string> {
  const around = roots.flatMap((root) => upward(root, home === false ? undefined : home))
  const directories = [...new Set(around.toReversed())]
  const owners = await ownersOf(roots)
  const texts = (await Promise.all(directories.map((directory) => instructionsIn(directory, owners)))).filter((text) => text !== undefined)
  // The nearest instructions matter most, and stay.
  let room = MAX_BYTES
  const parts: string[] = []
  for (const text of texts.toReversed()) {
    if (room <= 0) break
    const part = headOf(text, room)
    room -= Buffer.byteLength(part) + 2
    parts.unshift(part)
  }
  return parts.join('\n\n')
}

async function instructionsIn(directory: string, owners: TrustedOwners): Promise<string | undefined> {
  for (const name of names) {
    const path = join(directory, name)
    const text = await readPlainFile(path, owners).catch(() => undefined)
    if (text !== undefined && text.trim() !== '') return `Instructions of ${path}:\n\n${text.trim()}`
  }
  return undefined
}
