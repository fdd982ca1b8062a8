import { expect } from 'vitest'
import { type Promises, printed, type Subject } from './promise.ts'

const TREE =
  'mkdir -p dir/sub && printf 12345 > dir/file && ln -s file dir/link && ln -s nowhere dir/dangling && touch dir/.hidden dir/sub/deep'

/** Once below the base directory, and once outside of it. */
function inBoth(promise: string, check: (subject: Subject, at: (path: string) => string) => Promise<void>): Promises {
  const below = async (subject: Subject) => {
    await printed(subject, TREE)
    await check(subject, (path) => path)
  }
  const outside = async (subject: Subject) => {
    await printed(subject, `mkdir -p /tmp/tree && cd /tmp/tree && ${TREE}`)
    await check(subject, (path) => `/tmp/tree/${path}`)
  }
  return { [promise]: below, [`${promise}, outside of the base directory`]: outside }
}

export const promisesOfEntries: Promises = {
  ...inBoth('stat: type and size of a file', async ({ session }, at) => {
    expect(await session.stat({ path: at('dir/file') })).toEqual({ type: 'file', size: 5 })
  }),
  ...inBoth('stat: a directory', async ({ session }, at) => {
    expect(await session.stat({ path: at('dir') })).toMatchObject({ type: 'directory', size: expect.any(Number) })
  }),
  ...inBoth('stat: null for what is not there', async ({ session }, at) => {
    expect(await session.stat({ path: at('dir/no') })).toBeNull()
    expect(await session.stat({ path: at('dir/file/no') })).toBeNull()
  }),
  ...inBoth('stat: links are followed', async ({ session }, at) => {
    expect(await session.stat({ path: at('dir/link') })).toEqual({ type: 'file', size: 5 })
    expect(await session.stat({ path: at('dir/dangling') })).toBeNull()
  }),
  'stat: a device is other': async ({ session }) => {
    expect(await session.stat({ path: '/dev/null' })).toMatchObject({ type: 'other' })
  },
  'stat: a named pipe is other': async (subject) => {
    await printed(subject, 'mkfifo pipe')
    expect(await subject.session.stat({ path: 'pipe' })).toMatchObject({ type: 'other' })
  },
  ...inBoth('listDirectory: names and types, hidden ones too', async ({ session }, at) => {
    const entries = await session.listDirectory({ path: at('dir') })
    expect(entries?.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: '.hidden', type: 'file' },
      { name: 'dangling', type: 'symlink' },
      { name: 'file', type: 'file' },
      { name: 'link', type: 'symlink' },
      { name: 'sub', type: 'directory' },
    ])
  }),
  ...inBoth('listDirectory: an empty directory', async (subject, at) => {
    await printed(subject, `mkdir ${at('dir/empty')}`)
    expect(await subject.session.listDirectory({ path: at('dir/empty') })).toEqual([])
  }),
  ...inBoth('listDirectory: null for what is not there', async ({ session }, at) => {
    expect(await session.listDirectory({ path: at('dir/no') })).toBeNull()
  }),
  ...inBoth('listDirectory: rejects for a file', async ({ session }, at) => {
    await expect(session.listDirectory({ path: at('dir/file') })).rejects.toThrow()
  }),
  ...inBoth('deleteFile: true when it was deleted', async (subject, at) => {
    expect(await subject.session.deleteFile({ path: at('dir/file') })).toBe(true)
    expect(await subject.session.stat({ path: at('dir/file') })).toBeNull()
  }),
  ...inBoth('deleteFile: false for what is not there', async ({ session }, at) => {
    expect(await session.deleteFile({ path: at('dir/no') })).toBe(false)
  }),
  ...inBoth('deleteFile: a link itself, and not what it leads to', async ({ session }, at) => {
    expect(await session.deleteFile({ path: at('dir/link') })).toBe(true)
    expect(await session.deleteFile({ path: at('dir/dangling') })).toBe(true)
    expect(await session.stat({ path: at('dir/file') })).toEqual({ type: 'file', size: 5 })
    expect((await session.listDirectory({ path: at('dir') }))?.map(({ name }) => name)).not.toContain('link')
  }),
  ...inBoth('deleteFile: rejects for a directory', async ({ session }, at) => {
    await expect(session.deleteFile({ path: at('dir/sub') })).rejects.toThrow()
    expect(await session.stat({ path: at('dir/sub/deep') })).toMatchObject({ type: 'file' })
  }),
}
