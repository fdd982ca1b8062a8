// A worker of either engine: `scene-worker.ts ENGINE ENGINES URL SERVICE DIES WHERE`, where DIES is the number of the call of a tool after
// which it kills itself, before the engine has kept it, or 0. WHERE is the port of Restate's worker, or `SCENE TASK` for DBOS.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { openJournal } from 'toolwright'
import { dbosSteps, restateSteps, type Step } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { runScene, type Scene, type SceneEnd } from './scenes.ts'

const [engine = '', engines = '', url = '', service = '', dies = '', ...where] = process.argv.slice(2)
const load = async (name: string): Promise<unknown> => import(pathToFileURL(createRequire(`${engines}/`).resolve(name)).href)
const pool = new Pool({ connectionString: url, max: 12 })
pool.on('error', () => undefined)
const journal = await openJournal(postgresStore(pool, { leaseMs: 500, migrate: false }))

let calls = 0
/** Steps, of which one is the last thing that this process does. */
const mortal =
  (step: Step): Step =>
  (name, fn) =>
    step(name, async () => {
      const value = await fn()
      if (name.startsWith('tool ') && (calls += 1) === Number(dies)) {
        process.kill(process.pid, 'SIGKILL')
        await new Promise(() => undefined)
      }
      return value
    })
const run = (scene: Scene, task: string, step: Step, finalError?: (error: Error) => Error): Promise<SceneEnd> =>
  runScene({ scene, task, service, journal, step: mortal(step), ...(finalError && { finalError }) })

if (engine === 'Restate') {
  interface Context {
    run<T>(name: string, fn: () => Promise<T>): Promise<T>
  }
  const restate = (await load('@restatedev/restate-sdk')) as {
    TerminalError: new (message: string) => Error
    service(definition: object): unknown
    serve(options: { services: unknown[]; port: number }): Promise<number>
  }
  const handler = (ctx: Context, { scene, task }: { scene: Scene; task: string }) =>
    run(scene, task, restateSteps(ctx), (error) => new restate.TerminalError(error.message))
  await restate.serve({ services: [restate.service({ name: 'agent', handlers: { run: handler } })], port: Number(where[0]) })
  console.log('ready')
} else {
  const { DBOS } = (await load('@dbos-inc/dbos-sdk')) as {
    DBOS: {
      setConfig(config: object): void
      registerWorkflow<A extends unknown[]>(fn: (...args: A) => Promise<SceneEnd>, options: object): (...args: A) => Promise<SceneEnd>
      launch(): Promise<void>
      runStep<T>(fn: () => Promise<T>, config: { name: string }): Promise<T>
      startWorkflow<A extends unknown[]>(
        fn: (...args: A) => Promise<SceneEnd>,
        options: { workflowID: string },
      ): (...args: A) => Promise<{ getResult(): Promise<SceneEnd> }>
    }
  }
  const [scene = '', task = ''] = where as [Scene, string]
  const config = { systemDatabasePool: pool, systemDatabaseUrl: url, logLevel: 'error', runAdminServer: false }
  DBOS.setConfig({ name: 'scenes', executorID: task, applicationVersion: '1', ...config })
  const workflow = DBOS.registerWorkflow((name: Scene, id: string) => run(name, id, dbosSteps(DBOS)), { name: 'scene' })
  await DBOS.launch()
  const handle = await DBOS.startWorkflow(workflow, { workflowID: task })(scene as Scene, task)
  console.log(JSON.stringify(await handle.getResult()))
  process.exit(0)
}
