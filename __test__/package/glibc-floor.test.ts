import { expect, test } from 'vitest'
import { FLOOR, glibcProblem, neededGlibc } from '../../scripts/package/glibc-floor.mjs'

const library = (...names: string[]): Buffer => Buffer.from(`\u007FELF…\0${names.join('\0')}\0memcpy\0`, 'latin1')

test('the latest version that a library names is the one that it needs', () => {
  expect(neededGlibc(library('GLIBC_2.2.5', 'GLIBC_2.17', 'GLIBC_2.9'))).toEqual([2, 17])
  expect(neededGlibc(library('GLIBC_2.2.5'))).toEqual([2, 2])
})

test('a version after the floor is a problem, and so is a library for another system', () => {
  expect(FLOOR).toEqual([2, 28])
  expect(glibcProblem(library('GLIBC_2.2.5', 'GLIBC_2.28'))).toBeUndefined()
  expect(glibcProblem(library('GLIBC_2.2.5', 'GLIBC_2.29'))).toBe('needs glibc 2.29, and 2.28 is promised')
  expect(glibcProblem(library('GLIBC_3.0'))).toBe('needs glibc 3.0, and 2.28 is promised')
  expect(glibcProblem(library('GCC_3.0', 'GLIBC_PRIVATE'))).toBe('names no version of glibc: it is no library for glibc')
})
