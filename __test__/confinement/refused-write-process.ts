// Runs a command that writes outside of the root, and prints what a model reads.
import { createTools } from 'toolwright'

const { bash } = createTools({ rootDir: process.argv[2] ?? '' })
const error: unknown = await bash.execute({ cmd: 'sh', args: ['-c', 'echo x > /var/toolwright-probe'] }).catch((reason: unknown) => reason)
console.log(error instanceof Error ? error.message : 'it was written')
