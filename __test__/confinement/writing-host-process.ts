// Writes a file below a root, and prints what became of that: `writing-host-process.ts ROOT PATH`.
import { createTools, ToolError } from 'toolwright'

const [rootDir, path] = process.argv.slice(2) as [string, string]
try {
  await createTools({ rootDir }).write.execute({ path, content: 'x' })
  process.stdout.write('written')
} catch (error) {
  process.stdout.write(error instanceof ToolError ? error.code : String(error))
}
