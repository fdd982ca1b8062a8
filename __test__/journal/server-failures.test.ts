/** What the errors of a database server mean to a caller: a code of ours, and a move that can be made. */
import { expect, test } from 'vitest'
import { failureKind, storeError } from '../../ts/postgres/failures.ts'

test.each([
  ['42P05', 'unprepared', 'JOURNAL_OPEN_FAILED', '?prepare=false'],
  ['26000', 'unprepared', 'JOURNAL_OPEN_FAILED', 'prepare: false'],
  ['57014', 'final', 'JOURNAL_BUSY', 'statement_timeout'],
  ['53200', 'final', 'JOURNAL_BUSY', 'when it has less to do'],
  ['53400', 'final', 'JOURNAL_BUSY', 'when it has less to do'],
  ['53100', 'final', 'JOURNAL_DISK_FULL', 'Free space'],
  ['22P05', 'final', 'JOURNAL_IO_FAILED', "ENCODING 'UTF8'"],
  ['22021', 'final', 'JOURNAL_IO_FAILED', "ENCODING 'UTF8'"],
  ['54000', 'final', 'JOURNAL_ROW_TOO_LARGE', 'maxOutputBytes'],
  ['42501', 'final', 'JOURNAL_READ_ONLY', 'migrate --print'],
  ['25006', 'final', 'JOURNAL_READ_ONLY', 'primary'],
  ['42P01', 'final', 'JOURNAL_SCHEMA_MISMATCH', 'journal migrate'],
  ['23514', 'conflict', 'JOURNAL_SCHEMA_MISMATCH', '_toolwright_days'],
  ['TW002', 'conflict', 'JOURNAL_BUSY', 'journal prune'],
  ['40001', 'conflict', 'JOURNAL_IO_FAILED', 'log of the database server'],
  ['28P01', 'final', 'JOURNAL_OPEN_FAILED', 'password'],
  ['3D000', 'final', 'JOURNAL_OPEN_FAILED', 'Create it'],
])('%s is %s, and %s says: %s', (state, kind, code, move) => {
  // pg and postgres.js have the state in `code`, Bun has it in `errno`, and a pool may wrap it.
  const errors = [{ code: state }, { code: 'ERR_POSTGRES_SERVER_ERROR', errno: state }, { cause: { code: state } }]
  for (const fields of errors) {
    const error = Object.assign(new Error('what the server says'), fields)
    expect(failureKind(error)).toBe(kind)
    const told = storeError(error, 'postgres')
    expect(told).toMatchObject({ code, hint: expect.stringContaining(move), details: { sqlState: state, path: 'postgres' } })
    expect(told.message).toContain('what the server says')
  }
})
