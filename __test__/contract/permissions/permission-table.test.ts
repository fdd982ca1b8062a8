import { evaluatePermission, type Rule, type Subject } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { rule } from '../scene.ts'

const W = '/w'
const path = (capability: string, name: string): Subject => ({ capability, kind: 'path', resource: `${W}/${name}` })
const command = (line: string): Subject => ({ capability: 'shell.run', kind: 'command', resource: line })
const host = (name: string): Subject => ({ capability: 'net.fetch', kind: 'host', resource: name })

const from = (source: Rule['source'], text: string): Rule => rule(text, { source })
const m = (text: string) => from('manifest', text)
const s = (text: string) => from('session', text)
const p = (text: string) => from('project', text)

/** The worked examples: rules, the tool and its subjects, the result. */
const table: [number, Rule[], string, Subject[], 'allow' | 'deny' | 'ask'][] = [
  [1, [m('fs.write **/*.lock deny'), s('edit ** allow')], 'edit', [path('fs.read', 'yarn.lock'), path('fs.write', 'yarn.lock')], 'deny'],
  [2, [m('bash * ask'), p('bash git status* allow')], 'bash', [command('git status -s')], 'allow'],
  [3, [m('bash * ask'), p('bash git status* allow')], 'bash', [command('git status; rm -rf x')], 'ask'],
  [4, [m('fs.write ** allow'), p('fs.write src/gen/** deny')], 'write', [path('fs.write', 'src/gen/a.ts')], 'deny'],
  [5, [p('fs.write src/** deny'), s('fs.write src/a.ts allow')], 'write', [path('fs.write', 'src/a.ts')], 'allow'],
  [6, [m('fs.write ** deny'), m('fs.write docs/** allow'), s('fs.write src/** allow')], 'write', [path('fs.write', 'docs/a')], 'allow'],
  [6, [m('fs.write ** deny'), m('fs.write docs/** allow'), s('fs.write src/** allow')], 'write', [path('fs.write', 'src/a')], 'deny'],
  [7, [], 'read', [path('fs.read', 'a')], 'ask'],
  [8, [p('net.fetch *.example.com allow')], 'web_fetch', [host('docs.example.com')], 'allow'],
  [8, [p('net.fetch *.example.com allow')], 'web_fetch', [host('evil.test')], 'ask'],
  [
    10,
    [s('apply_patch src/** allow'), s('apply_patch ** deny')],
    'apply_patch',
    [path('fs.write', 'src/a'), path('fs.write', 'b')],
    'deny',
  ],
]

const evaluate = (rules: Rule[], subjects: Subject[], tool: string) => evaluatePermission(rules, subjects, { tool, workspace: [W] })

describe('permission rules', () => {
  test.each(table)('R39.%i %j', async (_number, rules, tool, subjects, action) => {
    expect((await evaluate(rules, subjects, tool)).action).toBe(action)
  })

  test.each(table)('R38 the order of rules does not matter: %i', async (_number, rules, tool, subjects, action) => {
    expect((await evaluate(rules.toReversed(), subjects, tool)).action).toBe(action)
  })

  test('R36 an action that is left out is ask', async () => {
    const [subject] = [path('fs.read', 'a')]
    const { action, matched } = await evaluate([{ permission: 'read', pattern: '**' }], [subject], 'read')
    expect({ action, matched }).toEqual({ action: 'ask', matched: true })
  })

  test('R36 a rule that is none is refused', async () => {
    for (const bad of [{}, { permission: 'read' }, { permission: '', pattern: '' }, { permission: 'a', pattern: 'b', action: 'perhaps' }]) {
      await expect(evaluate([bad as Rule], [path('fs.read', 'a')], 'read')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })

  test('R38.2 a rule is for the tool, the capability or everything, and for what its pattern matches', async () => {
    const a = [path('fs.read', 'a')]
    const matched = async (text: string) => (await evaluate([p(text)], a, 'read')).matched
    for (const text of ['read a deny', 'fs.read a deny', '* a deny', 'read ** deny', '* * deny'])
      expect(await matched(text), text).toBe(true)
    for (const text of ['write a deny', 'fs.write a deny', 'fs a deny', 'read b deny', 'read a/* deny'])
      expect(await matched(text), text).toBe(false)
  })

  test.each([
    ['*.example.com', 'docs.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['example.com', 'EXAMPLE.com.', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['example.com:8443', 'example.com:8443', true],
    ['example.com:8443', 'example.com', false],
  ])('R15 the host pattern %s and %s: %s', async (pattern, name, matches) => {
    expect((await evaluate([p(`net.fetch ${pattern} allow`)], [host(name)], 'web_fetch')).matched).toBe(matches)
  })

  test('R38.4 specificity: exact, then more literal characters, then fewer wildcards, then tool, capability, *', async () => {
    const a = [path('fs.write', 'src/a.ts')]
    const winner = async (...texts: string[]) => (await evaluate(texts.map(p), a, 'write')).decisive?.rule
    expect(await winner('write src/** deny', 'write src/a.ts allow')).toMatchObject({ pattern: 'src/a.ts' })
    expect(await winner('write src/** allow', 'write ** deny')).toMatchObject({ pattern: 'src/**' })
    expect(await winner('fs.write src/** deny', 'write src/** allow')).toMatchObject({ permission: 'write' })
    expect(await winner('* src/** deny', 'fs.write src/** allow')).toMatchObject({ permission: 'fs.write' })
  })

  test('R38.5 equal rules: deny first; then session, project, manifest; then ask', async () => {
    const a = [path('fs.read', 'a')]
    const result = async (...rules: Rule[]) => (await evaluate(rules, a, 'read')).action
    expect(await result(p('read a deny'), s('read a allow'))).toBe('deny')
    expect(await result(m('read a ask'), s('read a allow'))).toBe('allow')
    expect(await result(p('read a ask'), s('read a allow'))).toBe('allow')
    expect(await result(p('read a allow'), s('read a ask'))).toBe('ask')
  })

  test('R38.7 the strictest subject decides', async () => {
    const both = [path('fs.read', 'a'), path('fs.write', 'a')]
    expect((await evaluate([s('fs.read ** allow'), s('fs.write ** deny')], both, 'edit')).action).toBe('deny')
    expect((await evaluate([s('fs.read ** allow')], both, 'edit')).action).toBe('ask')
  })

  test('R37 R38.3 whether a deny is the last word is told', async () => {
    const a = [path('fs.read', 'a')]
    expect((await evaluate([m('read a deny')], a, 'read')).decisive).toMatchObject({ final: true, rule: { source: 'manifest' } })
    expect((await evaluate([p('read a deny')], a, 'read')).decisive).toMatchObject({ final: false, rule: { source: 'project' } })
  })

  test.each([
    'git status && rm x',
    'git status | tee x',
    'git status\nrm x',
    'git status & rm x',
    '(git status; rm x)',
    'git status $(rm x)',
    'git status `rm x`',
    'git status > out.txt',
    '$GIT status',
    'git status; "',
  ])('R40 `git status*` does not allow %j', async (line) => {
    const rules = [p('bash git status* allow'), m('bash * ask')]
    expect((await evaluate(rules, [command(line)], 'bash')).action).toBe('ask')
    expect((await evaluate([p('bash * allow')], [command(line)], 'bash')).action).toBe('allow')
  })

  test('R40 a deny is found in every part of a line', async () => {
    for (const line of ['ls; rm -rf x', 'ls && (cd a; rm -rf x)', 'echo $(rm -rf x)', "sh -c 'rm -rf x'"]) {
      expect((await evaluate([p('bash * allow'), p('bash rm* deny')], [command(line)], 'bash')).action, line).toBe('deny')
    }
  })
})
