import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptsCoding, preferredType } from './accept.ts'

test('Accept is read with quality values, in any case', () => {
  const offered = ['application/json', 'text/csv'] as const
  for (const [accept, type] of [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['TEXT/CSV; Q=0.9', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv, */*;q=0.1', 'text/csv'],
    ['text/csv;q=0.5, application/json', 'application/json'],
    ['application/json;q=0.5, text/csv;q=0.6', 'text/csv'],
    ['text/csv;q=0, */*', 'application/json'],
    ['application/json;q=0, */*', 'text/csv'],
    ['text/csv;header=present;q=0.3, application/json;q=0.2', 'text/csv'],
    ['text/csvx, image/png', 'application/json'],
    ['text/csv;q=x', 'application/json'],
    ['text/csv;q=7', 'application/json'],
    ['', 'application/json'],
    [',;,q=1', 'application/json'],
  ] as const)
    assert.equal(preferredType(accept, offered), type, `${accept}`)
})

test('a coding is used only where it is accepted', () => {
  for (const [header, coding, accepted] of [
    ['gzip, deflate, br', 'br', true],
    ['GZIP;q=0.1', 'gzip', true],
    ['gzip;q=0', 'gzip', false],
    ['gzip;q=0.000, *', 'gzip', false],
    ['*', 'br', true],
    ['*;q=0', 'br', false],
    ['xgzip', 'gzip', false],
    [undefined, 'gzip', false],
  ] as const)
    assert.equal(acceptsCoding(header, coding), accepted, `${header}`)
})
