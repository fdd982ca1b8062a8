import { gzipSync } from 'node:zlib'
import { MockLanguageModelV4 } from 'ai/test'
import { searxng, type AgentDefinition, type Rule, type SessionOptions } from 'toolwright/contract'
import { script, type ScriptedCall, type Turn } from '../../support/scripted-model.ts'
import { startHttp, stdio } from '../mcp/servers.ts'
import { allowAll, rule } from '../scene.ts'
import { serve, webRules, type Answer, type WebServer } from '../web/web-server.ts'

/** Servers on loopback: one that pages and searches come from, one that a name leads to, and one that nobody may reach. */
export interface Web {
  port: number
  open: WebServer
  named: WebServer
  forbidden: WebServer
  /** The names that were looked up, in order. */
  lookups: string[]
  lookup(host: string): string[]
}

const bomb = gzipSync(Buffer.alloc(50_000_000, 'a'))

/** Pages good and bad, and a search service. */
const answer: Answer = (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://x')
  const port = String(request.socket.localPort)
  const type = (name: string, more: Record<string, string> = {}) => response.writeHead(200, { 'content-type': name, ...more })
  const to = (location: string) => void response.writeHead(302, { location }).end()
  const routes: Record<string, () => void> = {
    '/page': () => void type('text/html').end('<h1>Page</h1><p>Some <b>text</b>.</p>'),
    '/search': () =>
      void type('application/json').end(JSON.stringify({ results: [{ title: 'T', url: 'https://example.com/', content: 'S' }] })),
    '/chain': () => to('/chain/2'),
    '/chain/2': () => to('/chain/3'),
    '/chain/3': () => to(`http://127.0.0.9:${port}/secret`),
    '/away': () => to(`http://elsewhere.test:${port}/page`),
    '/slow': () => undefined,
    '/endless': () => {
      type('text/plain')
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    },
    '/bomb': () => void type('text/plain', { 'content-encoding': 'gzip' }).end(bomb),
    '/charset': () => void type('text/plain; charset=utf-8').end(Buffer.from('caf\xe9', 'latin1')),
  }
  const route = routes[pathname]
  if (route === undefined) response.writeHead(404).end('nothing here')
  else route()
}

/** Starts the servers; they end with the test. `rebind.test` leads elsewhere at every look-up but the first. */
export async function startWeb(): Promise<Web> {
  const open = await serve(answer)
  const named = await serve(answer, '127.0.0.2', open.port)
  const forbidden = await serve((_, response) => response.end('secret'), '127.0.0.9', open.port)
  const lookups: string[] = []
  const lookup = (host: string): string[] => {
    const isFirst = !lookups.includes(host)
    lookups.push(host)
    if (host === 'elsewhere.test' || (host === 'rebind.test' && isFirst)) return ['127.0.0.2']
    return ['127.0.0.9']
  }
  return { port: open.port, open, named, forbidden, lookups, lookup }
}

/** A call, and the code that it ends with; the other where nobody is there to agree or to answer. */
export interface StagedCall extends ScriptedCall {
  id: string
  code: string
  headless: string
}

/** A call of a tool that the model was not offered: the AI SDK answers it, and the session never hears of it. */
export const NOT_OFFERED = 'not offered'

/** The calls that reach the session. */
export const reaching = (calls: StagedCall[]): StagedCall[] => calls.filter(({ code }) => code !== NOT_OFFERED)

const staged = (id: string, tool: string, input: unknown, code = 'ok', headless = code): StagedCall => ({ id, tool, input, code, headless })

const askWhether = { questions: [{ question: 'Is it good?', options: [{ label: 'yes' }, { label: 'no' }] }] }

/** What the agent does: every tool, with successes and failures, some of them at once. */
export function stagedTurns({ port, open: { origin } }: Web): StagedCall[][] {
  const fetching = (id: string, path: string, code = 'ok', headless = code) =>
    staged(id, 'web_fetch', { url: path.startsWith('/') ? origin + path : path }, code, headless)
  const rebind = `http://rebind.test:${port}/page`
  return [
    [
      staged('write', 'write', { path: 'src/a.ts', content: 'export const a = 1\n' }),
      staged('write-asked', 'write', { path: 'asked.txt', content: 'x' }, 'ok', 'permission_unattended'),
      staged('todo', 'todo', { todos: [{ content: 'fix a', status: 'in_progress' }] }),
    ],
    [
      staged('read', 'read', { path: 'src/a.ts' }),
      staged('glob', 'glob', { pattern: '**/*.ts' }),
      staged('grep', 'grep', { pattern: 'a =' }),
    ],
    [staged('edit', 'edit', { path: 'src/a.ts', old_string: 'a = 1', new_string: 'a = 2' })],
    [staged('bash', 'bash', { command: 'cat src/a.ts' })],
    [
      staged('skill', 'skill', { name: 'noting' }),
      staged('find-add', 'tool_search', { query: 'add two numbers' }),
      staged('find-issue', 'tool_search', { query: 'create an issue' }),
    ],
    [
      staged('over-stdio', 'local_add', { a: 20, b: 22 }),
      staged('over-http', 'remote_add', { a: 40, b: 2 }),
      staged('issue-asked', 'local_create_issue', { title: 'a' }, 'ok', 'permission_unattended'),
      staged('not-its-schema', 'remote_add', { a: 'x' }, 'invalid_arguments'),
    ],
    [
      staged('search', 'web_search', { query: 'größe & co' }),
      fetching('page', '/page'),
      fetching('chain', '/chain', 'capability_refused'),
      fetching('slow', '/slow', 'timeout'),
      fetching('endless', '/endless', 'too_large'),
      fetching('bomb', '/bomb', 'too_large'),
      fetching('charset', '/charset'),
      fetching('away-asked', '/away', 'ok', 'permission_unattended'),
      fetching('rebind-first', rebind),
    ],
    [fetching('rebind-again', rebind, 'capability_refused')],
    [
      staged('deep', 'task', { subagent_type: 'planner', prompt: 'Plan it.' }),
      staged('aside', 'task', { subagent_type: 'scout', prompt: 'Look around.', background: true }),
    ],
    [staged('question', 'question', askWhether, 'ok', 'question_unavailable')],
    [
      staged('no-file', 'read', { path: 'nothing.ts' }, 'not_found'),
      staged('outside', 'read', { path: '/etc/shadow' }, 'capability_refused'),
      staged('no-agent', 'task', { subagent_type: 'nobody', prompt: 'Help.' }, 'invalid_arguments'),
      staged('no-tool', 'no_such_tool', {}, NOT_OFFERED),
    ],
  ]
}

/** What the agent at the third level does. */
export const deepestCalls = (web: Web): StagedCall[] => [
  staged('child-read', 'read', { path: 'src/a.ts' }),
  staged('child-write', 'write', { path: 'asked-by-child.txt', content: 'x' }, 'ok', 'permission_unattended'),
  staged('child-fetch', 'web_fetch', { url: `${web.open.origin}/page` }),
  staged('child-forbidden', 'web_fetch', { url: `http://127.0.0.9:${web.port}/` }, 'capability_refused'),
  staged('child-question', 'question', askWhether, 'question_unavailable'),
  // Servers stay with the parent.
  staged('child-mcp', 'local_add', { a: 1, b: 1 }, NOT_OFFERED),
]

/** A model with these turns. */
export const modelOf = (...turns: Turn[]) => new MockLanguageModelV4({ doGenerate: script(...turns) })

/** Three levels, one below the other, and one beside them in a session of its own. */
function agentsOf(web: Web, hosts: string[]): AgentDefinition[] {
  const handing = (to: string) =>
    modelOf([{ id: `to-${to}`, tool: 'task', input: { subagent_type: to, prompt: 'Go on.' } }], `${to} did it.`)
  const requires = { net: { hosts } }
  return [
    { name: 'planner', requires, model: handing('builder') },
    { name: 'builder', requires, model: handing('checker') },
    { name: 'checker', requires, model: modelOf(deepestCalls(web), 'Checked.') },
    { name: 'scout', inspectable: true, model: modelOf([{ id: 'scout-glob', tool: 'glob', input: { pattern: '**/*.ts' } }], 'Seen.') },
  ]
}

const asking: Rule[] = ['write asked.txt', 'write asked-by-child.txt', 'net.fetch elsewhere.test', '* mcp:local:create*'].map((what) =>
  rule(`${what} ask`),
)

/** Options of a session that has all thirteen tools at work, over these servers. */
export async function stagedOptions(web: Web): Promise<Partial<SessionOptions>> {
  const hosts = ['*', `127.0.0.1:${web.port}`, `127.0.0.2:${web.port}`]
  const { url } = await startHttp()
  return {
    manifest: {
      name: 'whole',
      requires: { net: { hosts } },
      permissions: [...allowAll, ...webRules, ...asking],
      agents: agentsOf(web, hosts),
      mcpServers: { local: stdio(), remote: { url } },
    },
    enabledMcpServers: ['local', 'remote'],
    skills: { home: false },
    limits: { webFetchMs: 1_000, webFetchRawBytes: 1_000_000 },
    host: { webSearch: [searxng({ baseUrl: web.open.origin })], lookup: web.lookup },
  }
}

/** A skill for the workspace. */
export const skillFile = [
  '.agents/skills/noting/SKILL.md',
  '---\nname: noting\ndescription: How changes are noted\n---\nWrite them down.\n',
] as const
