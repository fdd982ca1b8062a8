import { readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, openScene, testTool } from '../../scene.ts'

describe('bash', () => {
  test('both ends of a long output are kept, and what is missing is counted', async () => {
    const { call } = await openScene({ limits: { bashBytes: 2_000 } })
    const cut = await call('bash', { command: 'echo begin; seq 1 1000; echo "1 failing" >&2; exit 1' })
    const { head, tail, left_out_bytes, ...how } = dataOf(cut)
    const all = readFileSync(cut.metadata.output_path ?? '', 'utf8')
    expect(all.startsWith(head)).toBe(true)
    expect(head.startsWith('begin\n1\n2\n')).toBe(true)
    expect(tail.endsWith('1000\n1 failing\n')).toBe(true)
    expect(all.endsWith(tail)).toBe(true)
    expect(head.length + tail.length).toBe(2_000)
    expect(left_out_bytes).toBe(all.length - 2_000)
    expect(how).toEqual({ exit_code: 1, signal: null, timed_out: false })
  })

  test('the result says what read and commands can do with the file, and both work', async () => {
    const { call, session } = await openScene({ limits: { bashBytes: 2_000 } })
    const cut = await call('bash', { command: 'seq 1 100000' }, { callId: 'c1' })
    const { output_path = '', notes = [] } = cut.metadata
    expect(notes.map((note) => note.replaceAll(output_path, '<path>'))).toMatchSnapshot()
    const { toModelOutput } = session.tools['bash'] as unknown as { toModelOutput: (given: { output: unknown }) => { value: string } }
    expect(toModelOutput({ output: cut }).value).toContain(JSON.stringify(notes[0]))
    expect(dataOf(await call('read', { path: output_path, offset: 588_885 }))).toMatchObject({ content: '99999\n100000\n'.slice(-10) })
    expect(dataOf(await call('bash', { command: `tail -n 1 ${output_path}` }))).toMatchObject({ stdout: '100000\n', exit_code: 0 })
    expect(dataOf(await call('bash', { command: `grep -c 99 '${output_path}'` }))).toMatchObject({ exit_code: 0 })
  })

  test('commands of the session read the file and cannot change it; those of another session do not see it', async () => {
    const one = await openScene({ limits: { bashBytes: 2_000 } })
    const { output_path = '' } = (await one.call('bash', { command: 'seq 1 1000' })).metadata
    const size = statSync(output_path).size
    expect(dataOf(await one.call('bash', { command: `echo x >> '${output_path}' || rm -f '${output_path}'` })).exit_code).not.toBe(0)
    expect(statSync(output_path).size).toBe(size)
    const two = await openScene()
    const seen = dataOf(await two.call('bash', { command: `cat '${output_path}'; ls -R "$(dirname '${output_path}')/.."` }))
    expect(seen.stdout).toBe('')
  })

  test('a file that is made while the session runs is there for the next command', async () => {
    const tool = testTool('long', () => 'y'.repeat(500))
    const { call } = await openScene({ tools: [tool], limits: { outputBytes: 100, bashBytes: 2_000 } })
    await call('bash', { command: 'true' })
    const { output_path = '' } = (await call('long', {})).metadata
    expect(dataOf(await call('bash', { command: `wc -c < '${output_path}'` })).stdout.trim()).toBe('500')
  })

  test('no character is cut in half, at either end', async () => {
    for (const bashBytes of [2_000, 2_001, 2_002, 2_003]) {
      const { call } = await openScene({ limits: { bashBytes } })
      for (const before of ['', 'a', 'ab', 'abc']) {
        const cut = await call('bash', { command: `printf '${before}'; for i in $(seq 600); do printf '😀é漢'; done` })
        const { head, tail, left_out_bytes } = dataOf(cut)
        const all = readFileSync(cut.metadata.output_path ?? '', 'utf8')
        expect(head + tail).not.toContain('�')
        expect(all.startsWith(head) && all.endsWith(tail)).toBe(true)
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(bashBytes)
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeGreaterThan(bashBytes - 8)
        expect(Buffer.byteLength(head) + left_out_bytes + Buffer.byteLength(tail)).toBe(Buffer.byteLength(all))
      }
    }
  })

  test('what is no text is cut all the same', async () => {
    const { call } = await openScene({ limits: { bashBytes: 2_000 } })
    const { head, tail, left_out_bytes } = dataOf(await call('bash', { command: "head -c 5000 /dev/zero | tr '\\0' '\\200'" }))
    expect([head.length, tail.length, left_out_bytes]).toEqual([1_000, 1_000, 3_000])
  })

  test('a small limit keeps the beginning alone', async () => {
    const { call } = await openScene({ limits: { bashBytes: 10 } })
    const cut = await call('bash', { command: 'seq 1 100' })
    expect(dataOf(cut)).toEqual({ head: '1\n2\n3\n4\n5\n', left_out_bytes: 282, exit_code: 0, signal: null, timed_out: false })
  })

  test('of a command that is stopped the end is kept too', async () => {
    const { call } = await openScene({ limits: { bashBytes: 2_000 } })
    const cut = dataOf(await call('bash', { command: 'seq 1 1000; echo last; sleep 30', timeout_ms: 1_000 }))
    expect(cut).toMatchObject({ timed_out: true, tail: expect.stringMatching(/\nlast\n$/u) })
  })
})
