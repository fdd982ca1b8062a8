import { expect } from 'vitest'
import { allBytes, bytesOf, collect, type Promises, printed, rejectsWith, streamOf, type Subject } from './promise.ts'

const text = (content: string) => ({ path: 'lines', content })
const lines = async ({ session }: Subject, startLine?: number, endLine?: number) =>
  session.readTextFile({ path: 'lines', ...(startLine !== undefined && { startLine }), ...(endLine !== undefined && { endLine }) })

const names = ["it's", 'a b', 'é 漢 😀', '-n', 'new\nline', '$HOME `id` *', '"quoted"', 'back\\slash', '.hidden']

const writers = (path: string): Record<string, (subject: Subject) => Promise<void>> => ({
  writeFile: ({ session }) => session.writeFile({ path, content: streamOf(bytesOf('new')) }),
  writeBinaryFile: ({ session }) => session.writeBinaryFile({ path, content: bytesOf('new') }),
  writeTextFile: ({ session }) => session.writeTextFile({ path, content: 'new' }),
})

/** One promise for each method that writes. */
const eachWriter = (promise: string, path: string, check: (subject: Subject, write: () => Promise<void>) => Promise<void>): Promises =>
  Object.fromEntries(
    Object.entries(writers(path)).map(([method, write]) => [
      `${method}: ${promise}`,
      (subject: Subject) => check(subject, () => write(subject)),
    ]),
  )

/** The same file by the method and by a command, below the base directory and in /tmp. */
const bothWays = (path: string) => async (subject: Subject) => {
  const { session } = subject
  await session.writeTextFile({ path, content: 'by the method' })
  expect(await printed(subject, `cat ${path}`)).toBe('by the method')
  await printed(subject, `printf 'by the command' > ${path}`)
  expect(await session.readTextFile({ path })).toBe('by the command')
}

const aborted = (work: (subject: Subject, abortSignal: AbortSignal) => PromiseLike<unknown>) => async (subject: Subject) => {
  await subject.session.writeTextFile({ path: 'file', content: 'before' })
  const reason = new Error('aborted')
  await rejectsWith(work(subject, AbortSignal.abort(reason)), reason)
  expect(await printed(subject, 'cat file')).toBe('before')
}

export const promisesOfFiles: Promises = {
  'readFile: null for what is not there': async ({ session }) => expect(await session.readFile({ path: 'no' })).toBeNull(),
  'readBinaryFile: null for what is not there': async ({ session }) => expect(await session.readBinaryFile({ path: 'no' })).toBeNull(),
  'readTextFile: null for what is not there': async ({ session }) => expect(await session.readTextFile({ path: 'no/no' })).toBeNull(),
  'readTextFile: null for what is not there, outside of the base directory': async ({ session }) =>
    expect(await session.readTextFile({ path: '/tmp/no/no' })).toBeNull(),
  'readFile: the bytes of the file as a stream': async ({ session }) => {
    await session.writeBinaryFile({ path: 'bytes', content: allBytes })
    expect(await collect(await session.readFile({ path: 'bytes' }))).toEqual(allBytes)
  },
  'readFile: 8 MB as a stream': async (subject) => {
    await printed(subject, "head -c 8000000 /dev/zero | tr '\\0' x > big")
    expect((await collect(await subject.session.readFile({ path: 'big' }))).length).toBe(8_000_000)
  },
  'readBinaryFile: the bytes of the file': async ({ session }) => {
    await session.writeBinaryFile({ path: 'bytes', content: allBytes })
    const bytes = await session.readBinaryFile({ path: 'bytes' })
    expect(bytes).toBeInstanceOf(Uint8Array)
    expect(new Uint8Array(bytes ?? [])).toEqual(allBytes)
  },
  'readBinaryFile: what a command has written': async (subject) => {
    await printed(subject, "printf '\\000\\377\\n' > raw")
    expect(Array.from((await subject.session.readBinaryFile({ path: 'raw' })) ?? [])).toEqual([0, 255, 10])
  },
  'readTextFile: an empty file is an empty text': async (subject) => {
    await printed(subject, ': > empty')
    expect(await subject.session.readTextFile({ path: 'empty' })).toBe('')
  },
  'readTextFile: UTF-8 unless another encoding is named': async ({ session }) => {
    await session.writeTextFile({ path: 'words', content: 'é 漢 😀' })
    expect(await session.readTextFile({ path: 'words' })).toBe('é 漢 😀')
    expect(await session.readTextFile({ path: 'words', encoding: 'utf-8' })).toBe('é 漢 😀')
  },
  'readTextFile: another encoding': async ({ session }) => {
    await session.writeBinaryFile({ path: 'latin', content: Uint8Array.of(233, 116, 233) })
    expect(await session.readTextFile({ path: 'latin', encoding: 'latin1' })).toBe('été')
  },
  'readTextFile: lines from 1, both ends included': async (subject) => {
    await subject.session.writeTextFile(text('1\n2\n3\n4\n'))
    expect(await lines(subject, 2, 3)).toBe('2\n3')
  },
  'readTextFile: the first line is the default': async (subject) => {
    await subject.session.writeTextFile(text('1\n2\n3\n'))
    expect(await lines(subject, undefined, 2)).toBe('1\n2')
  },
  'readTextFile: an endLine past the end is no error': async (subject) => {
    await subject.session.writeTextFile(text('1\n2\n3'))
    expect(await lines(subject, 2, 100)).toBe('2\n3')
  },
  'readTextFile: a startLine past the end gives nothing': async (subject) => {
    await subject.session.writeTextFile(text('1\n2'))
    expect(await lines(subject, 10)).toBe('')
  },
  'readTextFile: without lines the text is as it is': async (subject) => {
    await subject.session.writeTextFile(text('\uFEFF1\r\n2\n\n'))
    expect(await lines(subject)).toBe('\uFEFF1\r\n2\n\n')
  },
  'writeTextFile: UTF-8 unless another encoding is named': async ({ session }) => {
    await session.writeTextFile({ path: 'words', content: 'é' })
    expect(Array.from((await session.readBinaryFile({ path: 'words' })) ?? [])).toEqual([195, 169])
  },
  'writeTextFile: another encoding': async ({ session }) => {
    await session.writeTextFile({ path: 'latin', content: 'é', encoding: 'latin1' })
    expect(Array.from((await session.readBinaryFile({ path: 'latin' })) ?? [])).toEqual([233])
    await session.writeTextFile({ path: 'wide', content: 'é', encoding: 'utf16le' })
    expect(Array.from((await session.readBinaryFile({ path: 'wide' })) ?? [])).toEqual([233, 0])
  },
  'writeBinaryFile: 8 MB': async (subject) => {
    await subject.session.writeBinaryFile({ path: 'big', content: new Uint8Array(8_000_000).fill(7) })
    expect((await printed(subject, 'wc -c < big')).trim()).toBe('8000000')
  },
  'writeFile: the parts of a stream, one after the other': async (subject) => {
    await subject.session.writeFile({ path: 'parts', content: streamOf(bytesOf('a'), bytesOf('b'), new Uint8Array(0), bytesOf('c')) })
    expect(await printed(subject, 'cat parts')).toBe('abc')
  },
  'writeFile: an empty stream makes an empty file': async ({ session }) => {
    await session.writeFile({ path: 'empty', content: streamOf() })
    expect(await session.readTextFile({ path: 'empty' })).toBe('')
  },
  'writeFile: 8 MB in many parts': async (subject) => {
    const parts = Array.from({ length: 80 }, () => new Uint8Array(100_000).fill(7))
    await subject.session.writeFile({ path: 'big', content: streamOf(...parts) })
    expect((await printed(subject, 'wc -c < big')).trim()).toBe('8000000')
  },
  'writeFile: rejects with the error of the stream': async ({ session }) => {
    const error = new Error('the source failed')
    const content = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(error) })
    await rejectsWith(session.writeFile({ path: 'failed', content }), error)
  },
  ...eachWriter('makes the directories on the way', 'x/y/z', async (subject, write) => {
    await write()
    expect(await printed(subject, 'cat x/y/z')).toBe('new')
  }),
  ...eachWriter('makes the directories on the way, outside of the base directory', '/tmp/x/y/z', async (subject, write) => {
    await write()
    expect(await printed(subject, 'cat /tmp/x/y/z')).toBe('new')
  }),
  ...eachWriter('replaces what was there', 'old', async (subject, write) => {
    await printed(subject, "printf 'something longer' > old")
    await write()
    expect(await printed(subject, 'cat old')).toBe('new')
  }),
  ...eachWriter('rejects for a directory', 'dir', async (subject, write) => {
    await printed(subject, 'mkdir dir && touch dir/kept')
    await expect(write()).rejects.toThrow()
    expect(await printed(subject, 'ls dir')).toBe('kept\n')
  }),
  ...eachWriter('rejects for a directory outside of the base directory', '/tmp/dir', async (subject, write) => {
    await printed(subject, 'mkdir -p /tmp/dir && touch /tmp/dir/kept')
    await expect(write()).rejects.toThrow()
    expect(await printed(subject, 'ls /tmp/dir')).toBe('kept\n')
  }),
  'paths: relative ones begin where run starts': bothWays('plain'),
  'paths: files in /tmp are those of the commands': bothWays('/tmp/shared'),
  'paths: absolute and relative ones name the same file': async ({ session, base }) => {
    await session.writeTextFile({ path: 'd/e', content: 'same' })
    expect(await session.readTextFile({ path: `${base}/d/e` })).toBe('same')
    expect(await session.readTextFile({ path: 'd/../d/./e' })).toBe('same')
  },
  'paths: any name that a file can have': async (subject) => {
    for (const name of names) {
      await subject.session.writeTextFile({ path: `named/${name}`, content: name })
      expect(await subject.session.readTextFile({ path: `named/${name}` })).toBe(name)
    }
    expect((await printed(subject, "find named -type f -print0 | tr -dc '\\0' | wc -c")).trim()).toBe(`${names.length}`)
  },
  'paths: any name that a file can have, outside of the base directory': async ({ session }) => {
    for (const name of names) {
      await session.writeTextFile({ path: `/tmp/named/${name}`, content: name })
      expect(await session.readTextFile({ path: `/tmp/named/${name}` })).toBe(name)
    }
  },
  'abort: readFile': aborted(({ session }, abortSignal) => session.readFile({ path: 'file', abortSignal })),
  'abort: readBinaryFile': aborted(({ session }, abortSignal) => session.readBinaryFile({ path: 'file', abortSignal })),
  'abort: readTextFile': aborted(({ session }, abortSignal) => session.readTextFile({ path: 'file', abortSignal })),
  'abort: writeFile': aborted(({ session }, abortSignal) =>
    session.writeFile({ path: 'file', content: streamOf(bytesOf('after')), abortSignal }),
  ),
  'abort: writeBinaryFile': aborted(({ session }, abortSignal) =>
    session.writeBinaryFile({ path: 'file', content: bytesOf('after'), abortSignal }),
  ),
  'abort: writeTextFile': aborted(({ session }, abortSignal) => session.writeTextFile({ path: 'file', content: 'after', abortSignal })),
  'abort: a stream that is being written': async (subject) => {
    const [controller, reason] = [new AbortController(), new Error('enough')]
    const content = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(bytesOf('part')) })
    const work = subject.session.writeFile({ path: 'never', content, abortSignal: controller.signal })
    setTimeout(() => controller.abort(reason), 100)
    await rejectsWith(work, reason)
  },
  'abort: stat': aborted(({ session }, abortSignal) => session.stat({ path: 'file', abortSignal })),
  'abort: listDirectory': aborted(({ session }, abortSignal) => session.listDirectory({ path: '.', abortSignal })),
  'abort: deleteFile': aborted(({ session }, abortSignal) => session.deleteFile({ path: 'file', abortSignal })),
}
