/** Makes one approved call in a process of its own: the same conversation reaches several of them at once. */
import { openJournal } from 'toolwright'
import { createSession } from 'toolwright/contract'

const [id = '', workspace = '', location = '', messages = '', callId = '', input = ''] = process.argv.slice(2)
const journal = await openJournal(location)
const permissions = [{ permission: '*', pattern: '**', action: 'ask' as const }]
const session = await createSession({ id, workspace, journal, manifest: { name: 'test', permissions } })
process.stdout.write('ready\n')
// Both begin at the same moment.
await new Promise((resolve) => setTimeout(resolve, Number(process.argv[8]) - Date.now()))
const envelope = await session.tools.write.execute?.(JSON.parse(input), { toolCallId: callId, messages: JSON.parse(messages) } as never)
const { metadata, error_text = '' } = envelope as { metadata: { code: string }; error_text?: string }
process.stdout.write(`${metadata.code}\n${error_text}`)
await session.close()
await journal.close()
