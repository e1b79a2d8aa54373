import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptsCoding, preferredType, wantsCsv } from '#route.ts'

test('Accept is read with quality values, in any case', () => {
  for (const [accept, type] of [
    [undefined, 'json'],
    ['*/*', 'json'],
    ['text/csv', 'csv'],
    ['TEXT/CSV; Q=0.9', 'csv'],
    ['text/*', 'csv'],
    ['TEXT/*', 'csv'],
    ['text/csv, */*;q=0.1', 'csv'],
    ['text/csv;q=0.5, application/json', 'json'],
    ['application/json;q=0.5, text/csv;q=0.6', 'csv'],
    ['text/csv;q=0, */*', 'json'],
    ['application/json;q=0, */*', 'csv'],
    ['text/csv;header=present;q=0.3, application/json;q=0.2', 'csv'],
    ['Text/CSV; Charset="UTF-8", application/json;q=0.9', 'csv'],
    ['text/csv;header=absent, application/json;q=0.2', 'json'],
    ['text/csv;q=0.1, text/csv, application/json;q=0.5', 'csv'],
    ['text/csv ; q = 0.1 , application/json;q=0.2', 'json'],
    ['text/csv;note="a, b;q=1";q=0, */*;q=0.5', 'json'],
    ['text/csvx, image/png', 'json'],
    ['text/csv;q=x', 'json'],
    ['text/csv;q=-1', 'json'],
    ['', 'json'],
    [',;,q=1', 'json'],
    ['text/csv;__proto__=1;constructor=1', 'json'],
  ] as const)
    assert.equal(wantsCsv({ headers: { accept } }, undefined), type === 'csv', `${accept}`)
})

test('the type that is offered first goes to those who accept none', () => {
  for (const accept of [undefined, '*/*', 'image/png', 'text/markdown;q=0, text/html;q=0'])
    assert.equal(preferredType(accept, ['text/markdown', 'text/html']), 'text/markdown')
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
    ['gzip;q=x', 'gzip', false],
    ['', 'gzip', false],
    [undefined, 'gzip', false],
  ] as const)
    assert.equal(acceptsCoding(header, coding), accepted, `${header}`)
})
