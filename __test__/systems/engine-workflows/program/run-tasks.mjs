import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { Effect } from 'effect'
import { createElement } from 'react'
import { closeSingleRunnerRuntime, createSmithers, runWorkflow } from 'smithers-orchestrator'
import { z } from 'zod'
import { script } from '../../../support/scripted-model.ts'

/** What the scripted agents were asked: one entry for each time a model was called. */
const prompts = []

/**
 * An agent of the AI SDK whose model says `turns`, one after the other. A turn that is an error
 * makes the model, and with it the attempt, fail.
 */
export function scriptedAgent(tools, turns) {
  const answers = script(...turns.map((turn) => (turn instanceof Error ? '' : turn)))
  let next = 0
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const users = prompt.filter(({ role }) => role === 'user')
      prompts.push(users.flatMap(({ content }) => content.map(({ text }) => text)).join('\n'))
      const turn = next++
      if (turns[turn] instanceof Error) throw turns[turn]
      if (answers[turn] === undefined) throw new Error('the script has no more turns')
      return answers[turn]
    },
  })
  return new ToolLoopAgent({ model, tools })
}

/**
 * Runs a workflow of the engine and writes `report.json`. Database and root directory are in the
 * current directory. `tasks` are the properties of its tasks, in order; `options` go to the run;
 * `report` gives what else is reported, when the run has ended.
 */
export async function runTasks(tasks, options = {}, report = () => ({})) {
  const { Workflow, Task, smithers, outputs } = createSmithers({ result: z.object({ done: z.boolean() }) }, { dbPath: resolve('run.db') })
  const elements = tasks.map((task, index) =>
    createElement(
      Task,
      {
        key: task.id,
        output: outputs.result,
        retryPolicy: { backoff: 'fixed', initialDelayMs: 0 },
        dependsOn: tasks.slice(0, index).map(({ id }) => id),
        noRetry: task.retries === undefined,
        ...task,
      },
      `Do ${task.id}.`,
    ),
  )
  const workflow = smithers(() => createElement(Workflow, { name: 'chores' }, ...elements))
  const run = { input: {}, runId: 'run', rootDir: resolve('root'), logDir: null, ...options }
  const { status } = await Effect.runPromise(runWorkflow(workflow, run))
  await closeSingleRunnerRuntime()
  writeFileSync('report.json', JSON.stringify({ status, prompts, ...(await report()) }))
}
