// Runs commands as a user with a second group, and prints what a model reads.
import { createTools } from 'toolwright'

const [, , rootDir = '', ...scripts] = process.argv
const { bash } = createTools({ rootDir })
const said: string[] = []
for (const script of scripts) {
  const result: unknown = await bash.execute({ cmd: 'sh', args: ['-c', script] }).catch((reason: unknown) => reason)
  said.push(result instanceof Error ? result.message : String(result))
}
console.log(JSON.stringify(said))
