// The services that the document's examples call, as small as they can be.
const articles = ['Refunds', 'Returns', 'Receipts', 'Shipping'].map((title) => ({ title, category: title[0] as string }))

/** Articles whose titles have the query. */
export async function searchKnowledgeBase(query: string) {
  return articles.filter(({ title }) => title.toLowerCase().includes(query.toLowerCase()))
}

export async function searchArticles({ query, limit, category }: { query: string; limit: number; category?: string }) {
  if (query === 'broken') throw new Error('index not available')
  const matching = (await searchKnowledgeBase(query)).filter((article) => category === undefined || article.category === category)
  return { results: matching.slice(0, limit), total: matching.length, offset: 0, limit }
}

export async function fetchWeather(location: string, units: 'celsius' | 'fahrenheit') {
  return { location, units, degrees: units === 'celsius' ? 21 : 70 }
}

export async function searchVectorStore(id: unknown, query: string, maxResults: number) {
  return { id, query, maxResults }
}

export async function processPayment(amount: number, currency: string) {
  if (amount > 1000) throw new Error(`limit is 1000 ${currency}`)
  return { transactionId: `tx-${amount}-${currency}` }
}

export async function generateImage(prompt: string) {
  return { base64: Buffer.from(`\u0089PNG ${prompt}`, 'latin1').toString('base64') }
}

export async function createTicket(ticket: { title: string }) {
  return { id: 7, ...ticket }
}
