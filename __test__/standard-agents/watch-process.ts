// A process that watches a folder of tools: `watch-process.ts FOLDER`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createThread, watchTools } from 'toolwright/standard-agents'

const folder = process.argv[2] as string
const source = (text: string): string => `
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
export default defineTool({
  description: 'd',
  args: z.object({ query: z.string().default('none') }),
  execute: async (_state, args: { query: string }) => ({ status: 'success', result: '${text} ' + args.query }),
})
`
writeFileSync(join(folder, 'a_tool.ts'), source('first'))
let changed: () => void = () => undefined
const change = new Promise<void>((resolve) => {
  changed = resolve
})
const watched = await watchTools(folder, { pollMs: 20, onChange: () => changed() })
const thread = await createThread({ tools: () => watched.tools })
console.log((await thread.call('a_tool')).result)
writeFileSync(join(folder, 'a_tool.ts'), source('second'))
await Promise.race([change, new Promise((resolve) => setTimeout(resolve, 5_000))])
console.log((await thread.call('a_tool')).result)
await thread.close()
// The watch keeps no process alive.
