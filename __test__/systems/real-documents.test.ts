/**
 * Files that real programs have made, as they lie on a machine and in its packages: of each, a right text or a true sentence, and nothing above
 * the limits of providers.
 */
import { createTools, ToolError } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { providerExecutors } from 'toolwright/providers'
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import sharp from 'sharp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const repository = resolve(import.meta.dirname, '../..')
const PLACES = ['/usr/share', '/usr/lib/python3', join(repository, 'node_modules'), join(repository, 'docs')]
/** How many of each kind are taken: those that differ most in size. */
const WANTED: Readonly<Record<string, number>> = {
  '.png': 70,
  '.jpg': 20,
  '.jpeg': 10,
  '.gif': 25,
  '.webp': 10,
  '.tiff': 10,
  '.tif': 5,
  '.bmp': 5,
  '.ico': 5,
  '.svg': 5,
  '.pdf': 10,
  '.gz': 10,
  '.zip': 10,
  '.ipynb': 10,
}
const IMAGE_BYTES = 300_000

/** Files of the wanted kinds, evenly over their sizes. */
function realFiles(): string[] {
  const found = new Map<string, { path: string; size: number }[]>()
  for (const place of PLACES.filter((path) => existsSync(path))) {
    for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
      const extension = extname(entry.name).toLowerCase()
      if (!entry.isFile() || WANTED[extension] === undefined) continue
      const path = join(entry.parentPath, entry.name)
      const list = found.get(extension) ?? []
      list.push({ path, size: statSync(path).size })
      found.set(extension, list)
    }
  }
  return [...found].flatMap(([extension, files]) => {
    const sorted = files.filter(({ size }) => size < 60_000_000).toSorted((a, b) => a.size - b.size || (a.path < b.path ? -1 : 1))
    const count = Math.min(WANTED[extension] ?? 0, sorted.length)
    const chosen = Array.from({ length: count }, (_, index) => sorted[Math.round((index * (sorted.length - 1)) / Math.max(count - 1, 1))])
    return [...new Set(chosen.map((file) => file?.path ?? ''))]
  })
}

/** Pictures by ImageMagick, in the forms in which programs save them; none where it is not installed. */
function madePictures(directory: string): string[] {
  const sizes = [1, 16, 500, 1_568, 1_569, 2_500, 6_000]
  const forms = ['png', 'gif', 'webp', 'tiff', 'bmp', 'jpg']
  const options: Readonly<Record<string, string[]>> = { jpg: ['-colorspace', 'CMYK', '-interlace', 'Plane'], png: ['-depth', '16'] }
  try {
    return sizes.flatMap((size) =>
      forms.map((form) => {
        const path = join(directory, `${size}.${form}`)
        execFileSync('convert', ['rose:', '-resize', `${size}x${Math.ceil(size / 7)}!`, ...(options[form] ?? []), path], {
          stdio: 'ignore',
        })
        return path
      }),
    )
  } catch {
    return []
  }
}

interface Shown {
  type: string
  value: string & { text?: string; mediaType?: string; data?: { data: string } }[]
}

/** The bytes of the image in a result for a model; `undefined` without one. */
const imageIn = ({ type, value }: Shown): Buffer | undefined =>
  type === 'content' ? Buffer.from(value.find((part) => part.mediaType !== undefined)?.data?.data ?? '', 'base64') : undefined

async function checkImage(bytes: Buffer, about: string, path: string): Promise<void> {
  expect(bytes.length, path).toBeLessThanOrEqual(IMAGE_BYTES)
  const { width = 0, height = 0, format } = await sharp(bytes).metadata()
  expect(['png', 'jpeg', 'gif', 'webp'], path).toContain(format)
  expect(Math.max(width, height), path).toBeLessThanOrEqual(1_568)
  const was = await sharp(path, { failOn: 'none' }).metadata()
  const told = /, (\d+) × (\d+), \d+ bytes/u.exec(about)
  if (told !== null) expect([Number(told[1]), Number(told[2])], path).toEqual([was.width, was.height])
}

describe.skipIf(process.platform !== 'linux')('files that real programs have made', () => {
  test('of each, a right text or a true sentence', { timeout: 1_800_000 }, async () => {
    const { root, outside, put, at } = makeSandbox()
    const tools = createTools({ rootDir: root, documents: true, limits: { image: IMAGE_BYTES, read: 200_000 } })
    const counts = new Map<string, number>()
    const note = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
    const texts = readdirSync(join(repository, 'docs')).filter((name) => name.endsWith('.md'))
    for (const [index, name] of texts.entries()) {
      const encoding = index % 2 === 0 ? 'UTF-16' : 'UTF-16BE'
      const original = readFileSync(join(repository, 'docs', name))
      const encoded = execFileSync('iconv', ['-f', 'UTF-8', '-t', encoding], { input: original, maxBuffer: 10_000_000 })
      put(`utf16-${name}`, encoding === 'UTF-16' ? encoded : Buffer.concat([Buffer.from([0xfe, 0xff]), encoded]))
      // eslint-disable-next-line no-await-in-loop -- one after the other
      expect((await tools.read.execute({ path: `utf16-${name}` })).replace(/^\uFEFF/u, ''), name).toBe(original.toString())
      note('UTF-16 text')
    }
    for (const [index, path] of [...realFiles(), ...madePictures(outside)].entries()) {
      const name = `${index}-${basename(path)}`
      copyFileSync(path, at(name))
      const toolCallId = `call-${index}`
      try {
        // eslint-disable-next-line no-await-in-loop -- one after the other
        const output = await tools.read.execute({ path: name }, { toolCallId })
        const shown = tools.read.toModelOutput?.({ toolCallId, input: { path: name }, output }) as unknown as Shown
        const image = imageIn(shown)
        // eslint-disable-next-line no-await-in-loop -- one after the other
        if (image !== undefined) await checkImage(image, output, path)
        else expect(Buffer.byteLength(String(shown.value)), path).toBeLessThan(210_000)
        if (path.endsWith('.pdf') && statSync(path).size > 0) expect(output, path).toMatch(/^--- page 1 ---\n/u)
        note(image === undefined ? `${extname(path)} as text` : `${extname(path)} as image`)
      } catch (error) {
        if (!ToolError.isInstance(error)) throw error
        expect(['TOOL_FILE_BINARY', 'TOOL_FILE_TOO_LARGE'], `${path}: ${error.message}`).toContain(error.code)
        if (['.gz', '.zip'].includes(extname(path)) && error.code === 'TOOL_FILE_BINARY')
          expect(error.message, path).toMatch(/archive|compressed/iu)
        note(`${extname(path)} refused`)
      }
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    console.log(`${total} files: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`)
    expect(total).toBeGreaterThan(200)
  })

  test('no door lets a larger image out', { timeout: 600_000 }, async () => {
    const { root, at } = makeSandbox()
    const limits = { image: IMAGE_BYTES }
    const tools = createTools({ rootDir: root, documents: true, limits })
    const plain = createTools({ rootDir: root, limits: { image: 50_000_000 } })
    const executors = providerExecutors({ rootDir: root, documents: true, limits })
    const session = await createSession({
      workspace: root,
      manifest: { name: 'reader', permissions: [{ permission: '*', pattern: '*', action: 'allow' }] },
      skills: { project: false, home: false },
      documents: true,
      limits: { imageBytes: IMAGE_BYTES },
    })
    onTestFinished(() => session.close())
    for (const [index, [width, height, format]] of (
      [
        [12_000, 40, 'png'],
        [40, 9_000, 'jpeg'],
        [2_500, 500, 'webp'],
        [2_100, 300, 'gif'],
        [3_000, 2_000, 'tiff'],
        [1_900, 700, 'png'],
      ] as const
    ).entries()) {
      const name = `${index}.${format === 'jpeg' ? 'jpg' : format}`
      const input = { path: name }
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await sharp({ create: { width, height, channels: 3, background: '#123456', noise: { type: 'gaussian', mean: 128, sigma: 40 } } })
        .toFormat(format)
        .toFile(at(name))
      const doors: (() => Promise<Buffer | undefined>)[] = [
        async () => {
          const output = await tools.read.execute(input, { toolCallId: name })
          return imageIn(tools.read.toModelOutput?.({ toolCallId: name, input, output }) as unknown as Shown)
        },
        async () => {
          const output = await plain.read.execute(input, { toolCallId: name })
          return imageIn(plain.read.toModelOutput?.({ toolCallId: name, input, output }) as unknown as Shown)
        },
        async () => {
          const view = { command: 'view', path: name } as const
          const output = await executors.anthropic.textEditor(view, { toolCallId: name })
          return imageIn(executors.anthropic.textEditorOutput({ toolCallId: name, input: view, output }) as unknown as Shown)
        },
        async () => {
          const envelope = await session.call('read', input)
          const { data } = envelope as { data?: { image?: { data: string } } }
          return data?.image === undefined ? undefined : Buffer.from(data.image.data, 'base64')
        },
      ]
      for (const door of doors) {
        // eslint-disable-next-line no-await-in-loop -- one after the other
        const image = await door().catch((error: unknown) => {
          if (!ToolError.isInstance(error)) throw error
          return undefined
        })
        if (image === undefined) continue
        // eslint-disable-next-line no-await-in-loop -- one after the other
        const { width: shownWidth = 0, height: shownHeight = 0 } = await sharp(image).metadata()
        expect(Math.max(shownWidth, shownHeight), name).toBeLessThanOrEqual(2_000)
        expect(image.length, name).toBeLessThanOrEqual(3_750_000)
      }
    }
  })
})
