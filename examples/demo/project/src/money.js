/** Reads an amount such as `12.5`, `-3` or `1200.00` as whole cents. */
export function parseAmount(text) {
  const match = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(text.trim())
  if (match === null) throw new RangeError(`not an amount: ${text}`)
  const [, sign, units, fraction = ''] = match
  const cents = Number(units) * 100 + Number(fraction.padEnd(2, '0'))
  return sign === '-' ? -cents : cents
}

/** Writes whole cents with two decimals and the currency. */
export function formatAmount(cents, currency) {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)} ${currency}`
}

/**
 * A percentage (at most two decimals) of an amount, rounded half away from zero.
 * The product is an integer, so nothing is lost before the one rounding.
 */
export function percentOf(cents, percent) {
  const product = cents * Math.round(percent * 100)
  const rounded = Math.round(Math.abs(product) / 10_000)
  return product < 0 ? 0 - rounded : rounded
}
