import { openJournal, runTask, type OpenJournalOptions, type RunTaskOptions, type Task, type ToolCallRow } from 'toolwright'
import { onTestFinished } from 'vitest'
import { makeSandbox } from './sandbox.ts'

/** A root, and attempts of one task that are recorded in a journal beside it. */
export async function openTaskScene(options?: OpenJournalOptions) {
  const fixture = makeSandbox()
  const file = fixture.at('../runs.db')
  const journal = await openJournal(`file:${file}`, options)
  onTestFinished(() => journal.close())
  const run = <T>(fn: (task: Task) => T | Promise<T>, more: Partial<RunTaskOptions> = {}) =>
    runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root, ...more }, fn)
  const rows = async (): Promise<ToolCallRow[]> => journal.listToolCalls('run', 'node', 0)
  return { fixture, file, journal, run, rows }
}
