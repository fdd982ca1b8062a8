/** The thread of `argument-checks.ts`: receives a schema and arguments, and sends the problems back. */
import { parentPort } from 'node:worker_threads'
import type { JsonSchema } from '../../registry/contract-tool.js'
import { problemFinder } from './schema-problems.js'

parentPort?.on('message', ({ schema, args }: { schema: JsonSchema; args: unknown }) => {
  parentPort?.postMessage({ problems: problemFinder(schema)(args) }, [])
})
parentPort?.postMessage({ ready: true }, [])
