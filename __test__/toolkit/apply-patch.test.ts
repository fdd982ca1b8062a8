import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { apply_patch as single, applyPatch, createTools, getDefinedToolMetadata, openJournal, runTask, ToolError } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectOutput } from '../support/output-schema.ts'
import { makeSandbox } from '../support/sandbox.ts'

const envelope = (...sections: string[]): string => `*** Begin Patch\n${sections.join('\n')}\n*** End Patch\n`

const patch = envelope(
  '*** Add File: new/in/c.txt',
  '+c',
  '*** Update File: src/a.txt',
  '*** Move to: lib/a.txt',
  '@@',
  ' one',
  '-two',
  '+2',
  '*** Update File: d.txt',
  '@@',
  '-d',
  '+D',
  '*** Delete File: b.txt',
)

function scene() {
  const fixture = makeSandbox()
  fixture.put('src/a.txt', 'one\ntwo\n')
  fixture.put('b.txt', 'b\n')
  fixture.put('d.txt', 'd\n')
  const { apply_patch } = createTools({ rootDir: fixture.root, extraTools: ['apply_patch'] })
  const listing = (): string[] => readdirSync(fixture.root, { recursive: true, encoding: 'utf8' }).sort()
  const failure = async (text: string): Promise<ToolError> => {
    const error: unknown = await apply_patch.execute({ patch: text }).catch((reason: unknown) => reason)
    if (!ToolError.isInstance(error)) throw new Error('it was applied', { cause: error })
    return error
  }
  return { ...fixture, apply_patch, listing, failure }
}

describe('apply_patch', () => {
  test('is there if it is asked for', () => {
    expect(Object.keys(createTools())).not.toContain('apply_patch')
    expect(Object.keys(createTools({ extraTools: [] }))).not.toContain('apply_patch')
    const { apply_patch } = createTools({
      extraTools: ['apply_patch'],
      streamOutput: true,
      descriptions: { apply_patch: (ours) => `${ours} Ours.` },
    })
    expect(apply_patch.description).toMatch(/\*\*\* Begin Patch.* Ours\.$/su)
    expect(getDefinedToolMetadata(apply_patch)).toMatchObject({
      name: 'apply_patch',
      sideEffect: true,
      idempotent: false,
      hasRevert: false,
    })
    // @ts-expect-error there is no such tool
    expect(() => createTools({ extraTools: ['apply'] })).toThrow(/extraTools/u)
  })

  test('adds, changes, moves and deletes files, and says so', async () => {
    const { apply_patch, listing, text } = scene()
    const output = await apply_patch.execute({ patch })
    expect(output).toMatchInlineSnapshot(`
      "Success. Updated the following files:
      A new/in/c.txt
      R src/a.txt -> lib/a.txt
      M d.txt
      D b.txt"
    `)
    await expectOutput(apply_patch, output)
    expect(listing()).toEqual(['d.txt', 'lib', 'lib/a.txt', 'new', 'new/in', 'new/in/c.txt', 'src'])
    expect([text('lib/a.txt'), text('d.txt'), text('new/in/c.txt')]).toEqual(['one\n2\n', 'D\n', 'c\n'])
  })

  test('changes nothing when one file cannot be changed, and says which', async () => {
    const { failure, listing, text, root } = scene()
    const before = listing()
    const stale = await failure(envelope('*** Add File: x', '+x', '*** Update File: src/a.txt', '@@', '-none', '+x'))
    expect(stale.code).toBe('TOOL_PATCH_FAILED')
    expect(stale.message).toContain('src/a.txt')
    expect(stale.message).toContain('No file was changed.')
    expect(stale.details).toMatchObject({ path: 'src/a.txt', hunk: 1 })
    const missing = await failure(envelope('*** Delete File: b.txt', '*** Update File: src/aa.txt', '@@', '-none', '+x'))
    expect(missing).toMatchObject({ code: 'TOOL_FILE_NOT_FOUND', hint: expect.stringContaining('`src/a.txt`') })
    expect((await failure('--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\n')).code).toBe('TOOL_FILE_EXISTS')
    expect(await failure(envelope('*** Add File: ../outside/x', '+x'))).toMatchObject({
      code: 'TOOL_PATH_ESCAPE',
      hint: expect.stringContaining(root),
    })
    expect((await failure(envelope('*** Add File: .git/hooks/pre-commit', '+x'))).code).toBe('TOOL_PATH_PROTECTED')
    expect((await failure('nothing')).code).toBe('TOOL_PATCH_FAILED')
    expect((await failure('x'.repeat(200_001))).code).toBe('TOOL_PATCH_TOO_LARGE')
    // @ts-expect-error no text
    expect((await failure(1)).code).toBe('INVALID_INPUT')
    expect(listing()).toEqual(before)
    expect(text('src/a.txt')).toBe('one\ntwo\n')
  })

  test('an abort before it leaves everything as it was', async () => {
    const { apply_patch, listing } = scene()
    const before = listing()
    const abort = new AbortController()
    const started = apply_patch.execute({ patch }, { toolCallId: 'a', abortSignal: abort.signal })
    abort.abort(new Error('stopped'))
    await expect(started).rejects.toThrow('stopped')
    const after = listing()
    // It was aborted before or after the files were changed, and not between.
    expect([before.join(), ['d.txt', 'lib', 'lib/a.txt', 'new', 'new/in', 'new/in/c.txt', 'src'].join()]).toContain(after.join())
  })

  test('a journal has one row with the files, and without their contents', async () => {
    const { root, listing } = scene()
    const journal = await openJournal('memory:')
    const { apply_patch } = createTools({ rootDir: root, journal, runId: 'run', nodeId: 'node', extraTools: ['apply_patch'] })
    await apply_patch.execute({ patch })
    await apply_patch.execute({ patch }).catch(() => undefined)
    await apply_patch.execute({ patch: 'nothing' }).catch(() => undefined)
    const rows = await journal.listRun('run')
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['apply_patch', 'success'],
      ['apply_patch', 'error'],
      ['apply_patch', 'error'],
    ])
    const [first, , third] = rows.map(({ inputJson }) => JSON.parse(inputJson ?? '') as unknown)
    expect(first).toEqual({
      patchBytes: patch.length,
      patchHash: expect.stringMatching(/^[0-9a-f]{64}$/u),
      files: [
        { path: 'new/in/c.txt', change: 'add' },
        { path: 'src/a.txt', change: 'move', movedTo: 'lib/a.txt' },
        { path: 'd.txt', change: 'update' },
        { path: 'b.txt', change: 'delete' },
      ],
    })
    expect(third).toEqual({ patchBytes: 7, patchHash: expect.any(String) })
    expect(JSON.stringify(rows)).not.toContain('two')
    expect(listing()).toContain('lib/a.txt')
    await journal.close()
  })

  test('many at once on the same files all land', async () => {
    const { apply_patch, put, text } = scene()
    const names = ['p.txt', 'q.txt', 'r/s.txt']
    for (const name of names) put(name, Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join(''))
    const change = (n: number): string =>
      envelope(...names.flatMap((name) => [`*** Update File: ${name}`, '@@', `-line ${n}`, `+done ${n}`]))
    await Promise.all(Array.from({ length: 20 }, (_, n) => apply_patch.execute({ patch: change(n) })))
    for (const name of names) expect(text(name)).toBe(Array.from({ length: 20 }, (_, n) => `done ${n}\n`).join(''))
  })

  test('links that lead out are refused, and those within are followed', async () => {
    const { apply_patch, failure, at, outside, text } = scene()
    writeFileSync(`${outside}/x.txt`, 'x\n')
    symlinkSync(outside, at('out'))
    symlinkSync('d.txt', at('link.txt'))
    expect((await failure(envelope('*** Update File: out/x.txt', '@@', '-x', '+y'))).code).toBe('TOOL_PATH_ESCAPE')
    await apply_patch.execute({ patch: envelope('*** Update File: link.txt', '@@', '-d', '+D') })
    expect(text('d.txt')).toBe('D\n')
  })
})

test('the tool of its own takes the options of the task or of configureTools', async () => {
  const { within, text } = scene()
  const patched = await within(() => single.execute({ patch: envelope('*** Add File: new.txt', '+new') }))
  expect(patched).toContain('\nA new.txt')
  expect(text('new.txt')).toBe('new\n')
  expect(getDefinedToolMetadata(single)).toMatchObject({ name: 'apply_patch', sideEffect: true, idempotent: false })
})

describe('applyPatch', () => {
  test('can be undone: the tree is as before, byte for byte', async () => {
    const { within, listing, text, put, at } = scene()
    put('bin', new Uint8Array([0, 255, 10, 13]))
    const whole = () => listing().map((name) => (statSync(at(name)).isFile() ? [name, text(name), statSync(at(name)).mode] : name))
    const before = whole()
    const applied = await within(() => applyPatch(`${patch.replace('*** End Patch\n', '')}*** Delete File: bin\n*** End Patch\n`))
    expect(applied.summary).toContain('D bin')
    expect(whole()).not.toEqual(before)
    await applied.undo()
    expect(whole()).toEqual(before)
    await expect(applied.undo()).rejects.toMatchObject({ code: 'TOOL_FILE_NOT_FOUND' })
  })

  test('is not undone over a change of someone else', async () => {
    const { within, put, text } = scene()
    const applied = await within(() => applyPatch(patch))
    put('d.txt', 'theirs\n')
    await expect(applied.undo()).rejects.toMatchObject({ code: 'TOOL_EDIT_CONFLICT' })
    expect([text('d.txt'), text('lib/a.txt')]).toEqual(['theirs\n', 'one\n2\n'])
  })

  test('works in a task', async () => {
    const { root, text } = scene()
    const journal = await openJournal('memory:')
    const { apply_patch } = createTools({ rootDir: root, journal, extraTools: ['apply_patch'] })
    await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: root }, () => apply_patch.execute({ patch }))
    expect(text('d.txt')).toBe('D\n')
    expect(await journal.listRun('run')).toHaveLength(1)
    await journal.close()
  })
})
