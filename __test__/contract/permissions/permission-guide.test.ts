// What docs/contract.md says of patterns, sentence by sentence.
import { readFileSync } from 'node:fs'
import { compileManifest, evaluatePermission, type PermissionAction, type Rule, type Subject } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, openScene, openSession, rule, testTool } from '../scene.ts'

const guide = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8')
const W = '/srv/app'

const decided = async (text: string, subject: Subject, tool = 'write'): Promise<PermissionAction> =>
  (await evaluatePermission([rule(text)], [subject], { tool, workspace: [W, '/srv/lib'] })).action

const onPath = (path: string): Subject => ({ capability: 'fs.write', kind: 'path', resource: path })
const onCommand = (line: string): Subject => ({ capability: 'shell.run', kind: 'command', resource: line })
const onHost = (host: string): Subject => ({ capability: 'net.fetch', kind: 'host', resource: host })
const onText = (capability: string, text: string): Subject => ({ capability, kind: 'text', resource: text })

describe('what a pattern is compared with', () => {
  test.each<[string, string, boolean]>([
    ['src/**', `${W}/src`, true],
    ['src/**', `${W}/src/deep/a.ts`, true],
    ['src/**', '/srv/lib/src/a.ts', true],
    ['src/*', `${W}/src/deep/a.ts`, false],
    ['*.lock', `${W}/yarn.lock`, true],
    ['*.lock', `${W}/a/yarn.lock`, false],
    ['**/*.lock', `${W}/a/b/yarn.lock`, true],
    ['{a,b}/?.ts', `${W}/b/x.ts`, true],
    ['[a-c].ts', `${W}/b.ts`, true],
    ['\\*.ts', `${W}/b.ts`, false],
    ['{ad-hoc}/**', `${W}/a`, false],
    ['src', `${W}/src/a.ts`, false],
    ['*', '/anywhere/else', true],
    ['**', '/anywhere/else', true],
  ])('R36 a path: %s on %s: %s', async (pattern, path, fits) => {
    expect(await decided(`fs.write ${pattern} allow`, onPath(path))).toBe(fits ? 'allow' : 'ask')
  })

  test.each<[string, string, boolean]>([
    ['git status*', 'git status -s src/a.ts', true],
    ['git status*', 'git   status', true],
    ['git status', 'git status -s', false],
    ['npm run *', 'npm run a/b c', true],
    ['cat ?', 'cat é', true],
    ['cat [ab]', 'cat a', false],
    ['cat {a,b}', 'cat a', false],
    ['*', 'x > y', true],
    ['**', 'x > y', true],
    ['x*', 'x > y', false],
  ])('R40 a command: %s on %s: %s', async (pattern, line, fits) => {
    expect(await decided(`shell.run ${pattern} allow`, onCommand(line), 'bash')).toBe(fits ? 'allow' : 'ask')
  })

  test.each<[string, string, boolean]>([
    ['*.example.com', 'a.b.example.com:443', true],
    ['*.example.com', 'example.com:443', false],
    ['api*', 'api.example.com:443', true],
    ['10.0.0.*:8080', '10.0.0.7:8080', true],
    ['10.0.0.*:8080', '10.0.0.7:80', false],
    ['*', '10.0.0.7:80', true],
  ])('R36 a host: %s on %s: %s', async (pattern, host, fits) => {
    expect(await decided(`net.fetch ${pattern} allow`, onHost(host), 'web_fetch')).toBe(fits ? 'allow' : 'ask')
  })

  test('R36 R62 something by name, and nothing', async () => {
    expect(await decided('* mcp:tracker:get_* allow', onText('mcp:tracker', 'mcp:tracker:get_issue'), 'tracker_get_issue')).toBe('allow')
    expect(await decided('* mcp:tracker:get_* allow', onText('mcp:tracker', 'mcp:tracker:close'), 'tracker_close')).toBe('ask')
    for (const [pattern, action] of [
      ['*', 'deny'],
      ['**', 'deny'],
      ['', 'deny'],
      ['x*', 'ask'],
    ] as const) {
      const rules: Rule[] = [{ permission: 'todo', pattern, action: 'deny' }]
      expect((await evaluatePermission(rules, [onText('todo', '')], { tool: 'todo' })).action, pattern).toBe(action)
    }
    const { call } = await openScene(manifest([rule('todo * deny'), rule('question x deny')]))
    expect(failureOf(await call('todo', { todos: [] })).code).toBe('permission_denied')
    expect(failureOf(await call('question', { questions: [{ question: 'q' }] })).code).toBe('question_unavailable')
  })

  test('R36 a rule for `*` is compared with each kind in its own way', async () => {
    expect(await decided('* src/** deny', onPath(`${W}/src/a`))).toBe('deny')
    expect(await decided('* src/** deny', onCommand('cat src/a'), 'bash')).toBe('ask')
  })

  test('R29 a rule on a path says nothing of bash; capabilities and sandbox.denyWrite do', async () => {
    const rules = [...allowAll, rule('fs.write **/*.lock deny')]
    const { call, text } = await openScene(manifest(rules))
    expect(failureOf(await call('write', { path: 'yarn.lock', content: 'x' })).code).toBe('permission_denied')
    expect(dataOf(await call('bash', { command: 'echo x > yarn.lock' })).exit_code).toBe(0)
    expect(text('yarn.lock')).toBe('x\n')
    const closed = await openScene({ ...manifest(rules), sandbox: { denyWrite: ['yarn.lock'] } })
    closed.put('yarn.lock', 'kept')
    expect(dataOf(await closed.call('bash', { command: 'echo x > yarn.lock' })).exit_code).not.toBe(0)
    expect(closed.text('yarn.lock')).toBe('kept')
  })

  test('R27 the patterns of searches match at every depth without a slash, and from the directory on with one', async () => {
    const { call, put, session } = await openScene()
    for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.ts']) put(path, 'x')
    const found = async (pattern: string): Promise<string[]> => dataOf(await call('glob', { pattern })).entries
    expect(await found('*.ts')).toEqual(['a.ts', 'src/b.ts', 'src/deep/c.ts'])
    expect(await found('src/*.ts')).toEqual(['src/b.ts'])
    const matches = async (glob: string): Promise<string[]> =>
      dataOf(await call('grep', { pattern: 'x', glob })).matches.map(({ path }: { path: string }) => path)
    expect(await matches('*.ts')).toHaveLength(3)
    expect(await matches('src/*.ts')).toEqual(['src/b.ts'])
    // And the model is told.
    const told = (id: string): string => JSON.stringify(session.registered.find((tool) => tool.id === id)?.parameters)
    for (const id of ['glob', 'grep']) expect(told(id)).toContain('at any depth')
  })
})

describe('asking without a session', () => {
  test('the guide’s example of evaluatePermission allows', async () => {
    const [, code = ''] = /```js\n(const \{ action, decisive \} = await evaluatePermission[^`]*)```/u.exec(guide) ?? []
    const run = new Function('evaluatePermission', `return (async () => { ${code}; return { action, decisive } })()`) as (
      ask: typeof evaluatePermission,
    ) => Promise<unknown>
    expect(await run(evaluatePermission)).toMatchObject({
      action: 'allow',
      decisive: { rule: { pattern: 'src/**' }, resource: '/srv/app/src/a.ts' },
    })
  })

  test('compileManifest gives roots, requirements and rules, for directories that need not exist', async () => {
    const permissions = [rule('read ** allow')]
    const compiled = await compileManifest(
      { name: 'x', permissions, requires: { fs: { read: ['{user-data}/**'] } } },
      { workspace: [W], adHoc: [], userData: '/srv/data' },
    )
    expect(compiled).toMatchObject({
      name: 'x',
      workspace: [W],
      requires: { fs: { read: ['/srv/data/**'] } },
      permissions: [{ source: 'manifest', action: 'allow' }],
    })
  })
})

describe('what else the guide says', () => {
  test('R10 effective is the list of the sets that all have to allow', async () => {
    const { session } = await openScene({ ceiling: { fs: { read: ['**'] } } })
    expect(session.requirements.effective).toHaveLength(2)
    expect(session.requirements.effective[0]).toMatchObject({
      fs: { read: [`${session.requirements.effective[0]?.fs?.read?.[0]}`], write: [] },
    })
  })

  test('R29 with a ceiling that grants no files commands run in /, and one that fails is told so', async () => {
    const { call } = await openScene({ ceiling: { shell: [{ cmd: '*' }] } })
    expect(dataOf(await call('bash', { command: 'pwd' })).stdout).toBe('/\n')
    const failed = await call('bash', { command: 'cat a.txt' })
    expect(dataOf(failed).exit_code).not.toBe(0)
    expect(failed.metadata.notes).toContain('No directory is granted to commands here, so this one ran in /.')
  })

  test('a rule about one kind of subject does not stand in the way of a tool’s own targets', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'a')
    const tool = testTool('look', async (_args, { fs }) => (await fs.read('a.txt')).content, {
      requires: { fs: { read: ['**'] } },
      targets: () => [{ kind: 'file', path: 'a.txt', access: 'read' }],
    })
    const session = await openSession(fixture, { tools: [tool], ...manifest([rule('look *.txt allow')]) })
    expect(dataOf(await session.call('look', {}))).toBe('a')
  })
})
