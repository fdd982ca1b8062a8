import type { ToolCallRow } from '../../ts/journal/journal-store.ts'

/** 2026-11-20 14:33:59 UTC */
export const NOON = Date.UTC(2026, 10, 20, 14, 33, 59)

/** A row of a journal, with what a test says of it. */
export function recorded(call: Partial<ToolCallRow> = {}): ToolCallRow {
  return {
    row: 1,
    runId: 'r1',
    nodeId: 'work',
    iteration: 0,
    attempt: 1,
    seq: 1,
    toolName: 'read',
    inputJson: '{"path":"src/main.ts"}',
    outputJson: '"text"',
    startedAtMs: NOON,
    finishedAtMs: NOON + 15,
    status: 'success',
    statusText: 'success',
    errorJson: null,
    outputBytes: null,
    isCut: false,
    acted: true,
    callToken: null,
    kind: null,
    sideEffect: null,
    idempotent: null,
    acceptsIdempotencyKey: null,
    hasRevert: null,
    idempotencyKey: null,
    revertStatus: null,
    revertedAtMs: null,
    revertErrorJson: null,
    forcedPastJson: null,
    argsHash: null,
    ordinal: null,
    ...call,
  }
}
