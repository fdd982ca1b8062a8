// Journals as metrics of OpenTelemetry, with its own SDK.
import { type MetricData, MetricReader } from '@opentelemetry/sdk-metrics'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { openJournal, runTask } from 'toolwright'
import { instrumentJournals } from 'toolwright/otel'
import { postgresStore } from 'toolwright/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from './servers.ts'

const own = useServer()

/** A reader that is asked by the test. */
class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

function meters() {
  const reader = new Reader()
  const provider = new MeterProvider({ readers: [reader] })
  const instrumentation = instrumentJournals({ meter: provider.getMeter('test') })
  onTestFinished(async () => {
    instrumentation.dispose()
    await provider.shutdown()
  })
  /** All points of one store, by the name of their instrument. */
  const collected = async (store: string): Promise<Record<string, { value: never; attributes: object }[]>> => {
    const { resourceMetrics } = await reader.collect()
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope): MetricData[] => scope.metrics)
    return Object.fromEntries(
      metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name.replace('toolwright.journal.', ''),
        (dataPoints as never[]).filter(({ attributes }: { attributes: { store: string } }) => attributes.store === store),
      ]),
    )
  }
  return { collected, instrumentation }
}

const call = { runId: 'run', nodeId: 'node', attempt: 1, toolName: 'pay', sideEffect: true }

test('writes, locks, leases and owners of a journal', async () => {
  const { collected, instrumentation } = meters()
  const schema = own.schema()
  const store = postgresStore(own.pool, { schema, location: 'one' })
  const journal = await openJournal(store)
  await Promise.all(
    Array.from({ length: 40 }, async (_, seq) =>
      journal.updateToolCall(await journal.insertToolCall({ ...call, seq: seq + 1 }), { status: 'success' }),
    ),
  )
  await runTask({ journal, runId: 'task', nodeId: 'node' }, async () => {
    await expect(runTask({ journal, runId: 'task', nodeId: 'node' }, async () => undefined)).rejects.toMatchObject({
      code: 'JOURNAL_TASK_LOCKED',
    })
  })
  const metrics = await collected('one')
  const rows = metrics['write.rows'] as unknown as { value: { sum: number; count: number } }[]
  // 40 intents and 40 outcomes, written together where they came together.
  expect(rows[0]?.value.sum).toBe(80)
  expect(rows[0]?.value.count).toBeLessThan(40)
  for (const name of ['write.duration', 'queue.duration']) {
    const [{ value } = { value: undefined as never }] = metrics[name] as unknown as { value: { count: number; max: number } }[]
    expect(value.count).toBe(rows[0]?.value.count)
    // In seconds.
    expect(value.max).toBeLessThan(10)
  }
  expect(metrics['write.duration']?.[0]?.attributes).toEqual({ store: 'one' })
  expect(metrics['lock.duration']?.map(({ attributes }) => attributes)).toEqual([
    { store: 'one', lock: 'task', outcome: 'taken' },
    { store: 'one', lock: 'task', outcome: 'held' },
  ])
  expect(metrics['leases']).toMatchObject([{ attributes: { event: 'opened' }, value: 1 }])
  expect(metrics['queue']).toMatchObject([{ value: 0 }])
  expect(metrics['owners']).toMatchObject([
    { attributes: { state: 'alive' }, value: 1 },
    { attributes: { state: 'silent' }, value: 0 },
  ])

  // Another process is silent, and then has taken over from this one.
  await own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch'`)
  expect((await collected('one'))['owners']).toMatchObject([{ value: 0 }, { value: 1 }])
  const other = await openJournal(postgresStore(own.pool, { schema, location: 'other' }))
  await other.recover()
  await expect(Promise.resolve(journal.insertToolCall({ ...call, seq: 100 }))).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  const after = await collected('one')
  expect(after['leases']).toContainEqual(expect.objectContaining({ attributes: { store: 'one', event: 'lost' }, value: 1 }))
  await other.close()
  await journal.close()
  const statements = store.statements
  await collected('one')
  expect(store.statements).toBe(statements)
  instrumentation.dispose()
})

test('rows that wait for a server are counted, and a server that does not answer is a gap', async () => {
  const { collected } = meters()
  const schema = own.schema()
  await own.open({ schema }).migrate()
  let isSilent = false
  const client = {
    query: async (text: string, values: readonly (string | null)[]) => {
      if (isSilent) throw Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })
      return (await own.pool.query(text, [...values])).rows
    },
  }
  const journal = await openJournal(postgresStore(client, { schema, location: 'silent', patienceMs: 600 }))
  await journal.insertToolCall({ ...call, seq: 1 })
  isSilent = true
  const waiting = Array.from({ length: 5 }, (_, seq) => journal.insertToolCall({ ...call, seq: seq + 2 }))
  const ended = Promise.allSettled(waiting)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const metrics = await collected('silent')
  expect(metrics['queue']).toMatchObject([{ value: 5 }])
  expect(metrics['owners']).toEqual([])
  for (const one of await ended) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'JOURNAL_UNREACHABLE' } })
  const failed = (await collected('silent'))['write.duration']?.find(({ attributes }) => 'error.type' in attributes)
  expect(failed).toMatchObject({ attributes: { store: 'silent', 'error.type': 'JOURNAL_UNREACHABLE' } })
  isSilent = false
  await journal.close()
})

test('without a listener nothing is published, and nothing is asked', async () => {
  const store = own.open({ location: 'unheard' })
  const journal = await openJournal(store)
  await journal.insertToolCall({ ...call, seq: 1 })
  const before = store.statements
  const { collected, instrumentation } = meters()
  await collected('unheard')
  expect(store.statements).toBe(before + 1)
  instrumentation.dispose()
  await collected('unheard')
  expect(store.statements).toBe(before + 1)
  await journal.close()
})
