import { percentOf } from './money.js'

/** The net amount of one line: quantity times price, less the line's discount in percent. */
export function lineNet({ quantity, unitPrice, discount = 0 }) {
  if (!Number.isInteger(quantity)) throw new RangeError(`quantity must be whole: ${quantity}`)
  if (discount < 0 || discount > 100) throw new RangeError(`discount must be 0 to 100: ${discount}`)
  const list = quantity * unitPrice
  return list - percentOf(list, discount)
}
