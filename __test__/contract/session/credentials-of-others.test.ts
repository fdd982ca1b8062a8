// docs/contract.md, "Permission rules": uses of credentials by processes that outlive their call, and by subagents
import type { AgentDefinition, Envelope, PromptRequest, Rule, SessionOptions } from 'toolwright/contract'
import { processTools } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'
import { allowAll, dataOf, openScene, rule } from '../scene.ts'

const NAME = 'GITHUB_TOKEN'
const curl = (path: string): string => `curl -sS --path-as-is -H "Authorization: Bearer $${NAME}" 'https://api.cred.test${path}'`

describe.skipIf(!isHeld)('uses of credentials by others than a call', { timeout: 60_000 }, () => {
  const host = CredentialHost.ofSuite()
  const requires = {
    fs: { read: ['/**'] },
    net: { hosts: ['api.cred.test'] },
    shell: [{ cmd: '*' }],
    capabilities: ['net.credential'],
  }

  async function scene(rules: Rule[], more: Partial<SessionOptions> = {}, agents: Partial<AgentDefinition>[] = []) {
    const network = host.network([{ variable: NAME, hosts: ['api.cred.test'], value: CANARY, send: 'bearer' }])
    const manifest = {
      name: 'credentials',
      permissions: allowAll,
      requires,
      agents: agents.map((agent) => ({ name: 'helper', permissions: allowAll, requires, ...agent })),
    }
    return openScene({ manifest, sandbox: { network }, permissions: rules, ...more } as Partial<SessionOptions>)
  }
  const visited = (): string[] => host.visits.map(({ url }) => url)
  const stdoutOf = (envelope: Envelope): string => {
    for (const form of CANARY_FORMS) expect(JSON.stringify(envelope)).not.toContain(form)
    return (dataOf(envelope) as { stdout: string }).stdout
  }

  describe('a process', () => {
    /** Starts requests in a process, each when it is told to go on, and reads what the process says. */
    async function started(rules: Rule[], paths: string[], prompt?: (request: PromptRequest) => { decision: string }) {
      const { call } = await scene(rules, { tools: processTools, ...(prompt && { host: { prompt } }) } as Partial<SessionOptions>)
      const command = `${paths.map((path) => `read -r go; ${curl(path)}; echo "end of ${path}"`).join('\n')}\n`
      dataOf(await call('process_start', { command, wait_ms: 0 }))
      const said = async (): Promise<string> => {
        const envelope = await call('process_read', { process_id: 'p1', from: 0 })
        for (const form of CANARY_FORMS) expect(JSON.stringify(envelope)).not.toContain(form)
        return (dataOf(envelope) as { output: string }).output
      }
      return async (path: string): Promise<string> => {
        await call('process_write', { process_id: 'p1', text: 'go\n', wait_ms: 0 })
        await expect.poll(said, { timeout: 20_000 }).toContain(`end of ${path}`)
        return said()
      }
    }

    test('is held to the rules when its call is over', async () => {
      const next = await started([rule(`net.credential ${NAME} * api.cred.test/closed* deny`)], ['/open', '/closed', '/after'])
      await next('/open')
      const said = await next('/closed')
      expect(said).toContain(`the project rule \`net.credential ${NAME} * api.cred.test/closed*\` denies`)
      await next('/after')
      expect(visited()).toEqual(['/open', '/after'])
    })

    test('has no call that a question could belong to: what rules leave to the user is refused', async () => {
      const asked: PromptRequest[] = []
      const next = await started([rule(`net.credential ${NAME} GET api.cred.test/asked* ask`)], ['/asked', '/open'], (request) => {
        asked.push(request)
        return { decision: 'allow_once' }
      })
      expect(await next('/asked')).toContain('The sandbox refused GET https://api.cred.test/asked')
      await next('/open')
      expect(asked.flatMap(({ subjects }) => subjects).filter(({ capability }) => capability === 'net.credential')).toEqual([])
      expect(visited()).toEqual(['/open'])
    })

    test('that stays after a timeout is held to the rules as well', async () => {
      const { call } = await scene([rule(`net.credential ${NAME} * api.cred.test/closed* deny`)], {
        tools: processTools,
        onTimeout: 'background',
      } as Partial<SessionOptions>)
      const command = `until [ -e go ]; do sleep 0.05; done; ${curl('/open')}; ${curl('/closed')}; echo "the end"; sleep 60`
      await call('bash', { command, timeout_ms: 500 })
      await call('write', { path: 'go', content: '' })
      const said = async () => (dataOf(await call('process_read', { process_id: 'p1', from: 0 })) as { output: string }).output
      await expect.poll(said, { timeout: 20_000 }).toContain('the end')
      expect(await said()).toContain('denies net.credential')
      expect(visited()).toEqual(['/open'])
    })
  })

  describe('a subagent', () => {
    /** What a subagent's commands print, one after the other. */
    async function printed(rules: Rule[], agent: Partial<AgentDefinition>, paths: string[]) {
      const outputs: string[] = []
      const asked: PromptRequest[] = []
      const parent = await scene(
        rules,
        {
          host: {
            prompt: (request: PromptRequest) => {
              asked.push(request)
              return { decision: 'allow_once' }
            },
            spawn: async (child: { session: { id: string; call(id: string, args: unknown): Promise<Envelope> } }) => {
              for (const path of paths) outputs.push(stdoutOf(await child.session.call('bash', { command: curl(path) })))
              return child.session.id
            },
          },
        } as never,
        [agent],
      )
      const { output } = dataOf(await parent.call('task', { subagent_type: 'helper', prompt: 'Go.' }))
      return { outputs, asked, child: output as string }
    }

    test('is held to the rules of its parent, and to its own', async () => {
      const own = { permissions: [...allowAll, rule(`net.credential ${NAME} * api.cred.test/own* deny`)] }
      const rules = [rule(`net.credential ${NAME} * api.cred.test/parents* deny`)]
      const { outputs } = await printed(rules, own, ['/open', '/own', '/parents'])
      expect(outputs[1]).toContain(`\`net.credential ${NAME} * api.cred.test/own*\` denies`)
      expect(outputs[2]).toContain(`\`net.credential ${NAME} * api.cred.test/parents*\` denies`)
      expect(visited()).toEqual(['/open'])
    })

    test('that does not name the capability uses none', async () => {
      const { outputs } = await printed([], { requires: { ...requires, capabilities: [] } }, ['/open'])
      expect(outputs[0]).toContain(`The sandbox refused GET https://api.cred.test/open with ${NAME}`)
      expect(visited()).toEqual([])
    })

    test('asks in its own name', async () => {
      const { asked, child } = await printed([rule(`net.credential ${NAME} * ask`)], {}, ['/open'])
      const uses = asked.filter(({ subjects }) => subjects.some(({ capability }) => capability === 'net.credential'))
      expect(uses.map(({ session_id }) => session_id)).toEqual([child])
      expect(visited()).toEqual(['/open'])
    })

    test('in a fork is held to the same rules', async () => {
      const rules = [rule(`net.credential ${NAME} * api.cred.test/closed* deny`)]
      const { outputs } = await printed(rules, { isolation: 'fork' }, ['/open', '/closed'])
      expect(outputs[1]).toContain('denies net.credential')
      expect(visited()).toEqual(['/open'])
    })
  })
})
