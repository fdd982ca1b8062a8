import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { type MemoryCommand, providerExecutors } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

/** The SDK's own memory, with its errors as texts. */
async function referenceMemory() {
  const base = mkdtempSync(join(tmpdir(), 'toolwright-memory-'))
  const tool = await BetaLocalFilesystemMemoryTool.init(base)
  const run = async (input: MemoryCommand): Promise<string> => {
    const method = tool[input.command] as (input: MemoryCommand) => Promise<string>
    return method.call(tool, input).catch((error: Error) => `Error: ${error.message}`)
  }
  return { run, directory: join(base, 'memories') }
}

function ownMemory() {
  const fixture = makeSandbox()
  const directory = fixture.at('notes')
  const { anthropic } = providerExecutors({ rootDir: fixture.root, memoryDir: directory })
  const run = async (input: MemoryCommand): Promise<string> => anthropic.memory(input).catch((error: Error) => `Error: ${error.message}`)
  return { run, directory }
}

/** The size of a directory depends on the file system. */
const withoutDirectorySizes = (text: string): string => text.replaceAll(/^[\d.]+[BKMG]\t(.*\/|\/memories)$/gmu, 'DIR\t$1')

const view = (path: string, range?: [number, number]): MemoryCommand => ({ command: 'view', path, ...(range && { view_range: range }) })
const create = (path: string, text: string): MemoryCommand => ({ command: 'create', path, file_text: text })
const replace = (path: string, old: string, by: string): MemoryCommand => ({ command: 'str_replace', path, old_str: old, new_str: by })
const insert = (path: string, line: number, text: string): MemoryCommand => ({
  command: 'insert',
  path,
  insert_line: line,
  insert_text: text,
})
const remove = (path: string): MemoryCommand => ({ command: 'delete', path })
const rename = (from: string, to: string): MemoryCommand => ({ command: 'rename', old_path: from, new_path: to })

const script: MemoryCommand[] = [
  view('/memories'),
  view('/memories/'),
  view('/memories/none.txt'),
  create('/memories/notes.txt', 'one\ntwo\nthree\nfour\nfive\nsix\n'),
  create('/memories/notes.txt', 'again'),
  create('/memories/projects/a/plan.md', '# Plan\n'),
  create('/memories/projects/empty.md', ''),
  create('/memories/.hidden', 'x'),
  create('/memories/node_modules/x.js', 'x'),
  create('/memories/kilo.bin.txt', 'x'.repeat(1536)),
  create('/memories/Zwei.txt', 'Ä'),
  view('/memories'),
  view('/memories/projects'),
  view('/memories/notes.txt'),
  view('/memories/notes.txt', [2, 3]),
  view('/memories/notes.txt', [5, -1]),
  view('/memories/notes.txt', [0, 1]),
  view('/memories/notes.txt', [50, 60]),
  view('/memories/projects/empty.md'),
  replace('/memories/notes.txt', 'three', 'THREE\nand a half'),
  replace('/memories/notes.txt', 'absent', 'x'),
  replace('/memories/notes.txt', 'e', 'x'),
  replace('/memories/none.txt', 'a', 'b'),
  replace('/memories/projects', 'a', 'b'),
  replace('/memories/notes.txt', 'six', '$& $1'),
  insert('/memories/notes.txt', 0, 'zero\n'),
  insert('/memories/notes.txt', 2, 'between'),
  insert('/memories/notes.txt', 99, 'x'),
  insert('/memories/notes.txt', -1, 'x'),
  insert('/memories/none.txt', 0, 'x'),
  insert('/memories/projects', 0, 'x'),
  view('/memories/notes.txt'),
  rename('/memories/notes.txt', '/memories/archive/2026/notes.txt'),
  rename('/memories/none.txt', '/memories/x.txt'),
  rename('/memories/kilo.bin.txt', '/memories/Zwei.txt'),
  rename('/memories', '/memories/x'),
  rename('/memories/projects', '/memories/work'),
  remove('/memories/none.txt'),
  remove('/memories'),
  remove('/memories/Zwei.txt'),
  remove('/memories/work'),
  view('/memories'),
  view('/elsewhere/x'),
  view('/memories/../x'),
  create('/memories/a/../../x', 'x'),
  remove('/memories/../../x'),
]

describe('memory', () => {
  test(`R9: answers ${script.length} commands as the SDK's own memory does`, async () => {
    const [reference, own] = [await referenceMemory(), ownMemory()]
    const answers: string[] = []
    for (const input of script) {
      const expected = withoutDirectorySizes(await reference.run(input))
      const got = withoutDirectorySizes(await own.run(input))
      expect(got, JSON.stringify(input)).toBe(expected)
      answers.push(`${JSON.stringify(input)}\n${got}`)
    }
    expect(answers.join('\n\n')).toMatchSnapshot()
  })

  test('replaces a text of several lines, which the reference does not find, and refuses two in one line', async () => {
    const { run } = ownMemory()
    await run(create('/memories/a.txt', 'one\ntwo\ntwo two\n'))
    expect(await run(replace('/memories/a.txt', 'one\ntwo\n', '1\n2\n'))).toContain('has been edited')
    expect(await run(replace('/memories/a.txt', 'two', 'x'))).toMatchInlineSnapshot(
      `"Error: No replacement was performed. Multiple occurrences of old_str \`two\` in lines: 3. Please ensure it is unique"`,
    )
    expect(await run(view('/memories/a.txt'))).toContain('     2\t2\n     3\ttwo two')
  })

  test('shows links that stay inside, and refuses those that lead out', async () => {
    const { run, directory } = ownMemory()
    const outside = mkdtempSync(join(tmpdir(), 'toolwright-outside-'))
    writeFileSync(join(outside, 'secret'), 'secret')
    mkdirSync(join(directory, 'd'))
    writeFileSync(join(directory, 'd/in.txt'), 'inside')
    symlinkSync('d/in.txt', join(directory, 'link'))
    symlinkSync(outside, join(directory, 'out'))
    const listing = await run(view('/memories'))
    expect(listing).toContain('/memories/link')
    expect(listing).not.toContain('out')
    const refused = 'Error: Path would escape /memories directory via symlink'
    for (const input of [
      view('/memories/out/secret'),
      create('/memories/out/new', 'x'),
      replace('/memories/out/secret', 'secret', 'x'),
      insert('/memories/out/secret', 0, 'x'),
      remove('/memories/out/secret'),
      rename('/memories/out/secret', '/memories/mine'),
      rename('/memories/link', '/memories/out/link'),
    ]) {
      expect(await run(input), JSON.stringify(input)).toBe(refused)
    }
    // The link itself may go; what it leads to stays.
    expect(await run(remove('/memories/out'))).toBe('Successfully deleted /memories/out')
  })

  test('is absent without a directory', () => {
    expect(providerExecutors({ rootDir: makeSandbox().root }).anthropic.memory).toBeUndefined()
  })
})
