// Aborts the first call of a process while the addon is being loaded, and prints how the call ended.
import { createTools } from 'toolwright'

const rootDir = process.argv[2] ?? ''
const stop = new AbortController()
const options = { toolCallId: 'first', messages: [], abortSignal: stop.signal }
const input = { cmd: 'sleep', args: ['30'] }

async function first(): Promise<unknown> {
  if (process.argv[3] !== 'stream') return createTools({ rootDir }).bash.execute(input, options)
  for await (const part of createTools({ rootDir, streamOutput: true }).bash.execute(input, options)) console.log(part)
  return undefined
}

const call = first()
setTimeout(() => stop.abort(), Number(process.argv[4]))
console.log(
  await call.then(
    () => 'it ran',
    (error: unknown) => (error instanceof Error ? error.name : String(error)),
  ),
)
