/** Writes know what was read: changes of others are not undone before the model has been shown them. */
import { renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createTools, openJournal, runWithToolContext, type CreateToolsOptions, type ToolError } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

let calls = 0

/** A set over a sandbox, whose calls return what a model reads. */
function scene(options: Partial<CreateToolsOptions> = {}) {
  const fixture = makeSandbox()
  const tools = createTools({ rootDir: fixture.root, extraTools: ['apply_patch'], ...options } as CreateToolsOptions) as unknown as Record<
    string,
    { execute(input: object, call: object): Promise<string>; toModelOutput?(request: object): { value: string } }
  >
  const call = async (name: string, input: object): Promise<string> => {
    const tool = tools[name]
    if (tool === undefined) throw new Error(name)
    const toolCallId = `call-${(calls += 1)}`
    const output = await tool.execute(input, { toolCallId, messages: [] })
    return tool.toModelOutput?.({ toolCallId, input, output }).value ?? output
  }
  return { ...fixture, call }
}

describe('a change that was not shown', () => {
  test('refuses a write once, with the difference since the read', async () => {
    const { call, put, text } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman line\n')
    const write = { path: 'n.txt', content: 'one\nmodel line\n' }
    const error = await refusal(call('write', write))
    expect(error).toMatchObject({
      code: 'TOOL_FILE_CHANGED',
      summary: 'File changed since it was read',
      details: { path: 'n.txt', shown: true },
    })
    expect(error.message).toMatchInlineSnapshot(`
      "File changed since it was read: \`n.txt\` [TOOL_FILE_CHANGED] The changes since then, which this call would undo:
      @@ -1,1 +1,2 @@
       one
      +human line
      Nothing was changed. Merge the parts that should stay into your version. If you make the same call again, it is accepted, because you have seen the changes."
    `)
    expect(text('n.txt')).toBe('one\nhuman line\n')
    expect(await call('write', write)).toBe('ok')
    expect(text('n.txt')).toBe('one\nmodel line\n')
  })

  test('refuses again after another change', async () => {
    const { call, put } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    for (const line of ['two', 'three']) {
      put('n.txt', `one\n${line}\n`)
      expect((await refusal(call('write', { path: 'n.txt', content: 'x\n' }))).message).toContain(`+${line}`)
    }
  })

  test('a patch that adds, moves onto or deletes a changed file is refused as a whole', async () => {
    const { call, put, text } = scene()
    const patches = ['*** Add File: a.txt\n+new\n', '*** Update File: b.txt\n*** Move to: a.txt\n@@\n-b\n+B\n', '*** Delete File: a.txt\n']
    for (const [index, patch] of patches.entries()) {
      put('a.txt', 'a\n')
      put('b.txt', 'b\n')
      await call('read', { path: 'a.txt' })
      put('a.txt', `a\nhuman ${index}\n`)
      const envelope = { patch: `*** Begin Patch\n${patch}*** Add File: more${index}.txt\n+x\n*** End Patch` }
      const error = await refusal(call('apply_patch', envelope))
      expect(error.code).toBe('TOOL_FILE_CHANGED')
      expect(error.message).toContain(`+human ${index}`)
      expect([text('a.txt'), text('b.txt')]).toEqual([`a\nhuman ${index}\n`, 'b\n'])
      expect(() => text(`more${index}.txt`)).toThrow()
      await call('apply_patch', envelope)
      expect(text(`more${index}.txt`)).toBe('x\n')
    }
  })

  test('a difference that is too long is shown in part, and the file has to be read', async () => {
    const { call, put, text } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', `one\n${'another line\n'.repeat(2_000)}`)
    const write = { path: 'n.txt', content: 'two\n' }
    for (let turn = 0; turn < 2; turn += 1) {
      const error = await refusal(call('write', write))
      expect(error.details).toMatchObject({ shown: false, added: 2_000, removed: 0 })
      expect(error.message.length).toBeLessThan(9_000)
      expect(error.message).toContain('(not all of them)')
      expect(error.message).toMatch(/Read the file again first: the call is refused until then\.$/u)
    }
    await call('read', { path: 'n.txt' })
    expect(await call('write', write)).toBe('ok')
    expect(text('n.txt')).toBe('two\n')
  })

  test('a file counts by its real path', async () => {
    const { call, put, at } = scene()
    put('real/n.txt', 'one\n')
    symlinkSync(at('real'), at('link'))
    symlinkSync('real/n.txt', at('alias'))
    await call('read', { path: 'alias' })
    put('real/n.txt', 'one\nhuman\n')
    expect((await refusal(call('write', { path: 'link/n.txt', content: 'x' }))).code).toBe('TOOL_FILE_CHANGED')
    expect(await call('write', { path: 'real/n.txt', content: 'x' })).toBe('ok')
  })

  test('one of two calls at once does not undo what the other has not been shown', async () => {
    const { call, put } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\n')
    const results = await Promise.allSettled([1, 2, 3].map((n) => call('write', { path: 'n.txt', content: `${n}\n` })))
    const refusals = results.filter((one) => one.status === 'rejected').map((one) => (one.reason as ToolError).code)
    expect(refusals).toEqual(['TOOL_FILE_CHANGED'])
  })

  test('is told after the write with tell, and not compared with allow', async () => {
    const told = scene({ unseenChanges: 'tell' })
    const free = scene({ unseenChanges: 'allow' })
    for (const { call, put, text } of [told, free]) {
      put('n.txt', 'one\n')
      await call('read', { path: 'n.txt' })
      put('n.txt', 'one\nhuman\n')
      expect(await call('write', { path: 'n.txt', content: 'two\n' })).toMatchSnapshot()
      expect(text('n.txt')).toBe('two\n')
    }
  })

  test('is told after an edit near it, and shown before a later write if it is far away', async () => {
    const { call, put, text } = scene()
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`)
    const file = () => `${lines.join('\n')}\n`
    put('n.txt', file())
    await call('read', { path: 'n.txt' })
    lines[12] = 'human near'
    lines[50] = 'human far'
    put('n.txt', file())
    const patch = '@@ -10,3 +10,3 @@\n line 9\n-line 10\n+model\n line 11\n'
    expect(await call('edit', { path: 'n.txt', patch })).toMatchSnapshot()
    const error = await refusal(call('write', { path: 'n.txt', content: 'x\n' }))
    expect(error.message).toContain('+human far')
    expect(error.message).not.toContain('human near')
    expect(error.message).not.toContain('+model')
    expect(text('n.txt')).toContain('model')
  })
})

describe('what was not read', () => {
  test('passes, and the result says what was replaced', async () => {
    const { call, put } = scene()
    put('n.txt', 'precious\nlines\n')
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).toMatchInlineSnapshot(`
      "ok
      (\`n.txt\` was replaced. It held 2 lines, 15 bytes, and had not been read.)"
    `)
    put('empty.txt', '')
    expect(await call('write', { path: 'empty.txt', content: 'x\n' })).toBe('ok')
    expect(await call('write', { path: 'new.txt', content: 'x\n' })).toBe('ok')
  })

  test('a file that was read in part says how much was not', async () => {
    const { call, put } = scene()
    put('n.txt', Array.from({ length: 100 }, (_, index) => `${index}\n`).join(''))
    await call('read', { path: 'n.txt', offset: 1, limit: 10 })
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).toContain('Of its 100 lines, 90 had not been read.')
  })

  test('a file that was read in parts, one after the other, was read', async () => {
    const { call, put } = scene()
    put('n.txt', Array.from({ length: 100 }, (_, index) => `${index}\n`).join(''))
    for (const offset of [1, 41, 81]) await call('read', { path: 'n.txt', offset, limit: 40 })
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).toBe('ok')
  })

  test('a part that has changed is shown', async () => {
    const { call, put } = scene()
    put('n.txt', 'a\nb\nc\nd\n')
    await call('read', { path: 'n.txt', offset: 1, limit: 2 })
    put('n.txt', 'a\nhuman\nb\nc\nd\n')
    expect((await refusal(call('write', { path: 'n.txt', content: 'x\n' }))).message).toContain('+human')
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).toContain('Of its 5 lines, 2 had not been read.')
  })
})

describe('no false alarm', () => {
  const write = { path: 'n.txt', content: 'model\n' }

  test('a file that was touched', async () => {
    const { call, put, at } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    utimesSync(at('n.txt'), new Date(), new Date(Date.now() + 60_000))
    expect(await call('write', write)).toBe('ok')
  })

  test('a checkout of the same content, in a new file', async () => {
    const { call, put, at } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'other branch\n')
    writeFileSync(at('checkout'), 'one\n')
    renameSync(at('checkout'), at('n.txt'))
    expect(await call('write', write)).toBe('ok')
  })

  test('own edits, writes, patches and moves', async () => {
    const { call, put } = scene()
    put('n.txt', 'one\ntwo\n')
    await call('read', { path: 'n.txt' })
    await call('edit', { path: 'n.txt', patch: '@@ -1,2 +1,2 @@\n one\n-two\n+2\n' })
    expect(await call('write', write)).toBe('ok')
    await call('apply_patch', { patch: '*** Begin Patch\n*** Update File: n.txt\n*** Move to: m.txt\n@@\n-model\n+moved\n*** End Patch' })
    expect(await call('write', { path: 'm.txt', content: 'x\n' })).toBe('ok')
    expect(await call('write', write)).toBe('ok')
    await Promise.all([1, 2, 3].map((n) => call('write', { path: 'n.txt', content: `${n}\n` })))
  })

  test('own edits of a file that was read in part', async () => {
    const { call, put } = scene()
    put('n.txt', 'a\nb\nc\nd\ne\n')
    await call('read', { path: 'n.txt', offset: 2, limit: 2 })
    await call('edit', { path: 'n.txt', patch: '@@ -2,2 +2,3 @@\n b\n+B\n-c\n+C\n' })
    expect(await call('write', write)).toContain('Of its 6 lines, 3 had not been read.')
  })

  test('a formatter elsewhere in the file', async () => {
    const { call, put } = scene()
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
    put('n.txt', `${lines.join('\n')}\n`)
    await call('read', { path: 'n.txt' })
    put('n.txt', `${lines.map((line, index) => (index > 30 ? `  ${line}` : line)).join('\n')}\n`)
    expect(await call('edit', { path: 'n.txt', patch: '@@ -1,2 +1,2 @@\n-line 0\n+model\n line 1\n' })).not.toContain('line 3')
    expect(await call('edit', { path: 'n.txt', patch: '@@ -2,2 +2,2 @@\n-line 1\n+model\n line 2\n' })).not.toContain('line 3')
  })

  test('line endings and a byte order mark', async () => {
    const { call, put } = scene()
    put('n.txt', 'one\ntwo\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', '\u{feff}one\r\ntwo\r\n')
    expect(await call('write', write)).toContain('ok')
  })

  test('what another conversation has read', async () => {
    const { call, put, root } = scene()
    put('n.txt', 'one\n')
    const other = createTools({ rootDir: root })
    await other.read.execute({ path: 'n.txt' })
    put('n.txt', 'two\n')
    await call('read', { path: 'n.txt' })
    expect(await call('write', write)).toBe('ok')
    const task = (nodeId: string) => ({ runId: 'run', nodeId, rootDir: root })
    await runWithToolContext(task('a'), () => call('read', { path: 'n.txt' }))
    put('n.txt', 'three\n')
    await runWithToolContext(task('b'), () => call('read', { path: 'n.txt' }))
    expect(await runWithToolContext(task('b'), () => call('write', { ...write, content: 'four\n' }))).toBe('ok')
    expect((await refusal(runWithToolContext(task('a'), () => call('write', { ...write, content: 'x\n' })))).code).toBe('TOOL_FILE_CHANGED')
  })

  test('a run that is continued, and its changes that were seen', async () => {
    const fixture = makeSandbox()
    const location = fixture.at('journal.sqlite')
    const opened = async <T>(use: (call: (name: 'read' | 'write', input: object) => Promise<unknown>) => Promise<T>): Promise<T> => {
      const journal = await openJournal(location)
      const tools = createTools({ rootDir: fixture.root, journal, runId: 'run' })
      try {
        return await use((name, input) => (tools[name].execute as (input: object) => Promise<unknown>)(input))
      } finally {
        await journal.close()
      }
    }
    fixture.put('read.txt', 'one\n')
    fixture.put('other.txt', 'one\n')
    await opened(async (call) => {
      await call('read', { path: 'read.txt' })
      await call('read', { path: 'other.txt' })
      await call('write', { path: 'own.txt', content: 'own\n' })
    })
    fixture.put('other.txt', 'one\nhuman\n')
    await opened(async (call) => {
      expect(await call('write', { path: 'read.txt', content: 'x\n' })).toBe('ok')
      expect(await call('write', { path: 'own.txt', content: 'x\n' })).toBe('ok')
      const change = { path: 'other.txt', content: 'x\n' }
      const error = await refusal(call('write', change))
      expect(error).toMatchObject({ code: 'TOOL_FILE_CHANGED', details: { shown: false } })
      expect(error.message).toMatchSnapshot()
      expect((await refusal(call('write', change))).code).toBe('TOOL_FILE_CHANGED')
      await call('read', { path: 'other.txt' })
      expect(await call('write', change)).toBe('ok')
    })
    // A difference is no part of a record; the content of a read is.
    const recorded = await openJournal(location, { readOnly: true })
    const failures = (await recorded.listRun('run')).filter(({ status }) => status === 'error')
    expect(failures.map(({ errorJson }) => errorJson?.includes('TOOL_FILE_CHANGED') && !errorJson.includes('@@'))).toEqual([true, true])
    await recorded.close()
  })

  test('a write that keeps what others have added', async () => {
    const { call, put } = scene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\n')
    expect(await call('write', { path: 'n.txt', content: 'human\nmodel\none\n' })).toBe('ok')
  })
})
