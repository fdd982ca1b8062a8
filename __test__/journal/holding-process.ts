// A process that holds a database for writing: `holding-process.ts FILE MS` prints `holding`.
import { setTimeout } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'

const [file = '', ms = '0'] = process.argv.slice(2)
const database = new DatabaseSync(file)
database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE')
console.log('holding')
await setTimeout(Number(ms))
database.exec('COMMIT')
database.close()
