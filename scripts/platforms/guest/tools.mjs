// What the packed package does without commands: a processor in emulation runs no sandbox. Prints one line: TOOLS and JSON.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, openCheckpoints, openJournal, sandboxReport } from 'toolwright'

const base = mkdtempSync(join(tmpdir(), 'tools-'))
const rootDir = join(base, 'root')
mkdirSync(rootDir)
writeFileSync(join(base, 'secret.txt'), 'secret')
symlinkSync(join(base, 'secret.txt'), join(rootDir, 'link.txt'))
const tools = createTools({ rootDir })
const call = async (name, input) => String(await tools[name].execute(input, { toolCallId: '1', messages: [] }))
const text = (name) => readFileSync(join(rootDir, name), 'utf8')
const refusal = (name, input) =>
  call(name, input).then(
    (output) => output,
    (error) => error.code,
  )

const passed = []
const failed = []
async function check(name, work) {
  const result = await Promise.resolve()
    .then(work)
    .catch((error) => `${error.code ?? ''} ${error.message}`)
  if (result === true) passed.push(name)
  else failed.push(`${name}: ${String(result).slice(0, 300)}`)
}

await check(
  'write makes a file and its folders',
  async () => (await call('write', { path: 'a/b.txt', content: 'one\ntwo\nthree\n' }), text('a/b.txt') === 'one\ntwo\nthree\n'),
)
await check('read returns it', async () => (await call('read', { path: 'a/b.txt' })).includes('two'))
await check('edit changes it', async () => {
  await call('edit', { path: 'a/b.txt', patch: '--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n' })
  return text('a/b.txt') === 'one\nTWO\nthree\n'
})
await check('an edit that fits nowhere changes nothing', async () => {
  const code = await refusal('edit', { path: 'a/b.txt', patch: '--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-absent\n+present\n' })
  return text('a/b.txt') === 'one\nTWO\nthree\n' && /^[A-Z_]+$/u.test(code)
})
await check('grep finds it', async () => (await call('grep', { pattern: 'TW[O]' })).includes('b.txt'))
await check('a large file is written and searched', async () => {
  const lines = Array.from({ length: 3000 }, (_, index) => `line ${index} ${'x'.repeat(40)}`)
  await call('write', { path: 'large.txt', content: lines.join('\n') })
  return text('large.txt') === lines.join('\n') && (await call('grep', { pattern: 'line 2999 ' })).includes('2999')
})
for (const path of ['../secret.txt', join(base, 'secret.txt'), 'link.txt', 'a/../../secret.txt'])
  await check(`read of ${path.replace(base, '')} is refused`, async () => {
    const code = await refusal('read', { path })
    return /^[A-Z_]+$/u.test(code) || code
  })
await check('write through a link is refused', async () => {
  await refusal('write', { path: 'link.txt', content: 'other' })
  return readFileSync(join(base, 'secret.txt'), 'utf8') === 'secret'
})
await check('a command is refused, or runs', async () => {
  const output = await call('bash', { cmd: 'sh', args: ['-c', 'echo ran'] }).catch((error) => error.code)
  return output.includes('ran') || output === 'TOOL_SANDBOX_UNAVAILABLE' || output
})
await check('the report of the sandbox has a level for files', async () =>
  ['kernel', 'best-effort', 'none'].includes((await sandboxReport({ rootDir })).files.level),
)
await check('a journal keeps a record', async () => {
  const path = join(base, 'journal.db')
  const journal = await openJournal(`file:${path}`)
  await journal.close()
  return existsSync(path)
})
await check('a checkpoint restores a file', async () => {
  const checkpoints = await openCheckpoints(rootDir, { store: join(base, 'store') })
  const { id } = await checkpoints.checkpoint()
  writeFileSync(join(rootDir, 'a/b.txt'), 'changed')
  await checkpoints.checkpoint()
  await checkpoints.restore(id)
  await checkpoints.close()
  return text('a/b.txt') === 'one\nTWO\nthree\n'
})
rmSync(base, { recursive: true, force: true })
console.log(`TOOLS ${JSON.stringify({ system: `${process.platform}-${process.arch}`, node: process.version, passed, failed })}`)
process.exit()
