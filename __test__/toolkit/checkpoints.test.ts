import { existsSync } from 'node:fs'
import { createTools, openCheckpoints, openJournal, runTask, ToolError, type Checkpoints } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

async function scene(files: Record<string, string>) {
  const box = makeSandbox()
  for (const [path, text] of Object.entries(files)) box.put(path, text)
  const checkpoints = await openCheckpoints(box.root, { store: `${box.outside}/store` })
  onTestFinished(() => checkpoints.close())
  return { box, checkpoints }
}

const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

/** What a model is shown of a result. */
async function shown(tool: unknown, toolCallId: string, input: unknown, output: unknown): Promise<string> {
  const { toModelOutput } = tool as { toModelOutput: (request: object) => { value: string } }
  return toModelOutput({ toolCallId, input, output }).value
}

async function call(tool: { execute: (args: never, options: { toolCallId: string }) => unknown }, toolCallId: string, input: object) {
  const result = tool.execute(input as never, { toolCallId })
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result as Promise<string>
  let last: unknown
  for await (last of result as AsyncIterable<unknown>);
  return last as string
}

const callsOf = async (checkpoints: Checkpoints): Promise<string[]> => (await checkpoints.list()).checkpoints.flatMap(({ calls }) => calls)

describe('createTools with checkpoints', () => {
  test('each call that changes files can be undone', async () => {
    const { box, checkpoints } = await scene({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
    const { write, edit, bash, read } = createTools({ rootDir: box.root, checkpoints })
    await call(write, 'w1', { path: 'new.txt', content: 'new\n' })
    await call(edit, 'e1', { path: 'a.txt', patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n' })
    await call(bash, 'b1', sh('rm b.txt; echo c > c.txt'))
    await call(read, 'r1', { path: 'c.txt' })
    expect((await callsOf(checkpoints)).sort()).toEqual(['b1', 'e1', 'w1'])
    await checkpoints.undo({ call: 'b1' })
    expect([box.text('b.txt'), existsSync(box.at('c.txt'))]).toEqual(['b\n', false])
    expect(box.text('a.txt')).toBe('two\n')
    await checkpoints.undo({ call: 'e1' })
    await checkpoints.undo({ call: 'w1' })
    expect([box.text('a.txt'), existsSync(box.at('new.txt'))]).toEqual(['one\n', false])
  })

  test('a model is told what a command has changed, and which of it it has read', async () => {
    const { box, checkpoints } = await scene({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
    const { bash, read } = createTools({ rootDir: box.root, checkpoints })
    await call(read, 'r1', { path: 'a.txt' })
    const input = sh('sed -i s/one/two/ a.txt; echo c > c.txt; rm b.txt; echo done')
    const output = await call(bash, 'b1', input)
    expect(output).toBe('done\n')
    expect(await shown(bash, 'b1', input, output)).toBe(
      'done\n(Changed: a.txt modified, b.txt deleted, c.txt created.)\n(You have read these files, and this command changed them: a.txt. Read them again.)',
    )
    const again = sh('echo three > a.txt')
    expect(await shown(bash, 'b2', again, await call(bash, 'b2', again))).toBe('(no output)\n(Changed: a.txt modified.)')
    const nothing = sh('cat a.txt')
    expect(await shown(bash, 'b3', nothing, await call(bash, 'b3', nothing))).toBe('three\n')
  })

  test('also where the output is streamed, and where the command fails', async () => {
    const { box, checkpoints } = await scene({ 'a.txt': 'one\n' })
    const { bash } = createTools({ rootDir: box.root, checkpoints, streamOutput: true })
    const input = sh('echo two > a.txt; echo out')
    expect(await shown(bash, 'b1', input, await call(bash, 'b1', input))).toContain('(Changed: a.txt modified.)')
    await expect(call(bash, 'b2', sh('echo three > a.txt; exit 3'))).rejects.toThrow(ToolError)
    await checkpoints.undo({ call: 'b2' })
    expect(box.text('a.txt')).toBe('two\n')
    await checkpoints.undo({ call: 'b1' })
    expect(box.text('a.txt')).toBe('one\n')
  })

  test('a call without a checkpoint before it is not made', async () => {
    const { box, checkpoints } = await scene({ 'a.txt': 'one\n' })
    const { write, read } = createTools({ rootDir: box.root, checkpoints })
    await checkpoints.close()
    await expect(call(write, 'w1', { path: 'a.txt', content: 'two\n' })).rejects.toMatchObject({ code: 'CHECKPOINT_CLOSED' })
    expect(box.text('a.txt')).toBe('one\n')
    expect(await call(read, 'r1', { path: 'a.txt' })).toBe('one\n')
    expect(() => createTools({ checkpoints: {} as Checkpoints })).toThrow(/what openCheckpoints gave/u)
  })
})

describe('runTask with checkpoints', () => {
  async function taskScene(files: Record<string, string>) {
    const { box, checkpoints } = await scene(files)
    const journal = await openJournal(`file:${box.outside}/runs.db`)
    onTestFinished(() => journal.close())
    const tools = createTools({ rootDir: box.root, checkpoints })
    const attempt = (fn: (task: { warning: string | null }) => unknown, onRetry: 'keep' | 'restore' = 'restore') =>
      runTask({ journal, runId: 'run', nodeId: 'node', rootDir: box.root, checkpoints, onRetry }, fn)
    return { box, checkpoints, journal, tools, attempt }
  }

  test('a retried attempt begins from the state before the one that failed', async () => {
    const { box, tools, attempt, journal } = await taskScene({ 'a.txt': 'one\n' })
    const failed = attempt(async () => {
      await call(tools.write, 'w1', { path: 'half.txt', content: 'half\n' })
      await call(tools.bash, 'b1', sh('echo two > a.txt'))
      throw new Error('the model went away')
    })
    await expect(failed).rejects.toThrow('the model went away')
    expect(box.text('a.txt')).toBe('two\n')
    await attempt(async () => {
      expect([box.text('a.txt'), existsSync(box.at('half.txt'))]).toEqual(['one\n', false])
      await call(tools.write, 'w2', { path: 'whole.txt', content: 'whole\n' })
    })
    // It came to its end: the next attempt takes nothing back.
    await attempt(() => expect(box.text('whole.txt')).toBe('whole\n'))
    const names = (await journal.listRun('run')).map(({ toolName, attempt: number }) => `${number} ${toolName}`)
    expect(names).toEqual(['1 write', '1 bash', '2 checkpoint_restore', '2 write'])
  })

  test('writes that were taken back need no warning', async () => {
    const { tools, attempt } = await taskScene({ 'a.txt': 'one\n' })
    const fail = async (): Promise<never> => {
      await call(tools.write, 'w1', { path: 'half.txt', content: 'half\n' })
      throw new Error('failed')
    }
    await expect(attempt(fail)).rejects.toThrow('failed')
    await attempt((task) => expect(task.warning).toBeNull())
  })

  test('with keep the files stay, and are warned of', async () => {
    const { box, tools, attempt } = await taskScene({})
    const fail = async (): Promise<never> => {
      await call(tools.write, 'w1', { path: 'half.txt', content: 'half\n' })
      throw new Error('failed')
    }
    await expect(attempt(fail, 'keep')).rejects.toThrow('failed')
    await attempt((task) => expect([task.warning === null, box.text('half.txt')]).toEqual([false, 'half\n']), 'keep')
  })

  test('what somebody else has changed since is refused', async () => {
    const { box, tools, attempt } = await taskScene({ 'a.txt': 'one\n' })
    const fail = async (): Promise<never> => {
      await call(tools.write, 'w1', { path: 'a.txt', content: 'two\n' })
      throw new Error('failed')
    }
    await expect(attempt(fail)).rejects.toThrow('failed')
    box.put('a.txt', "a person's\n")
    await expect(attempt(() => undefined)).rejects.toMatchObject({ code: 'CHECKPOINT_CONFLICT' })
    expect(box.text('a.txt')).toBe("a person's\n")
  })

  test('onRetry needs checkpoints', async () => {
    const { journal } = await taskScene({})
    const refused = runTask({ journal, runId: 'run', nodeId: 'node', onRetry: 'restore' }, () => undefined)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})
