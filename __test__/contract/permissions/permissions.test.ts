import { symlinkSync } from 'node:fs'
import type { PromptRequest, Rule } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { allowAll, dataOf, failureOf, manifest, noRules, openScene, rule, testTool } from '../scene.ts'

type Answer = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'

async function prompted(answers: (Answer | object)[], options: object = {}) {
  const asked: PromptRequest[] = []
  const kept: Rule[] = []
  const scene = await openScene({
    ...noRules,
    host: {
      prompt: (request) => {
        asked.push(request)
        return (answers.shift() ?? 'reject_once') as Answer
      },
    },
    onRule: (stored) => kept.push(stored),
    ...options,
  })
  scene.put('a.txt', 'a')
  scene.put('b.txt', 'b')
  return { ...scene, asked, kept, read: (path: string) => scene.call('read', { path }) }
}

describe('permissions of a session', () => {
  test('R38.6 R39.7 without a rule a call is asked for; a tool that touches nothing is not', async () => {
    const { read, asked, call } = await prompted(['allow_once'], { tools: [testTool('free', () => 1)] })
    expect(dataOf(await read('a.txt'))).toEqual({ content: 'a' })
    expect(asked).toHaveLength(1)
    expect(dataOf(await call('free', {}))).toBe(1)
    expect(dataOf(await call('todo', { todos: [] }))).toEqual({ count: 0 })
    expect(asked).toHaveLength(1)
  })

  test('R38.1 edit is asked for as one call with two subjects', async () => {
    const { call, asked, at } = await prompted(['allow_once'])
    await call('edit', { path: 'a.txt', old_string: 'a', new_string: 'b' }, { callId: 'c1' })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      call_id: 'c1',
      tool: 'edit',
      args: { path: 'a.txt' },
      subjects: [
        { capability: 'fs.read', resource: at('a.txt') },
        { capability: 'fs.write', resource: at('a.txt') },
      ],
    })
  })

  test('R39.9 outside of the capabilities no rule and no prompt is consulted', async () => {
    const { read, asked, session } = await prompted([], manifest([rule('read ** allow')]))
    expect(failureOf(await read('/etc/hostname')).code).toBe('capability_refused')
    expect(asked).toEqual([])
    expect(session.headless).toBe(false)
  })

  test('R41 once is for one call; always writes a rule for that file, and only that', async () => {
    const { read, asked, kept } = await prompted(['allow_once', 'allow_always', 'reject_once'])
    await read('a.txt')
    expect(kept).toEqual([])
    await read('a.txt')
    expect(kept).toMatchObject([
      { permission: 'read', pattern: 'a.txt', action: 'allow', source: 'session', added_at: expect.stringMatching(/^\d{4}-.*Z$/u) },
    ])
    expect(dataOf(await read('a.txt'))).toEqual({ content: 'a' })
    expect(asked).toHaveLength(2)
    expect(failureOf(await read('b.txt')).code).toBe('permission_rejected')
  })

  test('R37 R41 an always for the project, and an always that rejects', async () => {
    const { read, kept, asked } = await prompted([{ decision: 'allow_always', scope: 'project' }, 'reject_always'])
    await read('a.txt')
    await read('b.txt')
    expect(failureOf(await read('b.txt')).code).toBe('permission_denied')
    expect(asked).toHaveLength(2)
    expect(kept.map(({ source, action }) => [source, action])).toEqual([
      ['project', 'allow'],
      ['session', 'deny'],
    ])
  })

  test('R41 a new rule takes the place of the same permission and pattern in its scope', async () => {
    const session = [rule('read a.txt deny')]
    const { read, kept, call } = await prompted([{ decision: 'allow_always', rules: [{ permission: 'read', pattern: 'a.txt' }] }], {
      permissions: { session },
    })
    expect(failureOf(await read('a.txt')).code).toBe('permission_denied')
    await read('b.txt')
    expect(kept).toMatchObject([{ permission: 'read', pattern: 'a.txt', action: 'allow' }])
    expect(dataOf(await call('read', { path: 'a.txt' }))).toEqual({ content: 'a' })
  })

  test('R41 of a command the always is narrow, and names hostile file names as they are', async () => {
    const { call, kept, put, read } = await prompted(['allow_always', 'allow_always', 'reject_once'])
    await call('bash', { command: 'git status -s' })
    expect(kept[0]).toMatchObject({ permission: 'bash', action: 'allow' })
    expect(kept[0]?.pattern).toMatch(/^git status/u)
    put('*.txt', 'star')
    expect(dataOf(await read('*.txt'))).toEqual({ content: 'star' })
    expect(failureOf(await read('a.txt')).code, 'the star is not a wildcard').toBe('permission_rejected')
  })

  test('R41 what is no answer agrees to nothing', async () => {
    for (const answer of [undefined, null, 'yes', {}, { decision: 'allow' }, { decision: 'allow_once', scope: 'manifest' }, 7]) {
      const { read } = await prompted([], { host: { prompt: () => answer as never } })
      expect(failureOf(await read('a.txt')).code).toBe('permission_rejected')
    }
    const { read } = await prompted([], { host: { prompt: () => Promise.reject(new Error('window closed')) } })
    expect(failureOf(await read('a.txt')).code).toBe('permission_rejected')
  })

  test('R41 an answer whose rules mean nothing agrees to nothing, and an onRule that fails takes nothing back', async () => {
    for (const rules of ['**', [{}], [{ permission: '', pattern: '' }], [null]]) {
      const { read, kept } = await prompted([{ decision: 'allow_always', rules }])
      expect(failureOf(await read('a.txt')).code).toBe('permission_rejected')
      expect(kept).toEqual([])
    }
    const { read } = await prompted(['allow_always'], {
      onRule: () => {
        throw new Error('full')
      },
    })
    expect(dataOf(await read('a.txt'))).toEqual({ content: 'a' })
    expect(dataOf(await read('a.txt'))).toEqual({ content: 'a' })
  })

  test('R41 an always for a file with any name is for that file', async () => {
    for (const name of ['{a,b}.txt', '[ab].txt', 'a?.txt', 'a\\b.txt', '{workspace}', '**', 'ü €.txt', ' x ', '!a']) {
      const { call, put } = await prompted(['allow_always', 'reject_once'])
      put(name, name)
      put('ab.txt', 'other')
      expect(dataOf(await call('read', { path: name })), name).toEqual({ content: name })
      expect(dataOf(await call('read', { path: name })), `${name} again`).toEqual({ content: name })
      expect(failureOf(await call('read', { path: 'ab.txt' })).code, name).toBe('permission_rejected')
    }
  })

  test('a prompt that nobody answers is rejected in the end, and told so', async () => {
    let told: AbortSignal | undefined
    const { read } = await prompted([], {
      host: {
        prompt: ({ signal }: PromptRequest) => {
          told = signal
          return new Promise(() => undefined)
        },
      },
      limits: { promptMs: 40 },
    })
    expect(failureOf(await read('a.txt')).code).toBe('permission_timeout')
    expect(told?.aborted).toBe(true)
  })

  test('prompts come one at a time, and an always answers those that wait', async () => {
    let open = 0
    let max = 0
    const { call, asked } = await prompted([], {})
    expect(asked).toEqual([])
    const counted: string[] = []
    const scene = await openScene({
      ...noRules,
      host: {
        prompt: async ({ call_id }) => {
          open += 1
          max = Math.max(max, open)
          counted.push(call_id)
          await new Promise((resolve) => setTimeout(resolve, 20))
          open -= 1
          return { decision: 'allow_always', rules: [{ permission: 'read', pattern: '**' }] }
        },
      },
    })
    scene.put('a.txt', 'a')
    const envelopes = await Promise.all(Array.from({ length: 10 }, () => scene.call('read', { path: 'a.txt' })))
    expect(envelopes.every(({ type }) => type === 'output')).toBe(true)
    expect(counted).toHaveLength(1)
    expect(max).toBe(1)
    expect((await call('todo', { todos: [] })).type).toBe('output')
  })

  test('R37 the manifest cannot be overruled by an answer', async () => {
    const { read, kept } = await prompted(['allow_always'], manifest([rule('read a.txt deny'), rule('read ** ask')]))
    expect(failureOf(await read('a.txt'))).toMatchObject({ code: 'permission_denied', text: expect.stringContaining('read a.txt') })
    await read('b.txt')
    expect(kept).toHaveLength(1)
  })

  test('what a denied call would have found is not told', async () => {
    const { read } = await prompted([], manifest([rule('read secret/** deny')]))
    expect(failureOf(await read('secret/none.txt')).code).toBe('permission_denied')
  })

  test('nor what it would have found behind a link', async () => {
    const { call, put, at } = await openScene(manifest([...allowAll, rule('* secret/** deny')]))
    put('secret/file', 'secret')
    put('secret/directory/file', 'secret')
    symlinkSync('secret', at('link'))
    for (const path of ['directory', 'missing', 'file/x', 'file'].flatMap((name) => [`link/${name}`, `secret/${name}`])) {
      for (const [id, more] of Object.entries({
        read: {},
        edit: { old_string: 'a', new_string: 'b' },
        write: { content: 'x' },
        grep: { pattern: 'x' },
      })) {
        const { code, text } = failureOf(await call(id, { path, ...more }))
        expect([code, text], `${id} ${path}`).toEqual(['permission_denied', expect.stringContaining(`\`${path}\``)])
        expect(text).not.toContain(at('secret'))
      }
    }
  })

  test('what a tool touches without saying so before is judged when it does', async () => {
    const tool = testTool('roams', async ({ path }: { path: string }, { fs }) => (await fs.read(path)).content, {
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      requires: { fs: { read: ['{workspace}/**'] } },
    })
    const { call, put } = await openScene({ ...manifest([rule('roams * allow'), rule('fs.read b.txt deny')]), tools: [tool] })
    put('a.txt', 'a')
    put('b.txt', 'b')
    expect(dataOf(await call('roams', { path: 'a.txt' }))).toBe('a')
    expect(failureOf(await call('roams', { path: 'b.txt' })).code).toBe('permission_denied')
    expect(failureOf(await call('roams', { path: '/etc/hostname' })).code).toBe('capability_refused')
  })

  test('R38.1 a capability by name is a subject, beside the files', async () => {
    const tool = testTool('shoots', () => 'flash', {
      requires: { capabilities: ['camera'], fs: { read: ['{workspace}/**'] } },
      targets: () => [{ kind: 'file', path: 'a.txt', access: 'read' }],
    })
    const allowed = await openScene({ ...manifest([rule('fs.read ** allow'), rule('camera * allow')]), tools: [tool] })
    allowed.put('a.txt', 'a')
    expect(dataOf(await allowed.call('shoots', {}))).toBe('flash')
    const denied = await openScene({ ...manifest([rule('fs.read ** allow'), rule('camera * deny')]), tools: [tool] })
    denied.put('a.txt', 'a')
    expect(failureOf(await denied.call('shoots', {})).code).toBe('permission_denied')
  })

  test('R38.7 R39.10 a call with one denied path does nothing at all', async () => {
    const tool = testTool(
      'apply_patch',
      async (_args, { fs }) => {
        await fs.write('src/a', 'new')
        await fs.write('b', 'new')
        return 'ok'
      },
      {
        requires: { fs: { write: ['{workspace}/**'] } },
        targets: () => [
          { kind: 'file', path: 'src/a', access: 'write' },
          { kind: 'file', path: 'b', access: 'write' },
        ],
      },
    )
    const { call, at } = await openScene({ ...manifest([rule('apply_patch src/** allow'), rule('apply_patch b deny')]), tools: [tool] })
    expect(failureOf(await call('apply_patch', {})).code).toBe('permission_denied')
    const { existsSync } = await import('node:fs')
    expect(existsSync(at('src'))).toBe(false)
  })
})
