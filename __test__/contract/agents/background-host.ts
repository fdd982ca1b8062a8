/** A host whose tasks in the background hang, finish and fail; it is killed by the test that starts it. */
import { openJournal } from 'toolwright'
import { createSession } from 'toolwright/contract'

const [workspace = '', file = ''] = process.argv.slice(2)
const journal = await openJournal(`file:${file}`)
const names = ['told', 'hangs', 'finishes', 'fails']
const session = await createSession({
  id: 'restarted',
  workspace,
  manifest: { name: 'root', agents: names.map((name) => ({ name })) },
  host: {
    spawn: async ({ agent: { name }, session: child }) => {
      await child.call('todo', { todos: [] })
      if (name === 'hangs') await new Promise(() => undefined)
      if (name === 'fails') throw new Error('no luck')
      return `What ${name} gave.`
    },
  },
  journal,
})
const begin = (subagent_type: string) => session.call('task', { subagent_type, prompt: 'x', background: true }, { callId: subagent_type })
const ended = async (count: number): Promise<void> => {
  const rows = async () =>
    (await journal.listRun(session.id)).filter(({ nodeId, status }) => nodeId === 'contract/background' && status !== 'started')
  while ((await rows()).length < count) await new Promise((resolve) => setTimeout(resolve, 10))
}
await begin('told')
await ended(1)
// A step that has the message, and the next one: by then the parent has been told.
await session.prepareStep({ messages: [] })
await session.prepareStep({ messages: [] })
for (const name of names.slice(1)) await begin(name)
await ended(3)
console.log('ready')
setInterval(() => undefined, 1_000)
