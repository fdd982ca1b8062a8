// Every command of the program, with names and texts that a terminal would obey: none of them is printed as it is.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { openCheckpoints } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { indentedJson, printable, printableJson } from '../../ts/core/printable.ts'
import { joined, painted, shown, shownJson, shownLines, TerminalText } from '../../ts/core/terminal.ts'
import { writeRun } from '../report/recorded-run.ts'
import { seed } from '../support/randomised.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** What no output may have, besides the ends of its lines: control characters, marks, halves, and what no font shows. */
const OBEYED = /[^\P{C}\n]|[\p{Zl}\p{Zp}\u{34f}\u{115f}\u{1160}\u{3164}\u{ffa0}]/u
/** The clipboard, the title, a clearing of the screen, a C1 introducer, a change of direction, a separator of lines, a tag. */
const HOSTILE =
  '\u001b]52;c;aGk=\u0007\u001b]0;t\u001b\\\u001b[2J\u009b31m\u0090x\u009c\u007f\u0085\u202e\u2066\u200f\u2028\u2029\ufeff\u00ad\u{e0041}\u3164\r\t\b'
const NAMES = [HOSTILE, '\u001b[8m', '\u009b2J', '\u202e', 'two\nlines', '\u2028']
const SOME = NAMES.slice(0, 1)

async function expectSafe(args: string[], cwd?: string): Promise<string> {
  const { code, signal, stdout, stderr } = await runCli(args, cwd === undefined ? {} : { cwd })
  for (const text of [stdout, stderr])
    expect([args, OBEYED.exec(text)?.[0], text.slice(0, 200)]).toEqual([args, undefined, expect.any(String)])
  expect([args, signal, stderr.includes('unexpected failure')]).toEqual([args, null, false])
  expect(code).not.toBeNull()
  return stdout + stderr
}

describe('no command prints a name that a terminal obeys', () => {
  test('audit', async () => {
    const { root } = makeSandbox()
    for (const [index, name] of NAMES.entries()) {
      mkdirSync(join(root, name, '.vscode'), { recursive: true })
      for (const file of ['Makefile', '.vscode/tasks.json', 'package.json']) writeFileSync(join(root, name, file), String(index))
    }
    expect(await expectSafe(['audit', root])).toContain(String.raw`\u001b]52;c;aGk=\u0007`)
    await expectSafe(['audit', root, '--json'])
    for (const name of SOME) {
      await expectSafe(['audit', join(root, name, 'nowhere')])
      await expectSafe(['audit', root, '--since', name])
      await expectSafe(['audit', root, '--journal', name])
    }
  })

  test('checkpoints', { timeout: 60_000 }, async () => {
    const { root, outside } = makeSandbox()
    writeFileSync(join(root, 'a'), '1')
    const store = await openCheckpoints(root, { store: `${outside}/store` })
    const first = await store.checkpoint({ label: HOSTILE })
    for (const name of NAMES) {
      mkdirSync(join(root, `d${name}`))
      writeFileSync(join(root, `d${name}`, name.replaceAll('/', '')), `${name}\n`)
    }
    const second = await store.checkpoint({ label: 'two\u001b[2Jlines' })
    await store.close()
    const at = ['--dir', root, '--store', `${outside}/store`]
    const ids = [first, second].map(({ id }) => String(id)) as [string, string]
    for (const json of [[], ['--json']]) {
      expect(await expectSafe(['checkpoints', 'list', ...at, ...json])).toContain(String.raw`\u001b]52`)
      expect(await expectSafe(['checkpoints', 'diff', ...ids, '--names', ...at, ...json])).toContain(String.raw`\u001b`)
      await expectSafe(['checkpoints', 'restore', ids[0], '--dry-run', ...at, ...json])
    }
    // The text of a diff may have tabs.
    const { stdout } = await runCli(['checkpoints', 'diff', ...ids, ...at])
    expect(OBEYED.exec(stdout.replaceAll('\t', ''))?.[0]).toBeUndefined()
    expect(stdout).toContain(String.raw`\u001b]52`)
    for (const name of SOME) {
      await expectSafe(['checkpoints', name, ...at])
      await expectSafe(['checkpoints', 'restore', ids[0], name, ...at])
      await expectSafe(['checkpoints', 'restore', name, ...at])
      await expectSafe(['checkpoints', 'restore', '--call', name, ...at])
      await expectSafe(['checkpoints', 'list', '--dir', join(root, name)])
      await expectSafe(['checkpoints', 'gc', '--max-bytes', name, ...at])
    }
    await expectSafe(['checkpoints', 'restore', ids[0], ...at])
    await expectSafe(['checkpoints', 'gc', '--keep', '1', ...at])
  })

  test('calls, report and view', { timeout: 60_000 }, async () => {
    const { root } = makeSandbox()
    const folder = join(root, HOSTILE)
    mkdirSync(folder)
    const path = join(folder, `${HOSTILE}.db`)
    await writeRun(path, { calls: 60 })
    for (const command of [
      ['calls', path],
      ['calls', path, '--json'],
      ['calls', path, '--run', HOSTILE],
      ['calls', path, '--otlp', HOSTILE],
      ['calls', path, '--otlp', 'http://127.0.0.1:9/'],
      ['report', path],
      ['report', path, '--json'],
      ['report', path, '-o', join(root, `${HOSTILE}.html`)],
      ['report', path, '-o', join(root, HOSTILE, 'no', 'where')],
      ['view', path, '--port', HOSTILE],
    ])
      await expectSafe(command, root)
    // The page has tabs of its own.
    expect(OBEYED.exec((await runCli(['report', path, '-o', '-'])).stdout.replaceAll('\t', ''))?.[0]).toBeUndefined()
    for (const name of SOME)
      for (const command of ['calls', 'report', 'view']) {
        await expectSafe([command, name], root)
        await expectSafe([command, path, `--${name}`], root)
      }
    const { child, written, ended } = startCli(['view', path])
    await expect.poll(() => written.stdout, { timeout: 10_000 }).toMatch(/^http/u)
    child.kill('SIGTERM')
    await ended
    expect(OBEYED.exec(written.stdout + written.stderr)).toBeNull()
  })

  test('doctor, journal, mcp and unknown commands', { timeout: 60_000 }, async () => {
    const { root, put } = makeSandbox()
    const servers = put('servers.json', JSON.stringify({ mcpServers: { [HOSTILE]: { command: HOSTILE, args: [HOSTILE] } } }))
    const broken = put('broken.json', `{"${HOSTILE}`)
    await expectSafe(['doctor', '--root', root, '--mcp', servers])
    await expectSafe(['doctor', '--root', root, '--mcp', servers, '--json'])
    await expectSafe(['doctor', '--root', root, '--mcp', broken])
    for (const name of SOME) {
      for (const args of [
        ['doctor', '--root', name],
        ['doctor', '--mcp', name],
        ['journal', name],
        ['journal', 'prune', name],
        ['journal', 'prune', `postgres://x@127.0.0.1:9/${name}`, '--before', name],
        ['journal', 'migrate', '--print', '--schema', name],
        ['journal', 'migrate', '--partition', name],
        ['mcp', '--root', name],
        ['mcp', '--root', root, '--tools', name],
        ['mcp', '--root', root, '--allow', `:${name}`],
        ['mcp', '--root', root, '--http', name],
        ['mcp', '--root', root, '--journal', name],
        [name],
        [name, '--help'],
        ['help', name],
        [`--${name}`],
      ])
        await expectSafe(args, root)
    }
  })
})

describe('a text for a terminal', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.integer({ min: 0, max: 0x3ff }).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.integer({ min: 0x2000, max: 0x206f }).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)) }),
  )

  test('of any text is on one line, and has nothing that acts', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        for (const text of [
          printable(one),
          printableJson({ [one]: other }),
          String(shown`${one} ${other}`),
          String(shownJson(one)),
          String(joined([one, other])),
        ]) {
          expect(OBEYED.test(text) || text.includes('\n')).toBe(false)
        }
        expect(OBEYED.test(String(shownLines(one)).replaceAll('\t', ''))).toBe(false)
        expect(JSON.parse(printableJson({ [one]: other }))).toEqual(JSON.parse(JSON.stringify({ [one]: other })))
        expect(JSON.parse(indentedJson({ [one]: other }))).toEqual(JSON.parse(JSON.stringify({ [one]: other })))
      }),
      { seed, numRuns: 2_000 },
    )
  })

  test('keeps what is made of others, in its colour, and is made in one place alone', () => {
    expect(String(shown`a ${shown`b\n`}${painted('red', 'c\u001b')}`)).toBe('a b\n\u001b[31mc\\u001b\u001b[39m')
    expect(String(shown`größe 漢字 😀 ❤️`)).toBe('größe 漢字 😀 ❤️')
    expect(() => new TerminalText('x', Symbol('mine') as never)).toThrow(TypeError)
  })
})
