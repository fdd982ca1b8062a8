/**
 * A program of two calls by their ids and a task: `faulty-program.ts <journal> <effects> <protection>`. It asks until it has an answer, as an
 * engine does, and prints what it was told.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, openJournal, runTask } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { z } from 'zod'

export type Protection = 'tell' | 'probe'
export const NAMES = ['one', 'two', 'task'] as const
export type Name = (typeof NAMES)[number]

/** How often each name was paid. */
export function paid(effects: string, name: Name): number {
  return existsSync(effects)
    ? readFileSync(effects, 'utf8')
        .split('\n')
        .filter((line) => line === name).length
    : 0
}

const MAX_TRIES = 5

/** @param told called with each answer: `paid`, or a code */
export async function execute(
  file: string,
  effects: string,
  protection: Protection,
  told: (name: Name | 'open' | 'close', answer: string) => void,
): Promise<void> {
  const tool = (name: Name) =>
    defineTool({
      name: `pay_${name}`,
      schema: z.object({}),
      sideEffect: true,
      usesIdempotencyKey: false,
      execute: () => {
        appendFileSync(effects, `${name}\n`)
        return 'paid'
      },
      ...(protection === 'probe' && {
        probe: async () => (paid(effects, name) > 0 ? { done: true as const, output: 'paid' } : { done: false as const }),
      }),
    })
  const answer = async (step: () => unknown): Promise<string> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return String(await step())
      } catch (error) {
        const code = String((error as { code?: unknown }).code ?? error)
        if (!code.startsWith('JOURNAL_') || tries === MAX_TRIES) return code
        await pause(20)
      }
    }
  }
  const opened = await openJournal(file).catch((error: unknown) => String((error as { code?: unknown }).code ?? error))
  if (typeof opened === 'string') return told('open', opened)
  const journal = opened
  for (const name of ['one', 'two'] as const) {
    told(name, await answer(() => callOnce(journal, { runId: 'run', callId: name, tool: tool(name), input: {} })))
  }
  const work = () => runTask({ journal, runId: 'run', nodeId: 'task', onReplayUnsafe: 'refuse' }, () => tool('task').execute({}))
  told('task', await answer(work))
  told('close', await answer(async () => void (await journal.close())))
}

if (process.argv[1] === import.meta.filename) {
  const [file = '', effects = '', protection = 'tell'] = process.argv.slice(2)
  await execute(file, effects, protection as Protection, (name, answer) => console.log(`${name} ${answer}`))
}
