// Writes values, or compares two of them: `values-process.ts FILE write|compare`.
import { isDeepStrictEqual } from 'node:util'
import { openThreadStore, threadStorage } from './stores.ts'

const [file = '', what] = process.argv.slice(2)
const store = await openThreadStore(file)
await store.openThread({ threadId: 't', flowId: 'f' })
const values = threadStorage(store, 't')
if (what === 'write') {
  await values.put(
    'theirs',
    new Map<unknown, unknown>([
      ['bytes', Uint8Array.from([1, 2])],
      [1n, new Date(7)],
      ['text', 'é\ud83d\ude00'],
      ['nested', new Set([{ a: -0 }])],
    ]),
  )
  console.log('written')
} else {
  const equal = isDeepStrictEqual(await values.get('theirs'), await values.get('ours'))
  console.log(equal ? 'equal' : 'different')
}
await store.close()
