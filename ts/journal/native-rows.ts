import type { ToolCallRow } from './journal-store.js'

/** The fields of a row, in the order of `src/journal/rows.rs`. */
type Fields = [
  row: number,
  runId: string,
  nodeId: string,
  iteration: number,
  attempt: number,
  seq: number,
  callToken: string | null,
  toolName: string,
  inputJson: string | null,
  outputJson: string | null,
  startedAtMs: number,
  finishedAtMs: number | null,
  status: ToolCallRow['status'],
  statusText: string,
  errorJson: string | null,
  kind: string | null,
  sideEffect: boolean | null,
  idempotent: boolean | null,
  acceptsIdempotencyKey: boolean | null,
  hasRevert: boolean | null,
  idempotencyKey: string | null,
  revertStatus: string | null,
  revertedAtMs: number | null,
  revertErrorJson: string | null,
  forcedPastJson: string | null,
  argsHash: string | null,
  ordinal: number | null,
  outputBytes: number | null,
  isCut: boolean,
  acted: boolean,
]

/** The rows of an answer. Between two of its texts the event loop gets its turn. */
export async function parseRows(texts: readonly string[] = []): Promise<ToolCallRow[]> {
  const rows: ToolCallRow[] = []
  for (const [index, text] of texts.entries()) {
    if (index > 0) await new Promise(setImmediate)
    for (const fields of JSON.parse(text) as Fields[]) rows.push(named(fields))
  }
  return rows
}

function named(fields: Fields): ToolCallRow {
  return {
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
    isCut: fields[28],
    acted: fields[29],
  }
}
