// What the bundled programs do: both kinds of tools, a journal, and both threads: a page becomes text, and arguments are
// compared with a schema that may take long.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, openJournal } from 'toolwright'
import { createSession, defineContractTool } from 'toolwright/contract'

export async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'bundled-'))
  const said = {}
  try {
    const journal = await openJournal(`file:${join(folder, 'runs.db')}`)
    const { write, bash } = createTools({ rootDir: folder, journal })
    await write.execute({ path: 'a.txt', content: 'hello\n' }, { toolCallId: '1' })
    said.bash = await bash.execute({ cmd: 'cat', args: ['a.txt'] }, { toolCallId: '2' })
    await journal.flush()
    said.rows = (await journal.listRuns()).length
    await journal.close()
    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>Title</h1><p>Text'))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const permissions = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))
    const looped = defineContractTool({
      id: 'looped',
      description: 'Takes a text that fits a pattern with a loop in a loop.',
      parameters: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
      requires: {},
      execute: () => 'taken',
    })
    const session = await createSession({
      tools: [looped],
      workspace: folder,
      manifest: { name: 'bundled', permissions, requires: { net: { hosts: ['127.0.0.1'] } } },
    })
    const page = await session.call('web_fetch', { url: `http://127.0.0.1:${server.address().port}/` })
    said.page = page.data?.text ?? page.error_text
    const search = await session.call('grep', { pattern: 'h[e]llo' })
    said.grep = search.type
    said.checked = [(await session.call('looped', { text: 'aaa' })).data, (await session.call('looped', { text: 'b' })).metadata.code]
    await session.close()
    server.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return said
}
