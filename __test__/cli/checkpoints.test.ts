import { openCheckpoints } from 'toolwright'
import { expect, test } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

async function scene() {
  const box = makeSandbox()
  box.put('a.txt', 'one\n')
  const store = `${box.outside}/store`
  const checkpoints = await openCheckpoints(box.root, { store, ignore: ['*.log'] })
  const first = await checkpoints.checkpoint({ label: 'the first' })
  await checkpoints.track('call-1', () => void box.put('a.txt', 'two\n'))
  await checkpoints.close()
  const cli = (...args: string[]) => runCli(['checkpoints', ...args, '--dir', box.root, '--store', store])
  return { box, cli, first }
}

test('lists, compares, restores and collects', async () => {
  const { box, cli, first } = await scene()
  const listed = await cli('list')
  expect(listed).toMatchObject({ code: 0, stderr: '' })
  expect(listed.stdout).toMatch(
    /^ +id {2}time +what\n +2 {2}\d{4}-.* 1 change, call call-1\n +1 {2}.* 1 change, the first\nThe store has \d+ KB\.\n$/u,
  )
  const { checkpoints } = JSON.parse((await cli('list', '--json')).stdout) as { checkpoints: { id: number }[] }
  expect(checkpoints.map(({ id }) => id)).toEqual([2, 1])

  const diff = await cli('diff', String(first.id))
  expect(diff).toMatchObject({ code: 0, stdout: 'diff a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n' })
  expect((await cli('diff', '1', '2', '--names')).stdout).toBe('~ a.txt\n')

  expect((await cli('restore', '1', '--dry-run')).stdout).toBe('~ a.txt\n1 paths would be restored. Nothing was changed.\n')
  expect(box.text('a.txt')).toBe('two\n')
  const restored = await cli('restore', '1')
  expect(restored.stdout).toBe("~ a.txt\n1 paths are restored. 'toolwright checkpoints restore 2' takes it back.\n")
  expect(box.text('a.txt')).toBe('one\n')
  expect((await cli('restore', '2', 'a.txt', '--json')).code).toBe(0)
  expect(box.text('a.txt')).toBe('two\n')
  await cli('restore', '--call', 'call-1')
  expect(box.text('a.txt')).toBe('one\n')

  const collected = JSON.parse((await cli('gc', '--keep', '1', '--json')).stdout) as { left: number }
  expect(collected.left).toBe(1)
})

test('refuses what somebody else has changed, and keeps to what the program leaves out', async () => {
  const { box, cli } = await scene()
  box.put('a.txt', "a person's\n")
  box.put('debug.log', 'noise\n')
  const refused = await cli('restore', '1')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toBe(
    'toolwright: A file was changed by somebody else since, and nothing was restored: `a.txt` [CHECKPOINT_CONFLICT] Name other paths behind the checkpoint, or include these with --force.\n',
  )
  expect((await cli('diff', '1', '--names')).stdout).toBe('~ a.txt\n')
  expect((await cli('restore', '1', '--force')).code).toBe(0)
  expect([box.text('a.txt'), box.text('debug.log')]).toEqual(['one\n', 'noise\n'])
})

test('what makes no sense is a wrong command line', async () => {
  const { cli } = await scene()
  for (const args of [
    [],
    ['frob'],
    ['restore'],
    ['diff'],
    ['diff', 'x'],
    ['gc', '--max-bytes', 'many'],
    ['gc', '--max-age', '1'],
    ['list', '--limit', '0'],
  ]) {
    expect(await cli(...args), args.join(' ')).toMatchObject({ code: 2, stdout: '' })
  }
  expect(await runCli(['checkpoints', '--help'])).toMatchObject({ code: 0, stderr: '' })
  expect((await cli('restore', '99')).stderr).toContain('CHECKPOINT_NOT_FOUND')
})
