import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { call, unwrap } from '../../../dist/core/native.js'
import type { PermissionVerdict, Subject } from '../../../dist/contract/permissions/rule-store.js'
import type { MatchListing } from '../../../dist/contract/registry/tool-runtime.js'
import { RuleStore } from '../../../dist/contract/permissions/rule-store.js'
import { loadContractAddon } from '../../../dist/contract/permissions/session-capabilities.js'
import { makeSandbox } from '../../support/sandbox.ts'
import { failureOf, openScene, rule } from '../scene.ts'

const files = ['src/a', 'src/b', 'docs/a', 'top']

const anyRule = fc
  .record({
    permission: fc.constantFrom('*', 'fs.read', 'fs.write'),
    pattern: fc.constantFrom('**', 'src/**', 'src/a', '**/a', 'top'),
    action: fc.constantFrom('allow', 'ask', 'deny'),
    source: fc.constantFrom('manifest', 'session', 'project'),
  })
  .map(({ source, ...written }) => ({ source, written }))

/** The rules of a session, of its parent, of its grandparent and so on. */
const anyChain = fc.array(fc.array(anyRule, { maxLength: 5 }), { minLength: 1, maxLength: 4 })

type Rules = ReturnType<typeof fc.sample<{ source: string; written: object }>>

const scopes = (rules: Rules) => Object.fromEntries(['manifest', 'session', 'project'].map((name) => [name, of(rules, name)]))
const of = (rules: Rules, name: string): object[] => rules.filter(({ source }) => source === name).map(({ written }) => written)

interface Standing {
  rank: number
  userAllowed: boolean
}

function standing({ action, subjects, userAllowed }: PermissionVerdict): Standing {
  const byRule = subjects.some((one) => one.action === 'ask' && one.rule !== undefined)
  const final = subjects.some((one) => one.final)
  const rank = action === 'allow' ? 0 : action === 'ask' ? (byRule ? 2 : 1) : final ? 4 : 3
  return { rank, userAllowed }
}

/** The law in words: the strictest counts, and an agreement answers what the sessions above would ask. */
function specified([own, ...above]: Standing[]): Standing {
  if (own === undefined) return { rank: 0, userAllowed: true }
  const rest = specified(above)
  const answered = (rest.rank === 1 || rest.rank === 2) && own.userAllowed
  return { rank: Math.max(own.rank, answered ? 0 : rest.rank), userAllowed: own.userAllowed && (answered || rest.userAllowed) }
}

describe('one law for calls and searches', () => {
  test('a chain of sessions is judged as specified, and grep shows what read may read', async () => {
    const addon = await loadContractAddon()
    const { root } = makeSandbox()
    for (const directory of ['src', 'docs']) mkdirSync(join(root, directory))
    for (const file of files) writeFileSync(join(root, file), 'x\n')
    const variables = { workspace: [root], adHoc: [] }
    const requires = [{ source: 'manifest.requires', requires: { fs: { read: ['{workspace}/**'] } } }]
    const policy = unwrap(addon.compilePolicy({ variables, granted: [], conjunction: [requires] }))
    const target = await call({ what: 'open' }, (_, cancel) => addon.openTarget(policy, '.', 'search', cancel))
    await fc.assert(
      fc.asyncProperty(anyChain, fc.boolean(), async (chain, agreed) => {
        const alone = chain.map((rules) => new RuleStore(addon, () => variables, scopes(rules)))
        const store = chain.reduceRight<RuleStore | undefined>(
          (above, rules) => new RuleStore(addon, () => variables, scopes(rules), undefined, above),
          undefined,
        )
        const readable = files.filter((file) => {
          const subject: Subject = { capability: 'fs.read', kind: 'path', resource: join(root, file) }
          const judged = standing((store as RuleStore).now().evaluate('read', [subject]))
          expect(judged).toEqual(specified(alone.map((one) => standing(one.now().evaluate('read', [subject])))))
          return judged.rank <= (agreed ? 2 : 1)
        })
        const sidecar = { directory: root, name: 'all', limitBytes: 1000 }
        const search = { pattern: 'x', maxResults: 100, timeoutMs: 10_000, toolId: 'grep', agreed, sidecar }
        const lines = { caseInsensitive: false, maxLineBytes: 100 }
        const compiled = (store as RuleStore).now().chain.map((list) => list.compiled)
        const found = await call({ what: 'grep' }, (_, cancel) => target.grep(search, lines, [], compiled, cancel))
        const { items } = JSON.parse(found) as MatchListing
        expect(items.map(({ path }) => path).sort()).toEqual([...readable].sort())
      }),
    )
    target.close()
  })

  test('a command needs a rule also where it runs in a directory of the session itself', async () => {
    const { session, call } = await openScene({ manifest: { name: 'test', permissions: [rule('fs.read ** allow')] }, headless: true })
    const refused = failureOf(await call('bash', { command: 'echo done', workdir: session.scratch }))
    expect(refused.code).toBe('permission_unattended')
  })
})
