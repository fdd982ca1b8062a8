import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

function scene() {
  const box = makeSandbox()
  box.put('a.txt', 'one\n')
  const place = ['--store', `${box.outside}/forks`]
  const attempt = (...args: string[]) => runCli(['try', '--dir', box.root, ...place, ...args])
  const forks = (...args: string[]) => runCli(['forks', ...args, ...place])
  return { box, attempt, forks }
}

const DIFF = 'diff a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'
const CHANGE = ['--', 'sh', '-c', 'echo two > a.txt; echo done']

const here = process.platform === 'linux' ? describe : describe.skip

here('toolwright try', () => {
  test('shows what a command would change, and keeps it where nobody can be asked', async () => {
    const { box, attempt, forks } = scene()
    const tried = await attempt(...CHANGE)
    expect(tried).toMatchObject({ code: 0, stdout: `done\n${DIFF}` })
    const [, id = ''] = /forks apply ([0-9a-f-]+)'/u.exec(tried.stderr) ?? []
    expect(box.text('a.txt')).toBe('one\n')
    expect((await forks('list')).stdout).toMatch(new RegExp(`^${id}  .*  kept     ${box.root}  sh -c .*\n$`, 'u'))
    expect((await forks('status', id)).stdout).toBe('~ a.txt\n')
    expect((await forks('diff', id)).stdout).toBe(DIFF)
    expect((await forks('apply', id, '--dry-run')).stdout).toBe('~ a.txt\n1 change would be applied.\n')
    expect(box.text('a.txt')).toBe('one\n')
    const applied = `1 change applied. 'toolwright forks undo ${id}' takes it back.\n`
    expect((await forks('apply', id)).stdout).toBe(applied)
    expect(box.text('a.txt')).toBe('two\n')
    expect((await forks('undo', id)).stdout).toBe('~ a.txt\n1 change undone.\n')
    expect(box.text('a.txt')).toBe('one\n')
    expect((await forks('apply', id)).stdout).toBe(applied)
    expect((await forks('gc')).stdout).toBe('1 fork removed. 0 with changes stay.\n')
    expect((await forks('list')).stdout).toBe('There are no forks.\n')
  })

  test('applies or discards without a question, and has the exit code of the command', async () => {
    const { box, attempt, forks } = scene()
    expect(await attempt('--discard', ...CHANGE)).toMatchObject({
      code: 0,
      stdout: `done\n${DIFF}The changes are thrown away.\n`,
      stderr: '',
    })
    expect(box.text('a.txt')).toBe('one\n')
    const applied = await attempt('--apply', ...CHANGE)
    expect(applied).toMatchObject({ code: 0, stderr: '' })
    const [text, id = ''] =
      /^done\n[^]*1 change applied\. 'toolwright forks undo ([0-9a-f-]+)' takes it back\.\n$/u.exec(applied.stdout) ?? []
    expect(text).toContain(DIFF)
    expect(box.text('a.txt')).toBe('two\n')
    // The fork is gone by then.
    box.put('a.txt', "a person's\n")
    expect(await forks('undo', id)).toMatchObject({
      code: 1,
      stdout: '~ a.txt (conflict: changed in the directory since)\nNothing was undone, because 1 path changed since.\n',
    })
    box.put('a.txt', 'two\n')
    expect((await forks('undo', id, '--json')).stdout).toContain('"path":"a.txt"')
    expect(box.text('a.txt')).toBe('one\n')
    expect((await forks('undo', id)).stderr).toContain('FORK_NOT_APPLIED')
    box.put('a.txt', 'two\n')
    const failed = await attempt('--apply', '--', 'sh', '-c', 'rm a.txt; exit 7')
    expect([failed.code, box.text('a.txt')]).toEqual([7, 'two\n'])
    const json = await attempt('--json', '--discard', '--', 'sh', '-c', 'echo new > b.txt')
    expect(JSON.parse(json.stdout)).toMatchObject({ fork: null, exitCode: 0, changes: [{ path: 'b.txt', kind: 'created' }], applied: null })
    expect(existsSync(box.at('b.txt'))).toBe(false)
    expect((await attempt('--', 'true')).stdout).toBe('Nothing has changed.\n')
    const { stdout } = await forks('list', '--json')
    expect(JSON.parse(stdout)).toMatchObject([{ state: 'kept' }])
  })

  test('tells of what somebody else has changed since', async () => {
    const { box, attempt, forks } = scene()
    const { stdout } = await attempt('--json', ...CHANGE)
    const { fork } = JSON.parse(stdout) as { fork: string }
    box.put('a.txt', "a person's\n")
    const refused = await forks('apply', fork, '--no-merge')
    expect(refused).toMatchObject({
      code: 1,
      stdout:
        '~ a.txt (conflict: changed in the directory since)\nNothing was applied, because of 1 conflict. Name other paths to apply them alone.\n',
    })
    expect(box.text('a.txt')).toBe("a person's\n")
    expect((await forks('discard', fork)).stdout).toBe(`The fork ${fork} is discarded.\n`)
    expect((await forks('status', fork)).stderr).toContain('FORK_NOT_FOUND')
  })

  test('doctor --forks says whether one can be made, and why not', async () => {
    const { box } = scene()
    const made = await runCli(['doctor', '--allow-network', '--forks', '--root', box.root])
    expect(made.stdout).toContain('\n\nA fork of the directory can be made.\n')
    const refused = await runCli(['doctor', '--allow-network', '--forks', '--json', '--root', '/'])
    expect(JSON.parse(refused.stdout)).toMatchObject({ forks: { available: false, reason: 'it holds more than files' } })
  })

  test('what makes no sense is a wrong command line', async () => {
    const { attempt, forks } = scene()
    for (const [run, text] of [
      [attempt(), "name a command behind '--'"],
      [attempt('--apply', '--discard', '--', 'true'), 'not both'],
      [forks(), 'list, status, diff, apply, undo, discard or gc?'],
      [forks('lst'), 'did you mean list?'],
      [forks('apply'), 'name a fork'],
    ] as const) {
      const { code, stderr } = await run
      expect(code).toBe(2)
      expect(stderr).toContain(text)
    }
  })
})
