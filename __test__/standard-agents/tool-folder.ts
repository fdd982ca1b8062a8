import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const cache = fileURLToPath(new URL('../../.cache', import.meta.url))

/** A directory with these files, inside of the package, so that they can import it; removed after the test. */
export function makeFolder(files: Record<string, string> = {}): string {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'tools-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) putFile(folder, name, text)
  return folder
}

/** Makes a file, with its parents. */
export function putFile(folder: string, name: string, text: string): void {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** The source of a tool that gives this text. */
export const toolSource = (text: string): string => `
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
interface Args { query: string }
export default defineTool({
  description: ${JSON.stringify(text)},
  args: z.object({ query: z.string().default('none') }),
  execute: async (_state, args: Args) => ({ status: 'success', result: ${JSON.stringify(text)} + ' ' + args.query }),
})
`
