import type { JournalStore, TaskId, TaskStart } from './journal-store.js'

/** Begins an attempt in a store that cannot do so at once. */
export async function beginTask(store: JournalStore, task: TaskId, wanted?: number): Promise<TaskStart> {
  const attemptAfter = (last: { attempt: number } | undefined): number => (last?.attempt ?? 0) + 1
  const lock = await store.lockTask(task, wanted ?? attemptAfter(await store.lastAttempt(task)))
  try {
    await store.recover()
    // Its last holder may have made calls since the attempts were counted.
    const last = await store.lastAttempt(task)
    const attempt = wanted ?? attemptAfter(last)
    // An attempt that is continued, perhaps in another process, may have left effects of its own.
    const isContinued = last !== undefined && attempt <= last.attempt
    const priorEffects = await store.priorEffects(task, isContinued ? attempt + 1 : attempt)
    const { runId, nodeId, iteration } = task
    const all = isContinued ? await store.listToolCalls(runId, nodeId, iteration, { outline: true }) : []
    return { lock, attempt, last, priorEffects, made: all.filter((row) => row.attempt === attempt) }
  } catch (error) {
    await lock.release()
    throw error
  }
}
