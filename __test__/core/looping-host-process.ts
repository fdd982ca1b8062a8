// A host program that runs commands one after the other for ever. It is killed.
import { createTools } from 'toolwright'

const [rootDir = '', options = '{}', ...commands] = process.argv.slice(2)
const { bash } = createTools({ rootDir, networkGuard: 'off', sandbox: JSON.parse(options) as object })
for (let count = 0; ; count += 1) {
  const script = commands[count % commands.length] ?? 'true'
  await bash.execute({ cmd: 'sh', args: ['-c', script] }, { toolCallId: `c${count}` }).catch(() => undefined)
  if (count === 0) process.stdout.write('runs\n')
}
