// A session without a model: calls, refusals, a rule that the user makes, and the same calls replayed.
//   node examples/contract/session.mjs
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { createSession, networkWatchdog, replaySession } from 'toolwright/contract'

const workspace = mkdtempSync(join(tmpdir(), 'contract-'))
writeFileSync(join(workspace, 'notes.txt'), 'first note\n')

try {
  const journal = await openJournal('memory:')
  const session = await createSession({
    workspace,
    manifest: {
      name: 'example',
      permissions: [
        { permission: 'read', pattern: '**', action: 'allow' },
        { permission: 'fs.write', pattern: '**/*.lock', action: 'deny' },
        { permission: 'bash', pattern: '*', action: 'allow' },
      ],
    },
    watchdog: networkWatchdog(),
    host: {
      prompt: ({ tool, subjects }) => {
        console.log(`  (asked for ${tool} of ${subjects.map(({ resource }) => resource).join(', ')}: always)`)
        return 'allow_always'
      },
    },
    onRule: (rule) => console.log(`  (kept: ${rule.permission} ${rule.pattern} ${rule.action})`),
    journal,
  })

  const calls = [
    ['read', { path: 'notes.txt' }],
    ['read', { path: '../../etc/passwd' }],
    ['write', { path: 'notes.txt', content: 'second note\n' }],
    ['write', { path: 'yarn.lock', content: '' }],
    ['bash', { command: 'wc -l notes.txt' }],
    ['bash', { command: 'curl https://example.com' }],
    ['edit', { path: 7 }],
  ]
  const given = []
  for (const [tool, args] of calls) {
    const envelope = await session.call(tool, args)
    given.push(envelope)
    console.log(`${tool} ${JSON.stringify(args)}\n  ${envelope.metadata.code}: ${envelope.error_text ?? JSON.stringify(envelope.data)}`)
  }
  await session.close()

  const replay = await replaySession(journal, session.id)
  for (const [index, [tool, args]] of calls.entries()) {
    const again = await replay.call(tool, args)
    if (JSON.stringify(again) !== JSON.stringify(given[index])) throw new Error(`call ${index} differs`)
  }
  replay.finish()
  console.log(`${calls.length} calls replayed, byte for byte`)
  await journal.close()
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
