// The kinds of calls of the mixed soak, each with its answer checked.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, openJournal, runTask } from 'toolwright'
import { createSession } from 'toolwright/contract'

/** As the AI SDK makes a call: each has an id of its own. */
const nextCall = (
  (n) =>
  (more = {}) => ({ toolCallId: `call-${(n += 1)}`, messages: [], ...more })
)(0)

const lines = (count) => Array.from({ length: count }, (_, index) => `line ${index} of a text that is searched\n`).join('')
/** A change to one line of such a text. */
const patch = (line, from, to) => `@@ -${line + 1} +${line + 1} @@\n-${from}\n+${to}\n`

const everything = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))

/** `name` is that of the error, or its code. */
async function refused(work, name) {
  const error = await work.then(
    () => undefined,
    (reason) => reason,
  )
  assert.ok(error?.code === name || error?.name === name, `${name} is expected: ${error ?? 'it succeeded'}`)
}

/**
 * Each kind is called with the number of the call, which no other call has.
 * @param {string} folder for all files, made for this
 * @returns {Promise<{ kinds: Record<string, (number: number) => Promise<void>>, close: () => Promise<void> }>}
 */
export async function makeCalls(folder) {
  const rootDir = join(folder, 'root')
  for (const path of ['tree/a', 'tree/b', 'own', 'sessions', 'tasks']) mkdirSync(join(rootDir, path), { recursive: true })
  const text = lines(4_000)
  writeFileSync(join(rootDir, 'text'), text)
  writeFileSync(join(rootDir, 'wide'), text.replaceAll('text', 'тексте'))
  for (let index = 0; index < 40; index += 1) writeFileSync(join(rootDir, index % 2 ? 'tree/a' : 'tree/b', `${index}.txt`), lines(200))
  // A host that keeps other files keeps its journal there, too.
  const journal = await openJournal(`file:${join(folder, 'journal.db')}`)

  const tools = createTools({ rootDir })
  const isolated = createTools({ rootDir, sandbox: { isolation: 'call' } })
  const hasty = createTools({ rootDir, toolTimeoutMs: 100 })
  const streaming = createTools({ rootDir, streamOutput: true })
  const sh = (set, script, more) => set.bash.execute({ cmd: 'sh', args: ['-c', script] }, nextCall(more))

  const kinds = {
    async read(number) {
      const path = number % 2 ? 'text' : 'wide'
      assert.equal((await tools.read.execute({ path }, nextCall())).split('\n').length, 4_001)
    },
    async write(number) {
      const content = `written by ${number}\n${text.slice(0, 1_000 * (number % 100))}`
      const path = `own/${number % 64}`
      await tools.write.execute({ path, content }, nextCall())
      assert.match(readFileSync(join(rootDir, path), 'utf8'), /^written by \d+\n/u)
    },
    async edit(number) {
      const path = `own/edit-${number % 256}-${number}`
      writeFileSync(join(rootDir, path), lines(500))
      await tools.edit.execute({ path, patch: patch(250, 'line 250 of a text that is searched', 'another line') }, nextCall())
      assert.match(readFileSync(join(rootDir, path), 'utf8'), /\nanother line\n/u)
      await sh(tools, `rm own/edit-${number % 256}-${number}`)
    },
    async grep() {
      const matches = await tools.grep.execute({ pattern: 'line 19\\d of', path: 'tree' }, nextCall())
      assert.equal(matches.trimEnd().split('\n').length, 400)
    },
    async bash(number) {
      assert.equal(await sh(tools, `echo here ${number}`), `here ${number}\n`)
    },
    async isolated(number) {
      assert.equal(await sh(isolated, `echo x > /tmp/left; cat /tmp/left; echo ${number}`), `x\n${number}\n`)
    },
    timedOut: () => refused(sh(hasty, 'echo before; sleep 30'), 'PROCESS_TIMEOUT'),
    aborted(number) {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), number % 60)
      return refused(sh(tools, 'sleep 30 & sleep 30', { abortSignal: abort.signal }), 'AbortError')
    },
    async streamed() {
      let last = ''
      for await (const chunk of sh(streaming, 'for i in 1 2 3 4; do echo $i; sleep 0.01; done')) last = chunk
      assert.equal(last, '1\n2\n3\n4\n')
    },
    async session(number) {
      const workspace = join(rootDir, 'sessions')
      await using session = await createSession({
        workspace: [workspace, join(rootDir, 'tree')],
        manifest: { name: 'soak', permissions: everything },
        ...(number % 2 ? { journal } : {}),
      })
      const call = async (id, args) => {
        const envelope = await session.call(id, args)
        assert.equal(envelope.type, 'output', `${id}: ${envelope.error_text}`)
        return envelope.data
      }
      const path = `of-${number}`
      await call('write', { path, content: `of ${number}\n` })
      await call('edit', { path, old_string: 'of', new_string: 'by' })
      assert.equal((await call('read', { path })).content, `by ${number}\n`)
      assert.equal((await call('grep', { pattern: `^by ${number}$`, path })).matches.length, 1)
      assert.equal((await call('glob', { pattern: 'a/*.txt' })).entries.length, 20)
      assert.equal((await call('bash', { command: `cat ${path} && rm ${path}` })).stdout, `by ${number}\n`)
      // More than an envelope holds: it goes to a file of the session.
      await call('bash', { command: 'head -c 300000 /dev/zero | tr "\\0" x' })
    },
    async task(number) {
      const path = `tasks/${number}`
      await runTask({ journal, runId: `run-${number}`, nodeId: 'soak', rootDir }, async () => {
        await tools.write.execute({ path, content: 'done' }, nextCall())
        assert.equal(await tools.read.execute({ path }, nextCall()), 'done')
        await sh(tools, `rm ${path}`)
      })
      assert.equal((await journal.listRun(`run-${number}`)).length, 3)
    },
  }
  return { kinds, close: () => journal.close() }
}
