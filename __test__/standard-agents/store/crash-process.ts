// Works on a chain of calls in a file until it is killed: `crash-process.ts FILE [POINT]`. At POINT it waits for its end.
import { waitAt, workOnChain } from '../../support/call-chain.ts'
import { openThreadStore } from './stores.ts'

const [file = '', point] = process.argv.slice(2)
const at = waitAt(point)
const store = await openThreadStore(file)
await at('opened')
await workOnChain(store, at)
