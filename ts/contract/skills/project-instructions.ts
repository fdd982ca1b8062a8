import { join } from 'node:path'
import { homedir } from 'node:os'
import { headOf } from '../truncation.js'

/** The first of them that a directory has counts. */
const names = ['AGENTS.md', 'CLAUDE.md', 'CONTEXT.md']
/** About 8,000 tokens of four bytes. */
const MAX_BYTES = 32_000

/** What the project wants every agent to know: the files around the workspace, the nearest last. */
export async function projectInstructions(roots: readonly string[], home: string | false = homedir()): Promise<string> {
  const { upward } = await import('./discover-skills.js')
  const around = roots.flatMap((root) => upward(root, home === false ? undefined : home))
  const places = [...new Set(around.toReversed())]
  const texts = (await Promise.all(places.map(instructionsIn))).filter((text) => text !== undefined)
  // What is nearest matters most, and stays.
  let room = MAX_BYTES
  const kept: string[] = []
  for (const text of texts.toReversed()) {
    if (room <= 0) break
    const part = headOf(text, room)
    room -= Buffer.byteLength(part) + 2
    kept.unshift(part)
  }
  return kept.join('\n\n')
}

async function instructionsIn(directory: string): Promise<string | undefined> {
  const { readPlainFile } = await import('./skill-file.js')
  for (const name of names) {
    const path = join(directory, name)
    const text = await readPlainFile(path).catch(() => undefined)
    if (text !== undefined && text.trim() !== '') return `Instructions of ${path}:\n\n${text.trim()}`
  }
  return undefined
}
