// Works in forks until it is killed: `kills-process.ts DOOR WORKSPACE MARK`. Every change of the workspace is one of twelve files together.
import { mkdirSync } from 'node:fs'
import { createSession, type ChildAgent, type Session } from 'toolwright/contract'

const [door = '', workspace = '', mark = ''] = process.argv.slice(2)
const permissions = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' as const }))
const files = Array.from({ length: 12 }, (_, number) => `d${number % 3}/f${number}`)
mkdirSync(workspace, { recursive: true })

/** Writes the next number to each file, by tools and by a command that leaves a process. */
async function work(session: Pick<Session, 'call'>): Promise<void> {
  const read = await session.call('read', { path: files[0] })
  const next = Number((read as { data: { content: string } }).data.content) + 1
  const byTools = files.slice(0, 6)
  await Promise.all(byTools.map((path) => session.call('write', { path, content: String(next) })))
  const command = `(sleep ${mark} &); for f in ${files.slice(6).join(' ')}; do printf ${next} > $f; done; rm -rf made; mkdir made; touch made/${next}`
  await session.call('bash', { command })
}

/** A session in a fork of its workspace. */
async function sessions(round: number): Promise<void> {
  const session = await createSession({ workspace, fork: true, manifest: { name: 'lead', permissions } })
  console.log('works')
  await work(session)
  const { conflicts } = (await session.fork?.apply()) ?? { conflicts: [] }
  if (conflicts.length > 0) throw new Error(JSON.stringify(conflicts))
  if (round % 2 === 1) await session.fork?.undo()
  await session.close()
}

/** Two subagents at once, each in a fork of its own, of which one is applied. */
async function subagents(): Promise<void> {
  const session = await createSession({
    workspace,
    manifest: { name: 'lead', permissions, agents: [{ name: 'apart', isolation: 'fork' }] },
    host: { spawn: async (child: ChildAgent) => (await work(child.session), 'done') },
  })
  console.log('works')
  const task = () => session.call('task', { subagent_type: 'apart', prompt: 'Go.' })
  const [one, other] = (await Promise.all([task(), task()])) as { data: { fork: { id: string } } }[]
  await session.forks.apply(String(one?.data.fork.id))
  for (const { data } of [one, other] as { data: { fork: { id: string } } }[]) await session.forks.discard(data.fork.id)
  await session.close()
}

for (let round = 0; ; round += 1) await (door === 'subagents' ? subagents() : sessions(round))
