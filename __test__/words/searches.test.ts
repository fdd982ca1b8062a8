// What searches have left out, at both doors: the same files, and the same sentence, whose next move works.
import { asSchema } from 'ai'
import { createTools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'
import { dataOf, openSession } from '../contract/scene.ts'

function repository(): Sandbox {
  const fixture = makeSandbox()
  const files = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/objects/x': '',
    '.git/refs/x': '',
    '.gitignore': 'dist/\n*.log\nout/*\n',
    '.github/workflows/ci.yml': 'on: push\n',
    'dist/o.md': 'ignored\n',
    'out/p.md': 'ignored\n',
    'a.log': 'ignored\n',
    'src/app.ts': 'main\nhelper\n',
    'app/[slug]/page.tsx': 'page\n',
    '{x}.md': 'x\n',
  }
  for (const [path, text] of Object.entries(files)) fixture.put(path, text)
  return fixture
}

interface Answer {
  paths: string[]
  notes: string
}

/** Both doors over one directory. */
async function doors(fixture = repository()) {
  const tools = createTools({ rootDir: fixture.root })
  const session = await openSession(fixture)
  let calls = 0
  const reads = async (name: 'grep' | 'glob', args: { pattern: string; path?: string }): Promise<string> => {
    const toolCallId = `call${(calls += 1)}`
    const output = await tools[name].execute(args, { toolCallId })
    const text = tools[name].toModelOutput?.({ toolCallId, input: args, output } as never) as { value: string }
    return text.value
  }
  return {
    fixture,
    tools,
    session,
    reads,
    async glob(args: { pattern: string; path?: string }): Promise<Answer> {
      const lines = (await reads('glob', args)).split('\n').filter((line) => line !== '')
      const isNote = (line: string): boolean => line.startsWith('(')
      const envelope = await session.call('glob', args)
      const { entries } = dataOf(envelope)
      expect(lines.filter((line) => !isNote(line))).toEqual(entries)
      const notes = (envelope.metadata.notes ?? []).join(' ')
      expect(plain(lines.filter(isNote).join(' '))).toBe(plain(notes))
      return { paths: entries, notes }
    },
    async grep(args: { pattern: string; path?: string }): Promise<Answer> {
      const lines = (await reads('grep', args)).split('\n').filter((line) => line !== '')
      const isNote = (line: string): boolean => line.startsWith('(')
      const envelope = await session.call('grep', args)
      const { matches } = dataOf(envelope) as { matches: { path: string; line: number; text: string }[] }
      expect(lines.filter((line) => !isNote(line))).toEqual(matches.map(({ path, line, text }) => `${path}:${line}:${text}`))
      const notes = (envelope.metadata.notes ?? []).join(' ')
      expect(plain(lines.filter(isNote).join(' '))).toBe(plain(notes))
      return { paths: matches.map(({ path }) => path), notes }
    },
  }
}

/** A sentence without what its door puts around it. */
const plain = (text: string): string => text.toLowerCase().replace(/^\(|\)$|\.$/gu, '')

describe('glob', () => {
  test.each(['*', '**', '**/*', './*'])('%s obeys the ignore files', async (pattern) => {
    const { glob } = await doors()
    const expected = pattern === './*' ? ['{x}.md'] : ['app/[slug]/page.tsx', 'src/app.ts', '{x}.md']
    expect((await glob({ pattern })).paths).toEqual(expected)
  })

  test.each(['app/[slug]/page.tsx', 'app/[slug]/*', '{x}.md', 'dist/o.md', 'a.log', '.github/workflows/ci.yml'])(
    '%s is found by its name',
    async (pattern) => {
      const { glob } = await doors()
      expect((await glob({ pattern })).paths).toHaveLength(1)
    },
  )

  test.each([
    ['dist/**', { pattern: '**', path: 'dist' }],
    ['.github/**', { pattern: '**', path: '.github' }],
    ['out/*.md', { pattern: 'out/p.md' }],
    ['*.log', { pattern: 'a.log' }],
    ['app', { pattern: 'app/**' }],
    ['page', { pattern: '*page*' }],
    ['.*\\.ts$', { pattern: '*.ts' }],
    ['SRC/app.ts', { pattern: 'src/app.ts' }],
  ])('%s finds nothing, and says what does', async (pattern, move) => {
    const { glob } = await doors()
    const { paths, notes } = await glob({ pattern })
    expect(paths).toEqual([])
    expect(notes).toContain(`\`${'path' in move ? move.path : move.pattern}\``)
    expect((await glob(move)).paths.length).toBeGreaterThan(0)
  })

  test('.git is shown by no pattern and no path', async () => {
    const { glob, grep } = await doors()
    for (const args of [
      { pattern: '.git/**' },
      { pattern: '**/.git/*' },
      { pattern: '.git/HEAD' },
      { pattern: 'HEAD' },
      { pattern: '**', path: '.git' },
    ])
      expect((await glob(args)).paths).toEqual([])
    for (const path of ['.git', '.git/HEAD']) expect((await grep({ pattern: 'refs', path })).paths).toEqual([])
  })
})

describe('grep', () => {
  test.each([
    ['ignored', undefined, /not searched: .*`a\.log` \(ignored\).*give one of them as `path`/u],
    ['main\\|helper', undefined, /search for `main\|helper`/u],
    ['-i MAIN', undefined, /takes no flags/u],
    ['nothing', 'src', /No matches in 1 file; /u],
  ])('%s is not found, and says what was not searched', async (pattern, path, says) => {
    const { grep } = await doors()
    const { paths, notes } = await grep({ pattern, ...(path !== undefined && { path }) })
    expect([paths, notes]).toEqual([[], expect.stringMatching(says)])
  })

  test('a long line is a window around its match, with the column, and hides no other match', async () => {
    const { fixture, reads, session } = await doors()
    fixture.put('lib/app.min.js', `${'é'.repeat(2_500)}NEEDLE${'y'.repeat(250_000)}NEEDLE\n`)
    fixture.put('src/z.ts', 'const NEEDLE = 1\n')
    const text = await reads('grep', { pattern: 'NEEDLE' })
    expect(text.length).toBeLessThan(800)
    expect(text).toMatch(
      /^lib\/app\.min\.js:1:…é+NEEDLEy+… \[column 5001 of 255012; the line matches 2 times\]\nsrc\/z\.ts:1:const NEEDLE = 1\n$/u,
    )
    const envelope = await session.call('grep', { pattern: 'NEEDLE' })
    const [first, second] = dataOf(envelope).matches as { text: string; column?: number }[]
    expect(first).toMatchObject({ column: 5_001, text: expect.stringContaining('NEEDLE') })
    expect(first?.text.length).toBeLessThan(600)
    expect(second).not.toHaveProperty('column')
    expect(envelope.metadata.notes?.join()).toMatch(/`column`/u)
  })

  test('of createTools has context, counts, files and several lines', async () => {
    const { tools } = await doors()
    const { grep } = tools
    expect(await grep.execute({ pattern: 'helper', context: 1 })).toBe('src/app.ts-1-main\nsrc/app.ts:2:helper\n')
    expect(await grep.execute({ pattern: 'main|page|helper', count: true })).toBe('app/[slug]/page.tsx:1\nsrc/app.ts:2\n')
    expect(await grep.execute({ pattern: 'main|page|helper', files: true })).toBe('app/[slug]/page.tsx\nsrc/app.ts\n')
    expect(await grep.execute({ pattern: 'main\\nhelper', multiline: true })).toBe('src/app.ts:1:main\nsrc/app.ts:2:helper\n')
    expect(await grep.execute({ pattern: 'main', context: 0, count: false, files: false, multiline: false })).toBe('src/app.ts:1:main\n')
    await expect(grep.execute({ pattern: 'x', context: -1 })).rejects.toThrow(/context must be a whole number/u)
    const { properties } = (await asSchema(grep.inputSchema).jsonSchema) as { properties: object }
    expect(Object.keys(properties)).toEqual(['pattern', 'path', 'context', 'count', 'files', 'multiline'])
  })
})

describe('a directory that is no repository', () => {
  test('is searched the same before a command, while it runs, and after it', async () => {
    const fixture = makeSandbox()
    fixture.put('.gitignore', 'dist/\n')
    fixture.put('dist/o.js', 'needle\n')
    const tools = createTools({ rootDir: fixture.root })
    const found = () => tools.grep.execute({ pattern: 'needle' })
    const before = await found()
    expect(before).toBe('dist/o.js:1:needle\n')
    const running = tools.bash.execute({ cmd: 'sleep', args: ['0.3'] })
    expect(await found()).toBe(before)
    await running
    expect(await found()).toBe(before)
  })
})
