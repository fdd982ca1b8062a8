// A host program that runs one command, and prints what the model is told of it. It may be killed meanwhile.
import { createTools } from 'toolwright'

interface Shell {
  execute(input: object, options: object): Promise<string>
  toModelOutput(request: object): { value: string }
}
const [rootDir = '', script = ''] = process.argv.slice(2)
const { execute, toModelOutput } = createTools({ rootDir }).bash as unknown as Shell
const input = { cmd: 'sh', args: ['-c', script] }
const toolCallId = 'call'
const output = await execute(input, { toolCallId, messages: [], context: {} })
process.stdout.write(toModelOutput({ toolCallId, input, output }).value)
