'use strict'
/*
 * The addon, for Bun. `bun build` follows a `require` whose name is written out within a `try`, and puts the file into an
 * executable. `index.js` does the same for every other runtime, and hides the names from bundlers that cannot take a
 * native file in.
 */
const { readFileSync } = require('node:fs')

function usesMusl() {
  try {
    return readFileSync('/usr/bin/ldd', 'utf8').includes('musl')
  } catch {
    return process.report?.getReport?.()?.header?.glibcVersionRuntime === undefined
  }
}

const libc = process.platform === 'linux' ? (usesMusl() ? '-musl' : '-gnu') : ''
const platform = `${process.platform}-${process.arch}${libc}`

function load() {
  const problems = []
  try {
    // In a checkout, and beside a bundle.
    return require(`./toolwright.${platform}.node`)
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'linux-x64-gnu') return require('toolwright-linux-x64-gnu')
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'linux-x64-musl') return require('toolwright-linux-x64-musl')
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'linux-arm64-gnu') return require('toolwright-linux-arm64-gnu')
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'linux-arm64-musl') return require('toolwright-linux-arm64-musl')
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'darwin-x64') return require('toolwright-darwin-x64')
  } catch (error) {
    problems.push(error)
  }
  try {
    if (platform === 'darwin-arm64') return require('toolwright-darwin-arm64')
  } catch (error) {
    problems.push(error)
  }
  throw new AggregateError(problems, `no addon for ${platform} was found`)
}

module.exports = load()
