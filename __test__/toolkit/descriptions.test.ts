// What a model is told about the tools, by the options of their host.
import { createTools, tools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const textsOf = (options: Parameters<typeof createTools>[0]) =>
  Object.fromEntries(Object.entries(createTools(options as { rootDir: string })).map(([name, tool]) => [name, tool.description]))

describe('descriptions', () => {
  test('say where the tools work and what limits them', () => {
    expect(textsOf({ rootDir: makeSandbox().root })).toMatchSnapshot()
  })

  test('follow the options', () => {
    const { bash, read } = textsOf({
      rootDir: makeSandbox().root,
      allowNetwork: true,
      maxOutputBytes: 1_500_000,
      toolTimeoutMs: 600_000,
      sandbox: { writableRoots: ['/srv/cache'] },
    })
    expect(bash).toContain('The network is open.')
    expect(bash).toContain('the root directory, a temporary directory and `/srv/cache`')
    expect(bash).toContain('stopped after 10 minutes')
    expect(read).toContain('Read a file over 1.5 MB in parts')
  })

  test('promise no confinement that is switched off', () => {
    expect(textsOf({ sandbox: { files: 'full' } })['bash']).not.toContain('It can write')
  })

  test('name no path of the root', () => {
    const { root } = makeSandbox()
    for (const text of Object.values(textsOf({}))) expect(text).not.toContain(process.cwd())
    for (const text of Object.values(textsOf({ rootDir: root }))) expect(text).not.toContain(root)
  })

  test('are replaced by a text of the host, or added to', () => {
    const made = textsOf({ descriptions: { read: 'Reads.', bash: (ours) => `${ours} Use pnpm.` } })
    expect(made['read']).toBe('Reads.')
    expect(made['bash']).toMatch(/^Run one program.* Use pnpm\.$/u)
    expect(made['grep']).toMatch(/^Search files/u)
  })

  test.each([
    [{ descriptions: { ls: 'x' } }, /descriptions\.ls is no option/u],
    [{ descriptions: { read: 1 } }, /descriptions\.read must be a text/u],
    [{ descriptions: { read: ' ' } }, /descriptions\.read must be a text/u],
    [{ descriptions: { read: () => undefined } }, /descriptions\.read must be a text/u],
    [{ descriptions: 'x' }, /descriptions must be an object/u],
  ])('%j is refused', (options, message) => {
    expect(() => createTools(options as never)).toThrow(message)
  })

  test('of toolwright/tools are those of the documents', () => {
    expect(tools.read.description).toBe('Read a file')
  })
})

// Each promise of the texts, kept.
describe('what descriptions say is so', () => {
  const call = { toolCallId: 'call' }

  test('read: a file over the limit is refused, and grep, head, tail and sed show parts of it', async () => {
    const fixture = makeSandbox()
    fixture.put('long', 'line\n'.repeat(1_000))
    const { read, grep, bash } = createTools({ rootDir: fixture.root, maxOutputBytes: 1_000 })
    await expect(read.execute({ path: 'long' }, call)).rejects.toMatchObject({ code: 'TOOL_FILE_TOO_LARGE' })
    expect(await grep.execute({ pattern: 'line', path: 'long' }, call)).toContain('long:1:line')
    for (const [cmd, ...args] of [
      ['head', '-n', '1', 'long'],
      ['tail', '-n', '1', 'long'],
      ['sed', '-n', '7p', 'long'],
    ] as const) {
      expect(await bash.execute({ cmd, args }, call)).toBe('line\n')
    }
  })

  test('grep and bash: what is over the limit is cut, of bash in the middle', async () => {
    const fixture = makeSandbox()
    fixture.put('long', Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`).join(''))
    const { grep, bash } = createTools({ rootDir: fixture.root, maxOutputBytes: 4_000 })
    expect((await grep.execute({ pattern: 'line' }, call)).length).toBeLessThanOrEqual(4_000)
    const printed = await bash.execute({ cmd: 'cat', args: ['long'] }, call)
    expect(printed).toMatch(/^line 0\n/u)
    expect(printed).toMatch(/line 999\n$/u)
  })

  test('bash: no shell, and a shell by sh -c; closed stdin; programs in the background stop', async () => {
    const { bash } = createTools({ rootDir: makeSandbox().root })
    expect(await bash.execute({ cmd: 'echo', args: ['$HOME', '|', '*'] }, call)).toBe('$HOME | *\n')
    expect(await bash.execute({ cmd: 'sh', args: ['-c', 'cat; echo a | tr a b; sleep 100 &'] }, call)).toBe('b\n')
  })
})
