/** What runs on the thread of `check-thread.ts`: a schema and arguments in, what is wrong with them out. */
import { parentPort } from 'node:worker_threads'
import type { JsonSchema } from '../../registry/contract-tool.js'
import { problemFinder } from './schema-problems.js'

parentPort?.on('message', ({ schema, args }: { schema: JsonSchema; args: unknown }) => {
  parentPort?.postMessage({ problems: problemFinder(schema)(args) }, [])
})
parentPort?.postMessage({ ready: true }, [])
