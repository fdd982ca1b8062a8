import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { applyDiff } from '@openai/agents-core'
import fc from 'fast-check'
import { openJournal } from 'toolwright'
import { type ApplyPatchOperation, providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

function patcher(options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const { openai, agents } = providerExecutors({ rootDir: fixture.root, ...options })
  return {
    fixture,
    agents,
    applyPatch: openai.applyPatch,
    apply: (operation: ApplyPatchOperation) => openai.applyPatch({ callId: 'call_1', operation }),
  }
}

const create = (path: string, diff: string): ApplyPatchOperation => ({ type: 'create_file', path, diff })
const update = (path: string, diff: string): ApplyPatchOperation => ({ type: 'update_file', path, diff })
const remove = (path: string): ApplyPatchOperation => ({ type: 'delete_file', path })

const FILE = 'def f(n):\n    return n\n\ndef g(n):\n    return n\n'

describe('applyPatch', () => {
  test('R5: refuses what fits in two places, where the reference takes the first', async () => {
    const { fixture, apply } = patcher()
    fixture.put('a.py', FILE)
    expect((await apply(update('a.py', '@@\n-    return n\n+    return 1\n'))).status).toBe('failed')
    expect(fixture.text('a.py')).toBe(FILE)
  })

  test('R5: creates, changes and deletes', async () => {
    const { fixture, apply } = patcher()
    expect(await apply(create('src/a.py', '+def f(n):\n+    return n\n'))).toMatchObject({ status: 'completed' })
    expect(fixture.text('src/a.py')).toMatch(/^def f\(n\):\n {4}return n\n?$/u)
    expect(await apply(update('src/a.py', '@@ def f(n):\n-    return n\n+    return n + 1\n'))).toMatchObject({ status: 'completed' })
    expect(fixture.text('src/a.py')).toContain('return n + 1')
    expect(await apply(remove('src/a.py'))).toMatchObject({ status: 'completed' })
    expect(existsSync(fixture.at('src/a.py'))).toBe(false)
  })

  test('R5: says what failed, and changes nothing', async () => {
    const { fixture, apply } = patcher()
    fixture.put('a.py', FILE)
    symlinkSync('../outside', fixture.at('out'))
    fixture.put('dir/file', 'x')
    const operations: ApplyPatchOperation[] = [
      create('a.py', '+x'),
      create('new', 'no plus'),
      update('a.py', '@@\n-    return 7\n+    return 8\n'),
      update('a.py', '@@ def h(n):\n-    return n\n+    return 8\n'),
      update('missing', '@@\n-a\n+b\n'),
      remove('missing'),
      remove('dir'),
      remove('.'),
      create('../outside/x', '+x'),
      create('out/x', '+x'),
      remove('out/x'),
      create('.git/hooks/pre-commit', '+x'),
      create('/etc/x', '+x'),
      create('a\0b', '+x'),
      create('', '+x'),
      { type: 'move_file', path: 'a.py' } as never,
    ]
    const before = readdirSync(fixture.root, { recursive: true }).sort()
    const answers: string[] = []
    for (const operation of operations) {
      const { status, output } = await apply(operation)
      expect(status, JSON.stringify(operation)).toBe('failed')
      answers.push(`${JSON.stringify(operation)}\n${output.replaceAll(fixture.root, 'ROOT')}`)
    }
    expect(answers.join('\n\n')).toMatchSnapshot()
    expect(readdirSync(fixture.root, { recursive: true }).sort()).toEqual(before)
    expect(fixture.text('a.py')).toBe(FILE)
    expect(readdirSync(fixture.outside)).toEqual([])
  })

  test('R1: never throws, whatever it is given', async () => {
    const { applyPatch } = patcher()
    for (const input of [
      undefined,
      null,
      {},
      { operation: null },
      { operation: {} },
      { operation: { type: 'create_file', path: 1, diff: 2 } },
    ]) {
      expect((await applyPatch(input as never)).status).toBe('failed')
    }
    const controller = new AbortController()
    controller.abort()
    expect(await applyPatch({ callId: 'x', operation: create('a', '+x') }, { abortSignal: controller.signal })).toEqual({
      status: 'failed',
      output: 'The call was aborted.',
    })
  })

  test('R13: is recorded without the diff', async () => {
    const journal = await openJournal('memory:')
    const { apply } = patcher({ journal, runId: 'run' })
    await apply(create('a', '+secret text'))
    await apply(update('a', '@@\n-another secret\n+x'))
    const rows = await journal.listToolCalls('run', 'agent', 0)
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['apply_patch', 'success'],
      ['apply_patch', 'error'],
    ])
    expect(JSON.stringify(rows)).not.toContain('secret')
    await journal.close()
  })

  test('is the editor of the Agents SDK as well, which can move', async () => {
    const { fixture, agents } = patcher()
    expect(await agents.editor.createFile({ type: 'create_file', path: 'a', diff: '+one\n+two' })).toMatchObject({ status: 'completed' })
    const moved = await agents.editor.updateFile({ type: 'update_file', path: 'a', diff: '@@\n one\n-two\n+2\n', moveTo: 'b/c' })
    expect(moved).toMatchObject({ status: 'completed' })
    expect(existsSync(fixture.at('a'))).toBe(false)
    expect(fixture.text('b/c')).toMatch(/^one\n2\n?$/u)
    expect(await agents.editor.deleteFile({ type: 'delete_file', path: 'b/c' })).toMatchObject({ status: 'completed' })
    expect(await agents.editor.deleteFile({ type: 'delete_file', path: 'b/c' })).toMatchObject({ status: 'failed' })
  })
})

test(`R10: no patch of ${runs(1_000)} reaches what is outside`, { timeout: 300_000 }, async () => {
  const { fixture, apply } = patcher()
  fixture.put('a/file', 'one\n')
  symlinkSync(fixture.outside, fixture.at('absolute'))
  symlinkSync('../outside', fixture.at('out'))
  symlinkSync('..', fixture.at('up'))
  const step = fc.constantFrom('..', '.', 'a', 'file', 'out', 'absolute', 'up', 'outside', 'secret', '%2e%2e', '..\0')
  const path = fc.oneof(
    fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) => steps.join('/')),
    fc.array(step, { maxLength: 3 }).map((steps) => join(fixture.outside, ...steps.filter((one) => !one.includes('\0')))),
  )
  const operation: fc.Arbitrary<ApplyPatchOperation> = fc.oneof(
    path.map((at) => create(at, '+evil')),
    path.map((at) => update(at, '@@\n-one\n+evil\n')),
    path.map(remove),
    fc.tuple(path, path).map(([at, moveTo]): ApplyPatchOperation => ({ type: 'update_file', path: at, diff: '@@\n-one\n+one\n', moveTo })),
  )
  for (const one of fc.sample(operation, { numRuns: runs(1_000), seed })) await apply(one)
  expect(readdirSync(fixture.outside)).toEqual([])
})

/** What the reference makes of a diff; `undefined` for one that it refuses. */
function reference(text: string, diff: string): string | undefined {
  try {
    return applyDiff(text, diff)
  } catch {
    return undefined
  }
}

test.each([
  ['one hunk', '@@\n def f(n):\n-    return n\n+    return 1\n'],
  ['an anchor', '@@ def g(n):\n-    return n\n+    return 2\n'],
  ['context', ' def g(n):\n-    return n\n+    return 2\n'],
  ['the end of the file', '@@\n def g(n):\n-    return n\n+    return 2\n*** End of File'],
  ['an insertion', '@@ def g(n):\n+    # g\n     return n\n'],
  ['two hunks', '@@ def f(n):\n-    return n\n+    return 1\n@@ def g(n):\n-    return n\n+    return 2\n'],
  ['text that is not there', '@@\n-    return 7\n+    return 1\n'],
])("R5: %s: the result is the reference's", async (_name, diff) => {
  const { fixture, apply } = patcher()
  fixture.put('a.py', FILE)
  const expected = reference(FILE, diff)
  const { status } = await apply(update('a.py', diff))
  expect(status).toBe(expected === undefined ? 'failed' : 'completed')
  expect(fixture.text('a.py')).toBe(expected ?? FILE)
})
