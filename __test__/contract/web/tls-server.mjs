/**
 * A server over TLS that shows each name its own certificate: JSON on stdin, by name, `""` without one. Prints its
 * port, and then the name that each connection asked for and the host that each request names.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { createSecureContext } from 'node:tls'

const certificates = JSON.parse(readFileSync(0, 'utf8'))
const SNICallback = (name, done) => done(null, createSecureContext(certificates[name] ?? certificates['']))
const server = createServer({ ...certificates[''], SNICallback }, (request, response) => {
  console.log(`request ${request.headers.host} ${request.socket.servername || '-'} ${request.socket.localAddress}`)
  if (request.url?.startsWith('/to?') === true) response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end()
  else response.writeHead(200, { 'content-type': 'text/plain' }).end('over TLS')
})
server.on('tlsClientError', () => console.log('refused'))
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`))
