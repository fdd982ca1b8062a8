/** The rows of an answer, which are JSON texts of arrays. Between two texts the event loop gets its turn. */
export async function parseRows<Row>(texts: readonly string[]): Promise<Row[]> {
  const [first] = texts
  if (first === undefined) return []
  const rows = JSON.parse(first) as Row[]
  for (const text of texts.slice(1)) {
    await new Promise(setImmediate)
    for (const row of JSON.parse(text) as Row[]) rows.push(row)
  }
  return rows
}

/** The row of an answer that is one JSON text, or nothing. */
export function parseRow<Row>(text: string | null): Row | undefined {
  return text === null ? undefined : (JSON.parse(text) as Row)
}
