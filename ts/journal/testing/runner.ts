import assert from 'node:assert/strict'
import type { Journal } from '../journal.js'
import type { NewToolCall, TaskId, ToolCallRow } from '../journal-store.js'

/** The part of a test runner that the suite needs. Vitest, Jest, Bun and `node:test` all have it. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown
  test(name: string, run: () => Promise<void>): unknown
}

/** The store that is tested. */
export interface JournalSubject {
  /** The name in the titles of the tests. */
  name: string
  /** Opens a journal on an empty store. */
  open(): Promise<Journal>
  /**
   * Opens two journals on one empty store, as two processes would. Without it, what concerns two of them is not tested.
   * @default none
   */
  openTwo?: (() => Promise<readonly [Journal, Journal]>) | undefined
}

export const task: TaskId = { runId: 'run', nodeId: 'node', iteration: 0 }

/** A call with a side effect. */
export const effect = (seq: number, more: Partial<NewToolCall> = {}): NewToolCall => ({
  ...task,
  attempt: 1,
  seq,
  toolName: 'pay',
  inputJson: `{"n":${seq}}`,
  sideEffect: true,
  idempotent: false,
  ...more,
})

export const done = { status: 'success', outputJson: '"ok"' } as const

/** The code of what something throws. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act()
    return undefined
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

export const statuses = (rows: readonly ToolCallRow[]): string[] => rows.map(({ status }) => status)

/** Checks some fields of a row. */
export function assertRow(row: ToolCallRow | undefined, fields: Partial<ToolCallRow>): void {
  assert.ok(row !== undefined, 'there is no row')
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(row[name as keyof ToolCallRow], value, name)
}

const KIND = Symbol('any value of a type')

/** Stands for any value of a type in `assertEqual` and `assertMatches`. */
export const any = (type: 'string' | 'number'): never => ({ [KIND]: type }) as never

/** Checks that a value has all that is expected. Unless it is `exact`, its objects may have more fields. */
export function assertMatches(actual: unknown, expected: unknown, at = 'the value', exact = false): void {
  const kind = (expected as { [KIND]?: string } | null)?.[KIND]
  if (kind !== undefined) return assert.equal(typeof actual, kind, at)
  if (typeof expected !== 'object' || expected === null) return assert.deepEqual(actual, expected, at)
  assert.ok(typeof actual === 'object' && actual !== null, `${at} is ${String(actual)}`)
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, `${at}: the number of items`)
  if (exact) assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), at)
  for (const [name, value] of Object.entries(expected)) {
    assertMatches((actual as Record<string, unknown>)[name], value, `${at}.${name}`, exact)
  }
}

export const assertEqual = (actual: unknown, expected: unknown): void => assertMatches(actual, expected, undefined, true)
