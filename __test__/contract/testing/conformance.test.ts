import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { builtInTools, type Envelope, repoOverviewTool } from 'toolwright/contract'
import {
  contractSuite,
  envelopeProblem,
  hostAccessDuring,
  hostAccessIsSeen,
  recordingRuntime,
  type ToolSample,
} from 'toolwright/contract/testing'
import { describe, expect, test } from 'vitest'

const files = { 'a.txt': 'one\ntwo\n' }

/** Arguments under which each tool does what it is for. */
const samples: Record<string, ToolSample[]> = {
  read: [
    { args: { path: 'a.txt' }, runtime: { files } },
    { args: { path: 'a.txt', offset: 1, limit: 2 }, runtime: { files } },
  ],
  write: [{ args: { path: 'b.txt', content: 'b' } }],
  edit: [{ args: { path: 'a.txt', old_string: 'one', new_string: 'two' }, runtime: { files } }],
  glob: [{ args: { pattern: '*' }, runtime: { files } }],
  grep: [{ args: { pattern: 'one' }, runtime: { files } }],
  bash: [{ args: { command: 'ls' }, runtime: { command: { stdout: 'a.txt\n' } } }],
  todo: [{ args: { todos: [{ content: 'a', status: 'pending' }] } }],
  question: [{ args: { questions: [{ question: 'q' }] }, runtime: { answers: [['a']] } }],
  skill: [{ args: { name: 'a-skill' } }],
  tool_search: [{ args: { query: 'issues' } }],
  task: [{ args: { subagent_type: 'helper', prompt: 'p' } }],
  web_fetch: [{ args: { url: 'https://example.com/' }, runtime: { pages: { 'https://example.com/': 'text' } } }],
  web_search: [{ args: { query: 'x', max_results: 1 }, runtime: { results: [{ title: 't', url: 'https://example.com/', snippet: '' }] } }],
}

contractSuite({ describe, test }, { name: 'the built-in tools', tools: builtInTools, samples, builtIn: true })

contractSuite(
  { describe, test },
  {
    name: 'the extension repo_overview',
    tools: [repoOverviewTool],
    samples: {
      repo_overview: [
        { args: {}, runtime: { files } },
        { args: { path: 'src', depth: 1 }, runtime: { files } },
      ],
    },
  },
)

contractSuite(
  { describe, test },
  {
    name: 'tools of a user',
    tools: [
      {
        id: 'count_lines',
        description: 'Count the lines of a file.',
        parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
        requires: { fs: { read: ['{workspace}/**'] } },
        execute: async ({ path }: { path: string }, { fs }) => (await fs.read(path)).content.split('\n').length,
      },
    ],
    samples: { count_lines: [{ args: { path: 'a.txt' }, runtime: { files } }] },
  },
)

describe('the suite itself', () => {
  /** The tests of the suite over tools, by title, with what each of them throws. */
  async function verdicts(tools: object[]): Promise<Map<string, unknown>> {
    const found = new Map<string, unknown>()
    const runs: (() => Promise<void>)[] = []
    const runner = {
      describe: (_name: string, define: () => void) => define(),
      test: (name: string, run: () => Promise<void>) => {
        runs.push(() =>
          run().then(
            () => void found.set(name, undefined),
            (error: unknown) => void found.set(name, error),
          ),
        )
      },
    }
    contractSuite(runner, { name: 'x', tools: tools as typeof builtInTools })
    for (const run of runs) await run()
    return found
  }
  const tool = { id: 'mine', description: 'x', parameters: { type: 'object' }, requires: {}, execute: () => 1 }

  test.skipIf(process.versions.bun !== undefined)('R3 R67c a tool that reaches past its runtime is found', async () => {
    const reaching = { ...tool, id: 'reaches', execute: () => readFileSync('/etc/hostname', 'utf8') }
    const found = await verdicts([reaching])
    expect(String(found.get('reaches reaches the host through its runtime alone'))).toMatch(/node:fs readFileSync/u)
    expect(await hostAccessDuring(async () => void (await fetch('data:,x')))).toContain('fetch')
    expect(await hostAccessDuring(async () => undefined)).toEqual([])
  })

  test('R3 R67c where the runtime does not show what a tool imports, the suite says that it has not looked', async () => {
    const title = 'mine reaches the host through its runtime alone'
    const seen = hostAccessIsSeen()
    expect(seen).toBe(process.versions.bun === undefined)
    const titles = [...(await verdicts([tool])).keys()].filter((name) => name.startsWith(title))
    expect(titles).toEqual([seen ? title : expect.stringMatching(/not checked here: .*run the suite in Node/u)])
    const skipped: string[] = []
    const run = Object.assign(() => undefined, { skip: (name: string) => void skipped.push(name) })
    contractSuite(
      { describe: (_name, define) => define(), test: run },
      { name: 'x', tools: [tool as unknown as (typeof builtInTools)[number]] },
    )
    expect(skipped).toHaveLength(seen ? 0 : 1)
  })

  test('a tool that lacks a field, or whose schema is none, is found', async () => {
    const found = await verdicts([{ ...tool, id: 'bare', description: '' }])
    expect(found.get('bare publishes its five fields, and a schema that means something')).toBeInstanceOf(Error)
  })

  test('R17 what is no envelope is told', () => {
    const metadata = { duration_ms: 1, code: 'ok' }
    const good: Envelope = { type: 'output', data: 1, metadata: { duration_ms: 1, code: 'ok' } }
    expect(envelopeProblem(good)).toBeUndefined()
    for (const bad of [
      null,
      {},
      { type: 'output', metadata },
      { type: 'output', data: 1, error_text: 'x', metadata },
      { type: 'error', error_text: '', metadata: { duration_ms: 1, code: 'tool_failed' } },
      { type: 'error', error_text: 'x', metadata },
      { type: 'output', data: 1, metadata: { duration_ms: 1.5, code: 'ok' } },
      { type: 'output', data: 1, metadata: { code: 'ok' } },
      { type: 'output', data: 1, metadata: { ...metadata, truncated: true } },
      { type: 'output', data: 1, metadata, extra: 1 },
      { type: 'output', data: { a: undefined, b: new Date(0) }, metadata: { duration_ms: -1, code: 'ok' } },
    ]) {
      expect(envelopeProblem(bad), JSON.stringify(bad)).toBeTypeOf('string')
    }
  })
})

describe('the typed runtime', () => {
  test.each(builtInTools.map((tool) => [tool.id, tool] as const))(
    'R3 %s uses the part of the runtime that it requires, and no other',
    async (id, tool) => {
      const uses: string[] = []
      for (const { args, runtime: options } of samples[id] ?? []) {
        const recorded = recordingRuntime(options)
        await tool.execute(args, recorded.runtime)
        uses.push(...recorded.uses.map(({ operation }) => operation))
      }
      const allowed: Record<string, string[]> = {
        read: ['fs.read'],
        write: ['fs.write'],
        edit: ['fs.replace'],
        glob: ['fs.glob'],
        grep: ['fs.grep'],
        bash: ['shell.run'],
        todo: ['session.todos'],
        question: ['session.ask'],
        skill: ['session.skill'],
        tool_search: ['session.searchTools'],
        task: ['session.task'],
        web_fetch: ['net.fetchPage'],
        web_search: ['net.search'],
      }
      expect([...new Set(uses)]).toEqual(allowed[id])
    },
  )

  test.skipIf(process.versions.bun !== undefined)(
    'R3 R67c every built-in tool works in a process that may neither write, spawn nor load addons',
    () => {
      const script = `
      const { builtInTools } = await import('toolwright/contract')
      const { recordingRuntime } = await import('toolwright/contract/testing')
      const samples = ${JSON.stringify(samples)}
      for (const tool of builtInTools) {
        for (const { args, runtime } of samples[tool.id]) await tool.execute(args, recordingRuntime(runtime).runtime)
      }
      try { (await import('node:fs')).writeFileSync('probe', ''); console.log('open') } catch { console.log('done') }
    `
      const node = ['--permission', `--allow-fs-read=${process.cwd()}`, '--input-type=module', '-e', script]
      expect(execFileSync(process.execPath, node, { encoding: 'utf8' }).trim()).toBe('done')
    },
  )
})
