/** Records a call that begins, and is killed before it ends. */
import process from 'node:process'
import { openJournal } from 'toolwright'

const journal = await openJournal(process.argv[2] ?? '')
await journal.insertToolCall({
  runId: 'r',
  nodeId: 'work',
  attempt: 1,
  seq: 1,
  toolName: 'bash',
  inputJson: '{"cmd":"npm","args":["test"]}',
  sideEffect: true,
})
await journal.flush()
process.kill(process.pid, 'SIGKILL')
