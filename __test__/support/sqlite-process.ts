// Asks a database: `sqlite-process.ts FILE SQL` prints the rows as JSON. A process of its own, since
// two copies of SQLite in one process take each other's locks.
import { DatabaseSync } from 'node:sqlite'

const [file = '', sql = ''] = process.argv.slice(2)
const database = new DatabaseSync(file)
console.log(JSON.stringify(database.prepare(sql).all()))
database.close()
