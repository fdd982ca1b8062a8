// Calls tools where /proc is not mounted, and prints how each call ended.
import { createTools, ToolError } from 'toolwright'

const tools = createTools({ rootDir: process.argv[2] ?? '' })
const calls = {
  read: () => tools.read.execute({ path: 'here.txt' }),
  write: () => tools.write.execute({ path: 'new.txt', content: 'n' }),
  edit: () => tools.edit.execute({ path: 'here.txt', patch: '@@ -1 +1 @@\n-here\n+there\n' }),
  grep: () => tools.grep.execute({ pattern: 'here' }),
  bash: () => tools.bash.execute({ cmd: 'true' }),
}
for (const [name, call] of Object.entries(calls)) {
  try {
    await call()
    console.log(name, 'ok')
  } catch (error) {
    console.log(name, error instanceof ToolError ? `${error.code} ${error.message}` : String(error))
  }
}
