import { createTools, ToolError } from 'toolwright'
import { expect, test } from 'vitest'
import { dataOf, openScene } from '../../contract/scene.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const BAR = String.raw`for n in 1 2 3; do printf '\r%s0%%' $n; done; printf '\n\033[31merror\033[0m: no\n'`
const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

test('a model reads what a person sees at the end', async () => {
  const { bash } = createTools({ rootDir: makeSandbox().root })
  expect(await bash.execute(sh(BAR))).toBe('30%\nerror: no\n')
  const failed: unknown = await bash.execute(sh(`${BAR}; exit 3`)).catch((error: unknown) => error)
  expect(ToolError.isInstance(failed) && failed.details['output']).toBe('30%\nerror: no\n')
})

test('text that moves nothing stays as it is', async () => {
  const { bash } = createTools({ rootDir: makeSandbox().root })
  const text = 'a\r\n\tb \0 c\n\nd  '
  expect(await bash.execute(sh(String.raw`printf 'a\r\n\tb \000 c\n\nd  '`))).toBe(text)
})

test('the last of streamed results is the same, and those before are live', async () => {
  const { bash } = createTools({ rootDir: makeSandbox().root, streamOutput: true })
  const seen: string[] = []
  for await (const result of bash.execute(sh(BAR))) seen.push(result)
  expect(seen.at(-1)).toBe('30%\nerror: no\n')
})

test('a session has the bytes in a file once they are many, and a model their text', async () => {
  const { call } = await openScene({ limits: { bashBytes: 2000 } })
  const envelope = await call('bash', { command: String.raw`for n in $(seq 1000); do printf '\r%s' $n; done; echo; echo e >&2` })
  expect(dataOf(envelope)).toMatchObject({ stdout: '1000\n', stderr: 'e\n', exit_code: 0 })
  const { truncated, output_path, notes } = envelope.metadata
  expect(truncated ?? false).toBe(false)
  expect(notes).toEqual([expect.stringContaining('the last state is shown')])
  expect(dataOf(await call('bash', { command: `head -c 8 ${output_path} | od -An -c` })).stdout).toContain(String.raw`\r   1  \r   2`)
  const cut = await call('bash', { command: String.raw`for n in $(seq 1000); do printf '\033[31m%s\033[0m\n' $n; done` })
  const { head, tail } = dataOf<{ head: string; tail: string }>(cut)
  expect(head).toMatch(/^1\n2\n3\n/u)
  expect(tail).toMatch(/\n999\n1000\n$/u)
  expect(head + tail).not.toContain('\u001B')
  expect(cut.metadata.truncated).toBe(true)
})
