import { withInputRequired } from '@modelcontextprotocol/client'
import * as sdk from '@modelcontextprotocol/server'
import { existsSync } from 'node:fs'
import { createSession } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Permission } from '../../dist/mcp-server/permission.js'
import { makeSandbox } from '../support/sandbox.ts'
import { connectTo, type Decision, eras } from './mcp-client.ts'

describe.each(eras)('the user of a client of %s', (era) => {
  test.each<[Decision, string]>([
    ['allow_once', 'ok'],
    ['reject', 'permission_rejected'],
    ['decline', 'permission_rejected'],
    // Clients that nobody watches close a question by themselves.
    ['cancel', 'permission_unattended'],
  ])('is asked once, and answers %s: %s', async (decision, code) => {
    const fixture = makeSandbox()
    const { call, asked } = await connectTo(fixture.root, era, { decide: () => decision })
    const { isError, ...outcome } = await call('write', { path: 'a.txt', content: 'text\u{202e}' })
    expect(outcome.code).toBe(code)
    expect(isError).toBe(code !== 'ok')
    expect(existsSync(fixture.at('a.txt'))).toBe(code === 'ok')
    expect(asked).toHaveLength(1)
    expect(asked[0]?.message).toBe(`Allow write?\n  fs.write: ${fixture.at('a.txt')}\n  content: text\\u{202e}`)
    expect(asked[0]?.requestedSchema.properties['decision']).toMatchObject({ enum: ['allow_once', 'allow_always', 'reject'] })
  })

  test('is asked again after allow once, and not after allow always', async () => {
    const { root } = makeSandbox()
    let decision: Decision = 'allow_once'
    const { call, asked } = await connectTo(root, era, { decide: () => decision })
    const write = () => call('write', { path: 'a.txt', content: 'x' })
    await write()
    decision = 'allow_always'
    await write()
    expect(asked).toHaveLength(2)
    expect(await write()).toMatchObject({ code: 'ok' })
    expect(asked).toHaveLength(2)
  })

  test('is not asked for what --allow allows, nor for what --deny denies', async () => {
    const { root } = makeSandbox()
    const args = ['--allow', 'bash:echo *', '--deny', 'bash:echo secret *', '--deny', 'edit']
    const { call, asked } = await connectTo(root, era, { args, decide: () => 'allow_once' })
    expect(await call('bash', { command: 'echo hello' })).toMatchObject({ code: 'ok' })
    expect(await call('bash', { command: 'echo secret x' })).toMatchObject({ code: 'permission_denied' })
    expect(await call('edit', { path: 'a.txt', old_string: 'a', new_string: 'b' })).toMatchObject({ isError: true })
    expect(asked).toEqual([])
  })

  test('that cannot be asked gets a refusal with the option that would allow it', async () => {
    const fixture = makeSandbox()
    const { call } = await connectTo(fixture.root, era)
    const refused = await call('bash', { command: "npm run 'a b'" })
    expect(refused).toMatchObject({ code: 'permission_unattended', isError: true })
    expect(refused.text).toMatch(
      /this client cannot ask its user\. Nothing was done\. The person who set up the server can allow it with --allow 'bash:npm/u,
    )
  })

  test('is asked about each of five calls at once', async () => {
    const fixture = makeSandbox()
    const { call, asked } = await connectTo(fixture.root, era, {
      decide: ({ message }) => (message.includes('3.txt') ? 'reject' : 'allow_once'),
    })
    const codes = await Promise.all([1, 2, 3, 4, 5].map(async (n) => (await call('write', { path: `${n}.txt`, content: 'x' })).code))
    expect(codes).toEqual(['ok', 'ok', 'permission_rejected', 'ok', 'ok'])
    expect(asked).toHaveLength(5)
  })
})

describe('the state of a question of 2026', () => {
  const accept = { permission: { action: 'accept', content: { decision: 'allow_once' } } }

  async function manual() {
    const fixture = makeSandbox()
    const { client } = await connectTo(fixture.root, '2026', { decide: () => 'reject' })
    const request = (path: string, more: Record<string, unknown> = {}) =>
      client.request(
        { method: 'tools/call', params: { name: 'write', arguments: { path, content: 'x' }, ...more } },
        withInputRequired(sdk.specTypeSchemas.CallToolResult) as never,
        { allowInputRequired: true },
      ) as Promise<{ resultType?: string; requestState?: string; isError?: boolean }>
    return { fixture, request }
  }

  test('is accepted with an answer, once', async () => {
    const { fixture, request } = await manual()
    const { resultType, requestState } = await request('a.txt')
    expect([resultType, typeof requestState]).toEqual(['input_required', 'string'])
    expect(existsSync(fixture.at('a.txt'))).toBe(false)
    expect((await request('a.txt', { requestState, inputResponses: accept })).resultType).not.toBe('input_required')
    expect(fixture.text('a.txt')).toBe('x')
    expect((await request('a.txt', { requestState, inputResponses: accept })).resultType).toBe('input_required')
  })

  test.each<[string, (state: string) => string]>([
    ['forged', (state) => `${state.slice(0, -2)}AA`],
    ['without its signature', (state) => state.split('.').slice(0, 2).join('.')],
    ['no state at all', () => 'yes'],
    ['empty', () => ''],
  ])('that is %s is no agreement: the user is asked again', async (_, forge) => {
    const { fixture, request } = await manual()
    const { requestState = '' } = await request('a.txt')
    const again = await request('a.txt', { requestState: forge(requestState), inputResponses: accept })
    expect(again.resultType).toBe('input_required')
    expect(existsSync(fixture.at('a.txt'))).toBe(false)
  })

  test('of another call, or of another server, is no agreement', async () => {
    const [one, two] = [await manual(), await manual()]
    const { requestState } = await one.request('a.txt')
    expect((await one.request('b.txt', { requestState, inputResponses: accept })).resultType).toBe('input_required')
    expect((await two.request('a.txt', { requestState, inputResponses: accept })).resultType).toBe('input_required')
    expect([existsSync(one.fixture.at('b.txt')), existsSync(two.fixture.at('a.txt'))]).toEqual([false, false])
  })

  test('without an answer is no agreement', async () => {
    const { request } = await manual()
    const { requestState } = await request('a.txt')
    expect((await request('a.txt', { requestState })).resultType).toBe('input_required')
  })

  async function desk(seconds: number) {
    const fixture = makeSandbox()
    const session = await createSession({ workspace: fixture.root, manifest: { name: 'test' }, host: { prompt: () => 'reject_once' } })
    onTestFinished(() => session.close())
    const permission = new Permission(sdk, seconds)
    const wanted = { tool: 'write', args: { path: 'link', content: 'x' } }
    const ask = (requestState?: string) => {
      const mcpReq = { envelope: {}, inputResponses: accept, requestState: () => requestState, signal: new AbortController().signal }
      return permission.nextMove(session, wanted, { mcpReq } as never, { elicitation: {} })
    }
    const stateOf = (next: Awaited<ReturnType<typeof ask>>): string => ('asks' in next ? (next.asks.requestState ?? '') : '')
    return { fixture, ask, stateOf }
  }

  test('that has expired is no agreement', async () => {
    const { ask, stateOf } = await desk(1)
    const state = stateOf(await ask())
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    expect(await ask(state)).toHaveProperty('asks')
    const fresh = stateOf(await ask())
    expect(await ask(fresh)).toHaveProperty('prompt')
  })

  test('is no agreement with another target: a link that leads elsewhere by now is asked about', async () => {
    const { fixture, ask, stateOf } = await desk(60)
    const { symlinkSync, rmSync } = await import('node:fs')
    fixture.put('one', '1')
    fixture.put('two', '2')
    symlinkSync('one', fixture.at('link'))
    const state = stateOf(await ask())
    rmSync(fixture.at('link'))
    symlinkSync('two', fixture.at('link'))
    expect(await ask(state)).toHaveProperty('asks')
  })
})
