import type { ToolCallRow } from './journal-store.js'

/**
 * The row of a call from the addon's array of its fields, in the order of `crates/journal/src/call.rs`. A literal is made
 * several times faster than an object whose names are data.
 */
export function callRow(fields: readonly unknown[]): ToolCallRow {
  const row: Record<keyof ToolCallRow, unknown> = {
    row: fields[0],
    runId: fields[1],
    nodeId: fields[2],
    iteration: fields[3],
    attempt: fields[4],
    seq: fields[5],
    callToken: fields[6],
    toolName: fields[7],
    inputJson: fields[8],
    outputJson: fields[9],
    startedAtMs: fields[10],
    finishedAtMs: fields[11],
    status: fields[12],
    statusText: fields[13],
    errorJson: fields[14],
    kind: fields[15],
    sideEffect: fields[16],
    idempotent: fields[17],
    acceptsIdempotencyKey: fields[18],
    hasRevert: fields[19],
    idempotencyKey: fields[20],
    revertStatus: fields[21],
    revertedAtMs: fields[22],
    revertErrorJson: fields[23],
    forcedPastJson: fields[24],
    argsHash: fields[25],
    ordinal: fields[26],
    outputBytes: fields[27],
    acted: fields[28],
    isCut: fields[29],
    seen: fields[30],
  }
  return row as ToolCallRow
}
