/**
 * A server that has the names that its certificate has: JSON with `key` and `cert` on stdin. Prints its ports as JSON, and then
 * the name that each connection over TLS asked for. Over TLS it answers `/sum` with a hash of what it was sent, `/much` with 100 MB
 * (`x-sum` has their hash), and below `/files/` with files of the directory of its argument.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'

const [directory = '/nowhere'] = process.argv.slice(2)
const { key, cert } = JSON.parse(readFileSync(0, 'utf8'))
// A client whose first key is for another group is asked to begin again.
const options = { key, cert, ecdhCurve: 'X25519:prime256v1' }
const context = createSecureContext(options)
const block = randomBytes(1 << 20)
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))

const secure = createServer({ ...options, SNICallback: (_, done) => done(null, context) }, (request, response) => {
  if (request.url === '/sum') {
    const hash = createHash('sha256')
    request.on('data', (part) => hash.update(part)).on('end', () => response.end(hash.digest('hex')))
  } else if (request.url === '/much') {
    const all = createHash('sha256')
    for (let count = 0; count < 100; count += 1) all.update(block)
    response.setHeader('x-sum', all.digest('hex'))
    let count = 0
    const send = () => {
      while (count < 100) {
        count += 1
        if (!response.write(block)) return response.once('drain', send)
      }
      return response.end()
    }
    send()
  } else if (request.url?.startsWith('/files/') === true) {
    try {
      response.end(readFileSync(join(directory, new URL(request.url, 'http://x').pathname.slice(7))))
    } catch {
      response.writeHead(404).end()
    }
  } else response.end(`${request.socket.servername || '-'} ${request.headers.host}\n`)
})
secure.on('secureConnection', (socket) => console.log(socket.servername || '-'))
// Connections that are reset before anything was said.
secure.on('tlsClientError', () => undefined)
const greeter = createPlainServer((socket) => {
  socket.on('error', () => undefined)
  socket.write('SSH-2.0-host\r\n')
  socket.once('data', (line) => socket.end(`heard ${line}`))
})
console.log(JSON.stringify({ secure: await listen(secure), greeter: await listen(greeter) }))
