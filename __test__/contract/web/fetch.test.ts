import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import type { SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'
import { type Answer, reaching, send, serve, until } from './web-server.ts'

/** A session that may reach a server with this answer. */
async function openPage(answer: Answer, options: Partial<SessionOptions> = {}) {
  const server = await serve(answer)
  const scene = await openScene({ ...reaching(['127.0.0.1']), ...options })
  const get = (path = '/', signal?: AbortSignal) =>
    scene.call('web_fetch', { url: server.origin + path }, signal === undefined ? {} : { signal })
  return { ...scene, server, get }
}

describe('R33 web_fetch', () => {
  test('R33 gives url, status, content_type and text; HTML as Markdown, links whole, scripts left out', async () => {
    const html =
      '<title>T</title><h1>Head</h1><script>evil()</script><style>p{}</style><p>A <b>bold</b> <a href="b?x=1">link</a></p><table><tr><th>A<th>B<tr><td>1<td>2</table>'
    const { get, server } = await openPage(send(html, 'text/html; charset=utf-8'))
    const data = dataOf(await get('/dir/page#part'))
    expect(Object.keys(data).sort()).toEqual(['content_type', 'status', 'text', 'url'])
    expect(data).toMatchObject({ url: `${server.origin}/dir/page`, status: 200, content_type: 'text/html' })
    expect(data.text).toContain('# Head')
    expect(data.text).toContain(`**bold** [link](${server.origin}/dir/b?x=1)`)
    expect(data.text).toMatch(/\|\s*1\s*\|\s*2\s*\|/u)
    expect(data.text).not.toMatch(/evil|p\{\}/u)
  })

  test('R33 plain text and JSON come as they are; an error status is a result', async () => {
    const { get } = await openPage((request, response) => {
      response.writeHead(request.url === '/json' ? 200 : 404, {
        'content-type': request.url === '/json' ? 'application/json' : 'text/plain',
      })
      response.end(request.url === '/json' ? '{"a": "<b>"}' : 'nothing <here>')
    })
    expect(dataOf(await get('/json'))).toMatchObject({ status: 200, content_type: 'application/json', text: '{"a": "<b>"}' })
    expect(dataOf(await get('/x'))).toMatchObject({ status: 404, text: 'nothing <here>' })
  })

  test.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'javascript:1',
    'about:blank',
    'example.com',
    '//example.com',
    'http://',
    'http://a b/',
    'http://x:0/',
  ])('R33 http and https only: %s is refused before anything is dialled', async (url) => {
    const { call } = await openScene(reaching(['*']))
    expect(failureOf(await call('web_fetch', { url })).code).toBe('invalid_arguments')
  })

  test('R33 a user name or a password in a URL is refused, and its text is nowhere in the answer', async () => {
    const { call } = await openScene(reaching(['*']))
    const { code, text } = failureOf(await call('web_fetch', { url: 'http://user:s3cret@example.com/' }))
    expect(code).toBe('invalid_arguments')
    expect(text).not.toMatch(/s3cret|user:/u)
  })

  test('R33 R19 exactly 200,000 bytes of text are whole, one more is cut, and all of it is in the file', async () => {
    // More raw than that: what counts is the text.
    const page = (text: string) => `<html><head><script>${'x'.repeat(300_000)}</script></head><body><pre>${text}</pre></body></html>`
    const { get, call } = await openPage((request, response) => {
      const bytes = Number(request.url?.slice(1))
      response.setHeader('content-type', bytes === 0 ? 'text/html' : 'text/plain')
      response.end(bytes === 0 ? page('short') : `${'é'.repeat(99_999)}${'a'.repeat(bytes - 199_998)}`)
    })
    const whole = await get('/200000')
    expect(whole.metadata.truncated).toBeUndefined()
    expect(Buffer.byteLength(dataOf(whole).text)).toBe(200_000)
    const cut = await get('/200001')
    expect(cut.metadata.truncated).toBe(true)
    expect(Buffer.byteLength(dataOf(cut).head)).toBe(200_000)
    expect(dataOf(cut).text).toBeUndefined()
    expect(dataOf(cut)).toMatchObject({ status: 200, content_type: 'text/plain' })
    expect(readFileSync(cut.metadata.output_path ?? '', 'utf8')).toHaveLength(99_999 + 3)
    expect(dataOf(await call('read', { path: cut.metadata.output_path, offset: 199_998 })).content).toBe('aaa')
    const extracted = await get('/0')
    expect(extracted.metadata.truncated).toBeUndefined()
    expect(dataOf(extracted).text).toContain('short')
  })

  test('R33 calls of a session: 25 by default, tunable; the next names the cap, and nothing is dialled', async () => {
    const { get, server } = await openPage(send('x'))
    for (let n = 0; n < 25; n += 1) expect((await get()).type).toBe('output')
    const { code, text } = failureOf(await get())
    expect(code).toBe('limit_reached')
    expect(text).toMatch(/25.*webFetchCalls/u)
    expect(server.requests).toHaveLength(25)
    const small = await openPage(send('x'), { limits: { webFetchCalls: 1 } })
    await small.get()
    expect(failureOf(await small.get()).text).toMatch(/\b1\b/u)
  })

  test('R33 64 parallel calls keep the cap exact, and refused ones do not count', async () => {
    const { call, get, server } = await openPage(send('<p>x</p>', 'text/html'))
    const refused = Array.from({ length: 10 }, () => call('web_fetch', { url: 'http://127.0.0.9/' }))
    const all = await Promise.all([...Array.from({ length: 64 }, () => get()), ...refused])
    const codes = all.map(({ metadata }) => metadata.code)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(25)
    expect(codes.filter((code) => code === 'limit_reached')).toHaveLength(39)
    expect(codes.filter((code) => code === 'capability_refused')).toHaveLength(10)
    expect(server.requests).toHaveLength(25)
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })
})

describe('R33 what a server may do', () => {
  test('R33 one that never answers, and one that drips, end at the timeout, with no socket left', async () => {
    const { get, server } = await openPage(
      (request, response) => {
        if (request.url === '/never') return
        response.writeHead(200, { 'content-type': 'text/plain' })
        const timer = setInterval(() => response.write('x'), 20)
        response.once('close', () => clearInterval(timer))
      },
      { limits: { webFetchMs: 250 } },
    )
    for (const path of ['/never', '/drip']) {
      const start = performance.now()
      const { code, text } = failureOf(await get(path))
      expect(code).toBe('timeout')
      expect(text).toContain('250 ms')
      expect(performance.now() - start).toBeLessThan(2_000)
    }
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })

  test('R33 one that never stops is cut off at the ceiling of a download', async () => {
    let sent = 0
    const { get, server } = await openPage(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' })
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536
          sent += 65_536
        }
        response.on('drain', more)
        more()
      },
      { limits: { webFetchRawBytes: 1_000_000 } },
    )
    const { code, text } = failureOf(await get())
    expect(code).toBe('too_large')
    expect(text).toContain('1000000')
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
    // What the pipes between hold comes on top.
    expect(sent).toBeLessThan(40_000_000)
  })

  test.each([
    ['gzip', gzipSync],
    // Its best takes two seconds, and is no smaller.
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })],
    ['deflate', deflateSync],
  ] as const)('R33 a bomb in %s stops at the ceiling', async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(100_000_000, 'a'))
    expect(bomb.length).toBeLessThan(200_000)
    const { get } = await openPage(send(bomb, 'text/plain', { 'content-encoding': encoding }))
    const before = process.memoryUsage().rss
    expect(failureOf(await get()).code).toBe('too_large')
    expect(process.memoryUsage().rss - before).toBeLessThan(90_000_000)
  })

  test('R33 every encoding that is asked for is undone; others, broken and cut ones are failures', async () => {
    const content = 'größe '.repeat(1000)
    const encoded: Record<string, [string, Buffer]> = {
      '/gzip': ['gzip', gzipSync(content)],
      '/x-gzip': ['x-gzip', gzipSync(content)],
      '/deflate': ['deflate', deflateSync(content)],
      '/raw': ['deflate', deflateRawSync(content)],
      '/br': ['br', brotliCompressSync(content)],
      '/identity': ['identity', Buffer.from(content)],
      '/empty': ['gzip', Buffer.alloc(0)],
      '/broken': ['gzip', Buffer.from('no gzip at all')],
      '/cut': ['gzip', gzipSync(content).subarray(0, 30)],
      '/unknown': ['compress', Buffer.from(content)],
      '/twice': ['gzip, gzip', gzipSync(gzipSync(content))],
    }
    const { get } = await openPage((request, response) => {
      const [encoding, body] = encoded[request.url ?? ''] ?? ['', Buffer.alloc(0)]
      send(body, 'text/plain; charset=utf-8', { 'content-encoding': encoding })(request, response)
    })
    for (const path of ['/gzip', '/x-gzip', '/deflate', '/raw', '/br', '/identity'])
      expect(dataOf(await get(path)).text, path).toBe(content)
    expect(dataOf(await get('/empty')).text).toBe('')
    for (const path of ['/broken', '/cut', '/unknown', '/twice']) expect(failureOf(await get(path)).code, path).toBe('network_failed')
  })

  test('R33 what is closed early, nothing that listens, and no HTTP are failures that say so', async () => {
    const { get, call, server } = await openPage((request, response) => {
      if (request.url === '/early') {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' })
        response.write('x', () => response.destroy())
      } else request.socket.end('SSH-2.0-none\r\n')
    })
    expect(failureOf(await get('/early')).code).toBe('network_failed')
    expect(failureOf(await get('/ssh')).code).toBe('network_failed')
    const gone = await serve(send('x'), '127.0.0.1')
    expect(gone.port).not.toBe(server.port)
    const { code, text } = failureOf(await call('web_fetch', { url: 'http://127.0.0.1:1/' }))
    expect(code).toBe('network_failed')
    expect(text).toMatch(/127\.0\.0\.1:1.*nothing listens/u)
  })

  test('R33 headers without an end, a change of protocol and an answer without a body end within the time', async () => {
    const { get, server } = await openPage(
      (request, response) => {
        if (request.url === '/empty') response.writeHead(204).end()
        else if (request.url === '/upgrade')
          request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
        else request.socket.write(`HTTP/1.1 200 OK\r\n${'X-Long: '.padEnd(8_000, 'x')}\r\n` + `X-A: ${'a'.repeat(7_000)}\r\n`.repeat(100))
      },
      { limits: { webFetchMs: 1_000 } },
    )
    expect(dataOf(await get('/empty'))).toMatchObject({ status: 204, text: '' })
    for (const path of ['/upgrade', '/headers']) expect(['network_failed', 'timeout'], path).toContain(failureOf(await get(path)).code)
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })

  test('R6 R33 an abort ends a fetch at once, whatever it waits for', async () => {
    const { get, server } = await openPage((request, response) => {
      if (request.url === '/body') response.writeHead(200, { 'content-type': 'text/plain' }).write('x')
    })
    for (const path of ['/head', '/body']) {
      const start = performance.now()
      expect(failureOf(await get(path, AbortSignal.timeout(60))).code).toBe('aborted')
      expect(performance.now() - start).toBeLessThan(1_000)
    }
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })

  test('R33 pages that are hard to read end within the time, and the event loop stays free', async () => {
    const pages: Record<string, string> = {
      '/nested': '<table><tr><td>'.repeat(300_000),
      '/open': '<a href="'.repeat(400_000),
      '/marks': '*_`['.repeat(1_000_000),
      '/entities': '&amp'.repeat(1_000_000),
    }
    const { get } = await openPage((request, response) => send(pages[request.url ?? ''] ?? '', 'text/html')(request, response), {
      limits: { webFetchMs: 1_000 },
    })
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 10)
    try {
      for (const path of Object.keys(pages)) {
        const start = performance.now()
        const { code } = (await get(path)).metadata
        expect(['ok', 'timeout', 'tool_failed'], path).toContain(code)
        expect(performance.now() - start, path).toBeLessThan(4_000)
      }
      expect(ticks).toBeGreaterThan(10)
    } finally {
      clearInterval(timer)
    }
  })
})

describe('R33 what a content is', () => {
  const latin = (text: string) => Buffer.from(text, 'latin1')
  test.each<[string, string, Uint8Array, string]>([
    ['what the server says', 'text/plain; charset=iso-8859-1', latin('caf\xe9'), 'café'],
    ['a label in quotes', 'text/plain; charset="windows-1251"', Buffer.from([0xcf, 0xf0, 0xe8]), 'При'],
    ['Shift_JIS', 'text/plain;charset=Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
    ['GB18030', 'text/plain; charset=gb18030', Buffer.from([0xd6, 0xd0]), '中'],
    ['a mark of UTF-16', 'text/plain', Buffer.from([0xff, 0xfe, 0x41, 0x00]), 'A'],
    ['a mark of UTF-8, whatever the server says', 'text/plain; charset=iso-8859-1', Buffer.from('\ufeffé'), 'é'],
    ['a page that says it of itself', 'text/html', latin('<meta charset="windows-1252"><p>caf\xe9</p>'), 'café'],
    [
      'the older way to say it',
      'text/html',
      latin('<meta http-equiv="content-type" content="text/html; charset=iso-8859-15"><p>\xa4</p>'),
      '€',
    ],
    ['UTF-8 where nobody says anything', 'text/plain', Buffer.from('größe'), 'größe'],
    ['no UTF-8 where nobody says anything', 'text/plain', latin('gr\xf6\xdfe'), 'größe'],
    ['a label that nobody knows', 'text/plain; charset=klingon', Buffer.from('é'), 'é'],
    ['a wrong label gives U+FFFD, no failure', 'text/plain; charset=utf-8', latin('caf\xe9'), 'caf\ufffd'],
  ])('R33 its encoding: %s', async (_, type, bytes, text) => {
    const { get } = await openPage(send(bytes, type))
    expect(dataOf(await get()).text.trim()).toBe(text)
  })

  test.each<[string, Uint8Array]>([
    ['image/png', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['application/pdf', Buffer.from('%PDF-1.7')],
    ['application/octet-stream', Buffer.from([1, 0, 2])],
    ['text/plain', Buffer.from([65, 0, 66])],
    ['', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0])],
    ['video/mp4', Buffer.alloc(1000)],
  ])('R33 binary content is named, not dumped: %s', async (type, bytes) => {
    const { get } = await openPage(send(bytes, type))
    const data = dataOf(await get())
    expect(data.content_type).toBe(type)
    expect(data.text).toMatch(/^\[binary content: /u)
    expect(data.text).toContain(String(bytes.length))
    expect(data.text.length).toBeLessThan(200)
  })

  test('R33 what is binary by its type is not downloaded: its connection ends', async () => {
    let sent = 0
    const { get, server } = await openPage((_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4' })
      const timer = setInterval(() => {
        sent += 1_000
        response.write(Buffer.alloc(1_000))
      }, 5)
      response.once('close', () => clearInterval(timer))
    })
    expect(dataOf(await get()).text).toMatch(/^\[binary content: video\/mp4/u)
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
    expect(sent).toBeLessThan(100_000)
  })

  test('R33 text of no known type is text', async () => {
    const { get } = await openPage(send('hello', ''))
    expect(dataOf(await get())).toMatchObject({ content_type: '', text: 'hello' })
  })
})
