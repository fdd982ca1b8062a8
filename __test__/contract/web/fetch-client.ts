/** Fetches the URLs of its arguments, one after the other, and prints the envelopes; names lead to loopback. */
import { createSession } from 'toolwright/contract'

const [workspace = '', port = '', ...urls] = process.argv.slice(2)
const session = await createSession({
  workspace,
  manifest: {
    name: 'client',
    requires: { net: { hosts: [`127.0.0.1:${port}`, `*.test:${port}`] } },
    permissions: ['*', '127.0.0.1'].map((pattern) => ({ permission: '*', pattern, action: 'allow' })),
  },
  host: { lookup: () => ['127.0.0.1'] },
  limits: { webFetchMs: 5_000 },
})
const envelopes = []
for (const url of urls) envelopes.push(await session.call('web_fetch', { url }))
await session.close()
console.log(JSON.stringify(envelopes))
