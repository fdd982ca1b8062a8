import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taxByRate } from '../src/index.js'

const line = (unitPrice, taxRate) => ({ quantity: 1, unitPrice, taxRate })

test('taxByRate groups by rate, lowest first', () => {
  assert.deepEqual(taxByRate([line(1000, 19), line(1000, 7), line(2000, 19)]), [
    { rate: 7, net: 1000, tax: 70 },
    { rate: 19, net: 3000, tax: 570 },
  ])
})

test('taxByRate rounds once per rate, not once per line', () => {
  assert.deepEqual(taxByRate([line(105, 7), line(105, 7), line(105, 7)]), [{ rate: 7, net: 315, tax: 22 }])
})
