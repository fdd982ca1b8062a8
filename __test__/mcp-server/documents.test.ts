import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { png } from '../support/pictures.ts'
import { pdf } from '../toolkit/read/made-documents.ts'
import { connectTo } from './mcp-client.ts'

describe.skipIf(process.platform !== 'linux')('toolwright mcp --documents', () => {
  test('an image is image content, and nowhere else in the result', async () => {
    const { root, put } = makeSandbox()
    put('a.png', png(20, 10))
    put('wide.png', png(9_000, 90))
    put('a.pdf', pdf('a page'))
    const { client } = await connectTo(root, '2025', { args: ['--documents'] })
    const read = (path: string) => client.callTool({ name: 'read', arguments: { path } })
    const data = png(20, 10).toString('base64')
    const { content, structuredContent, isError } = await read('a.png')
    expect(isError).toBeFalsy()
    expect(content).toContainEqual({ type: 'image', data, mimeType: 'image/png' })
    expect(structuredContent).toMatchObject({ image: { media_type: 'image/png' } })
    expect(JSON.stringify(structuredContent)).not.toContain(data)
    expect(JSON.stringify(await read('wide.png'))).toContain('scaled to 1568 × 16')
    expect(JSON.stringify(await read('a.pdf'))).toContain('--- page 1 ---')
  })

  test('without it, an image is refused', async () => {
    const { root, put } = makeSandbox()
    put('a.png', png(20, 10))
    const { client } = await connectTo(root, '2025')
    expect(await client.callTool({ name: 'read', arguments: { path: 'a.png' } })).toMatchObject({ isError: true })
  })
})
