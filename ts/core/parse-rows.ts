/**
 * Parses the rows of an answer, which are JSON texts of arrays. Between two texts, the event loop gets a turn.
 *
 * @param rowOf converts a parsed item into a row. @default the item itself
 */
export async function parseRows<Row, Parsed = Row>(texts: readonly string[], rowOf?: (parsed: Parsed) => Row): Promise<Row[]> {
  const rows: Row[] = []
  for (const [index, text] of texts.entries()) {
    if (index > 0) await new Promise(setImmediate)
    const parsed = JSON.parse(text) as Parsed[]
    for (const one of parsed) rows.push(rowOf === undefined ? (one as unknown as Row) : rowOf(one))
  }
  return rows
}

/** Parses the row of an answer that is one JSON text or nothing. */
export function parseRow<Row>(text: string | null): Row | undefined {
  return text === null ? undefined : (JSON.parse(text) as Row)
}

/** The object in a recorded JSON text; `undefined` for anything else. */
export function parseObject(json: string | null): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
