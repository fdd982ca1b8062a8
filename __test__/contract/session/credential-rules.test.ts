// docs/contract.md, "Permission rules": uses of credentials by commands are a capability, and rules and the user decide about them
import type { Envelope, PromptRequest, PromptDecision, Rule } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'
import { allowAll, dataOf, openScene, rule } from '../scene.ts'

const NAME = 'GITHUB_TOKEN'
const url = (path: string): string => `https://api.cred.test${path}`
const curl = (path: string, more = ''): string => `curl -sS --path-as-is ${more} -H "Authorization: Bearer $GITHUB_TOKEN" '${url(path)}'`

describe.skipIf(!isHeld)('rules about credentials', { timeout: 60_000 }, () => {
  const host = CredentialHost.ofSuite()

  async function scene(rules: Rule[], more: { prompt?: unknown; headless?: boolean; capabilities?: string[] } = {}) {
    const { capabilities = ['net.credential'], prompt, ...options } = more
    const network = host.network([{ variable: NAME, hosts: ['api.cred.test'], value: CANARY, send: 'bearer' }])
    const requires = { fs: { read: ['/**'] }, net: { hosts: ['api.cred.test'] }, shell: [{ cmd: '*' }], capabilities }
    const manifest = { name: 'credentials', permissions: allowAll, requires }
    const { call } = await openScene({
      manifest,
      sandbox: { network },
      permissions: rules,
      ...(prompt !== undefined && { host: { prompt } }),
      ...options,
    } as never)
    const run = async (command: string): Promise<{ stdout: string; envelope: Envelope }> => {
      const envelope = await call('bash', { command })
      for (const form of CANARY_FORMS) expect(JSON.stringify(envelope)).not.toContain(form)
      return { stdout: (dataOf(envelope) as { stdout: string }).stdout, envelope }
    }
    return { run }
  }

  test('a session without the capability uses none', async () => {
    const { run } = await scene([], { capabilities: [] })
    const { stdout, envelope } = await run(`${curl('/open')}; curl -sS ${url('/plain')}`)
    expect(stdout).toContain(`The sandbox refused GET https://api.cred.test/open with ${NAME}:`)
    expect(stdout).toContain('net.credential')
    expect(host.visits.map((visit) => visit.url)).toEqual(['/plain'])
    expect(envelope.metadata.denials).toContainEqual({ layer: 'network', subject: `GET ${url('/open')}`, option: 'net.credential' })
  })

  test('a rule denies by name, method, host and path, and the refusal names it', async () => {
    const { run } = await scene([
      rule(`net.credential ${NAME} * api.cred.test/closed* deny`),
      rule(`net.credential ${NAME} POST * deny`),
      rule(`net.credential OTHER* deny`),
    ])
    expect((await run(curl('/open', '-X post'))).stdout).toContain('denies')
    const { stdout, envelope } = await run(
      [curl('/open'), curl('/closed/a'), curl('/open', '-X POST'), `curl -sS ${url('/closed/b')}`].join(';'),
    )
    expect(stdout).toContain(
      `the project rule \`net.credential ${NAME} * api.cred.test/closed*\` denies net.credential of \`${NAME} GET api.cred.test/closed/a\``,
    )
    expect(stdout).toContain(`the project rule \`net.credential ${NAME} POST *\` denies`)
    expect(host.visits.map((visit) => visit.url)).toEqual(['/open', '/closed/b'])
    const requests = envelope.metadata.connections?.[0]?.requests
    expect(requests).toContainEqual(expect.objectContaining({ credential: NAME, method: 'GET', path: '/closed/a', refused: 'rejected' }))
    expect(requests).toContainEqual(expect.objectContaining({ credential: NAME, method: 'GET', path: '/open', status: 200 }))
    expect(envelope.metadata.notes?.join(' ')).toContain('net.credential')
  })

  test('a path that could be another one is refused where a rule is about paths, and nowhere else', async () => {
    const paths = [
      '/open/../closed',
      '/open/%2e%2e/closed',
      '//closed',
      '/open/..;/closed',
      '/open%2f..%2fclosed',
      '/%63losed',
      '/closed;a=b',
    ]
    const all = paths.map((path) => curl(path)).join(';')
    const held = await scene([rule(`net.credential ${NAME} * api.cred.test/closed* deny`)])
    const { stdout } = await held.run(all)
    expect(stdout.split('about paths. Write the path without')).toHaveLength(paths.length + 1)
    expect(host.visits).toEqual([])
    const open = await scene([rule(`net.credential ${NAME} POST * deny`)])
    await open.run(all)
    expect(host.visits.map((visit) => visit.url)).toEqual(paths)
  })

  test('a header by which a server takes a request for another one is refused', async () => {
    const { run } = await scene([rule(`net.credential ${NAME} DELETE * deny`)])
    const { stdout } = await run(curl('/open', '-X POST -H "X-HTTP-Method-Override: DELETE"'))
    expect(stdout).toContain('X-HTTP-Method-Override')
    expect(host.visits).toEqual([])
  })

  test('the user is asked once in a call about each request, and an answer can be a rule', async () => {
    const asked: PromptRequest[] = []
    let decision: PromptDecision = 'allow_once'
    const prompt = (request: PromptRequest) => {
      asked.push(request)
      return { decision }
    }
    const { run } = await scene([rule(`net.credential ${NAME} * ask`)], { prompt })
    await run(`${curl('/open')}; ${curl('/open')}; ${curl('/other')}`)
    expect(asked.map(({ tool, subjects }) => [tool, subjects])).toEqual(
      ['/open', '/other'].map((path) => ['bash', [{ capability: 'net.credential', resource: `${NAME} GET api.cred.test${path}` }]]),
    )
    expect(host.visits).toHaveLength(3)
    decision = 'reject_once'
    const { stdout } = await run(curl('/open'))
    expect(stdout).toMatch(/The sandbox refused GET .*rejected/u)
    decision = 'allow_always'
    await run(curl('/open'))
    decision = 'reject_once'
    await run(curl('/open'))
    expect(asked).toHaveLength(4)
    expect(host.visits).toHaveLength(5)
  })

  test('equal requests at once are one question, and a command puts no more than 32', async () => {
    const asked: string[] = []
    const prompt = ({ subjects }: PromptRequest) => {
      asked.push(subjects[0]?.resource ?? '')
      return { decision: 'allow_once' }
    }
    const { run } = await scene([rule(`net.credential ${NAME} * ask`)], { prompt })
    await run(`${Array.from({ length: 10 }, () => `${curl('/same')} -o /dev/null &`).join('\n')}\nwait`)
    expect(asked).toEqual([`${NAME} GET api.cred.test/same`])
    expect(host.visits).toHaveLength(10)
    const { stdout } = await run(curl('/many/[1-40]'))
    expect(asked).toHaveLength(33)
    expect(stdout.split('who was asked about 32 uses')).toHaveLength(9)
  })

  test('without a user, what rules leave to one is refused', async () => {
    const { run } = await scene([rule(`net.credential ${NAME} * ask`)], { headless: true })
    const { stdout } = await run(curl('/open'))
    expect(stdout).toContain('needs the agreement of a user')
    expect(host.visits).toEqual([])
  })

  test('sixty requests at once are each decided about', async () => {
    const { run } = await scene([rule(`net.credential ${NAME} * api.cred.test/closed* deny`)])
    const lines = Array.from(
      { length: 60 },
      (_, index) => `(${curl(index % 2 === 0 ? `/open/${index}` : `/closed/${index}`)} -o /dev/null) &`,
    )
    await run(`${lines.join('\n')}\nwait`)
    expect(host.visits.map((visit) => visit.url).toSorted()).toEqual(
      Array.from({ length: 30 }, (_, index) => `/open/${index * 2}`).toSorted(),
    )
  })
})
