// A host over TLS in a process of its own: short pages, and a body of as many bytes as `?bytes=` says, at most `&rate=` of them in a second.
import { createServer } from 'node:https'
import { generate } from 'selfsigned'

const PIECE = Buffer.alloc(1 << 20, 'x')
const NAME = 'bench.test'

const ca = await generate([{ name: 'commonName', value: 'Authority of a measurement' }], {
  extensions: [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
  ],
})
const leaf = await generate([{ name: 'commonName', value: NAME }], {
  ca: { key: ca.private, cert: ca.cert },
  extensions: [
    { name: 'basicConstraints', cA: false },
    { name: 'subjectAltName', altNames: [{ type: 2, value: NAME }] },
  ],
})

const server = createServer({ key: leaf.private, cert: leaf.cert }, (request, response) => {
  const { searchParams } = new URL(request.url, 'https://x')
  const bytes = Number(searchParams.get('bytes') ?? 0)
  const rate = Number(searchParams.get('rate') ?? Number.POSITIVE_INFINITY)
  response.setHeader('content-type', 'application/octet-stream')
  response.setHeader('content-length', bytes)
  const begun = performance.now()
  let sent = 0
  const send = () => {
    while (sent < bytes) {
      const early = (sent / rate) * 1000 - (performance.now() - begun)
      if (early > 1) return void setTimeout(send, early)
      sent += PIECE.length
      if (!response.write(PIECE)) return void response.once('drain', send)
    }
    response.end()
  }
  send()
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, ca: ca.cert }))
process.on('disconnect', () => process.exit())
